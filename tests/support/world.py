"""A small cloud as plain data: build it in a test, hand it to the index, or load it over HTTP."""

from collections.abc import Iterable, Iterator, Mapping

import httpx
import os_resource_classes  # type: ignore[import-untyped]

from roost.changes import Rows
from roost.model import SHARING_TRAIT, Inventory, Value
from tests.support.headers import HEADERS
from tests.support.names import uid

MODIFIED = 1_577_836_800.0  # 2020-01-01
CUSTOM_CLASS_ID_MIN = 10_000


class WorldProvider(Value, frozen=True, kw_only=True):
    """A provider with everything that a search considers."""

    uuid: str
    name: str
    parent_uuid: str | None
    root_uuid: str
    inventories: Mapping[str, Inventory]  # by resource class
    used: Mapping[str, int]  # resource class -> amount, one entry for each inventory
    traits: frozenset[str]
    aggregates: frozenset[str]  # UUIDs

    @property
    def shares(self) -> bool:
        return SHARING_TRAIT in self.traits


class World(Value, frozen=True, kw_only=True):
    """A whole cloud."""

    providers: Mapping[str, WorldProvider]  # by UUID, a parent before its children
    # Names that exist, whether a provider has them or not.
    resource_classes: frozenset[str]
    traits: frozenset[str]

    @property
    def roots(self) -> list[WorldProvider]:
        return [one for one in self.providers.values() if one.parent_uuid is None]

    def root(self, provider: WorldProvider) -> WorldProvider:
        return self.providers[provider.root_uuid]

    def tree(self, root_uuid: str) -> list[WorldProvider]:
        return [one for one in self.providers.values() if one.root_uuid == root_uuid]

    def ancestors_and_self(self, provider: WorldProvider) -> Iterator[WorldProvider]:
        yield provider
        while provider.parent_uuid is not None:
            provider = self.providers[provider.parent_uuid]
            yield provider


# ---------------------------------------------------------------------------------------------
# Build


class ProviderPlan(Value, frozen=True, kw_only=True):
    """How a test describes one provider, by names."""

    name: str
    inventories: Mapping[str, int | Inventory]  # an amount alone is the total
    parent: str | None
    used: Mapping[str, int]
    traits: frozenset[str]
    aggregates: frozenset[str]


def provider(
    name: str,
    inventories: Mapping[str, int | Inventory] | None = None,
    *,
    parent: str | None = None,
    used: Mapping[str, int] | None = None,
    traits: Iterable[str] = (),
    aggregates: Iterable[str] = (),
) -> ProviderPlan:
    return ProviderPlan(
        name=name,
        inventories=inventories or {},
        parent=parent,
        used=used or {},
        traits=frozenset(traits),
        aggregates=frozenset(aggregates),
    )


def build(
    *plans: ProviderPlan,
    resource_classes: Iterable[str] = (),
    traits: Iterable[str] = (),
) -> World:
    """A world of these providers; `resource_classes` and `traits` exist besides those in use."""
    providers: dict[str, WorldProvider] = {}
    for plan in plans:
        parent = providers[uid(plan.parent)] if plan.parent else None
        uuid = uid(plan.name)
        providers[uuid] = WorldProvider(
            uuid=uuid,
            name=plan.name,
            parent_uuid=parent.uuid if parent else None,
            root_uuid=parent.root_uuid if parent else uuid,
            inventories={
                name: given if isinstance(given, Inventory) else Inventory(total=given)
                for name, given in plan.inventories.items()
            },
            used={name: plan.used.get(name, 0) for name in plan.inventories},
            traits=plan.traits,
            aggregates=frozenset(map(uid, plan.aggregates)),
        )
    return World(
        providers=providers,
        resource_classes=frozenset(resource_classes).union(
            *(one.inventories for one in providers.values())
        ),
        traits=frozenset(traits).union(*(one.traits for one in providers.values())),
    )


# ---------------------------------------------------------------------------------------------
# As rows of the tables, for the index


def is_custom(name: str) -> bool:
    return name.startswith("CUSTOM_")


def rows(world: World) -> Rows:
    """What the store would read from the tables."""
    provider_ids = {uuid: number for number, uuid in enumerate(world.providers, 1)}
    class_ids = _class_ids(world.resource_classes)
    trait_order = sorted(world.traits, key=lambda name: (is_custom(name), name))
    trait_ids = {name: number for number, name in enumerate(trait_order, 1)}
    all_providers = world.providers.values()
    return Rows(
        providers=[
            (
                provider_ids[one.uuid],
                one.uuid,
                one.name,
                0,
                provider_ids[one.root_uuid],
                None if one.parent_uuid is None else provider_ids[one.parent_uuid],
                MODIFIED,
            )
            for one in all_providers
        ],
        inventories=[
            (
                provider_ids[one.uuid],
                class_ids[name],
                inventory.total,
                inventory.reserved,
                inventory.min_unit,
                inventory.max_unit,
                inventory.step_size,
                inventory.allocation_ratio,
                MODIFIED,
            )
            for one in all_providers
            for name, inventory in one.inventories.items()
        ],
        usages=[
            (provider_ids[one.uuid], class_ids[name], amount)
            for one in all_providers
            for name, amount in one.used.items()
            if amount
        ],
        traits=[
            (provider_ids[one.uuid], trait_ids[name])
            for one in all_providers
            for name in sorted(one.traits)
        ],
        aggregates=[
            (provider_ids[one.uuid], _spelled(aggregate, provider_ids[one.uuid]))
            for one in all_providers
            for aggregate in sorted(one.aggregates)
        ],
        resource_classes=[(number, name, MODIFIED) for name, number in class_ids.items()],
        trait_names=[(number, name, MODIFIED) for name, number in trait_ids.items()],
    )


def _spelled(aggregate: str, number: int) -> str:
    """An aggregate as the tables may have it: each provider may name it in another spelling."""
    bare = aggregate.replace("-", "")
    return (aggregate, aggregate.upper(), bare, f"{{{bare.upper()}}}")[number % 4]


def _class_ids(names: frozenset[str]) -> dict[str, int]:
    standard = [name for name in os_resource_classes.STANDARDS if name in names]
    custom = sorted(name for name in names if is_custom(name))
    return {
        **{name: os_resource_classes.STANDARDS.index(name) for name in standard},
        **{name: number for number, name in enumerate(custom, CUSTOM_CLASS_ID_MIN)},
    }


# ---------------------------------------------------------------------------------------------
# Over HTTP


def load(world: World, client: httpx.Client) -> None:
    """Create everything in an empty service, by the calls that a client would make."""
    for name in sorted(filter(is_custom, world.resource_classes)):
        _send(client, "PUT", f"/resource_classes/{name}")
    for name in sorted(filter(is_custom, world.traits)):
        _send(client, "PUT", f"/traits/{name}")
    for one in world.providers.values():
        _load_provider(one, client)


def _load_provider(one: WorldProvider, client: httpx.Client) -> None:
    body = {"uuid": one.uuid, "name": one.name}
    if one.parent_uuid is not None:
        body["parent_provider_uuid"] = one.parent_uuid
    _send(client, "POST", "/resource_providers", body)
    if any(one.used.values()):
        # First an inventory that is just large enough, then the real one: usage need not respect
        # units or capacity that were changed later.
        _put_inventories(client, one.uuid, _large_enough(one))
        _load_usage(one, client)
    if one.inventories:
        _put_inventories(client, one.uuid, one.inventories)
    if one.traits:
        _put_list(client, one.uuid, "traits", one.traits)
    if one.aggregates:
        _put_list(client, one.uuid, "aggregates", one.aggregates)


def _large_enough(one: WorldProvider) -> dict[str, Inventory]:
    return {name: Inventory(total=amount) for name, amount in one.used.items() if amount}


def _load_usage(one: WorldProvider, client: httpx.Client) -> None:
    for name, amount in one.used.items():
        if amount:
            put_allocations(client, f"user of {one.name} {name}", {one.uuid: {name: amount}})


def put_allocations(
    client: httpx.Client, consumer: str, allocations: Mapping[str, Mapping[str, int]]
) -> None:
    """Give a new consumer, known by a name, these amounts by provider and class."""
    body = {
        "allocations": {uuid: {"resources": taken} for uuid, taken in allocations.items()},
        "project_id": "project",
        "user_id": "user",
        "consumer_type": "INSTANCE",
        "consumer_generation": None,
    }
    _send(client, "PUT", f"/allocations/{uid(consumer)}", body)


def inventory_body(inventory: Inventory) -> dict[str, float]:
    return {name: getattr(inventory, name) for name in Inventory.__struct_fields__}


def generation_of(client: httpx.Client, provider_uuid: str) -> int:
    answer = _send(client, "GET", f"/resource_providers/{provider_uuid}")
    return int(answer.json()["generation"])


def _put_inventories(
    client: httpx.Client, provider_uuid: str, inventories: Mapping[str, Inventory]
) -> None:
    body = {
        "resource_provider_generation": generation_of(client, provider_uuid),
        "inventories": {name: inventory_body(given) for name, given in inventories.items()},
    }
    _send(client, "PUT", f"/resource_providers/{provider_uuid}/inventories", body)


def _put_list(client: httpx.Client, provider_uuid: str, what: str, names: Iterable[str]) -> None:
    body = {
        "resource_provider_generation": generation_of(client, provider_uuid),
        what: sorted(names),
    }
    _send(client, "PUT", f"/resource_providers/{provider_uuid}/{what}", body)


def _send(client: httpx.Client, method: str, path: str, body: object = None) -> httpx.Response:
    answer = client.request(method, path, headers=HEADERS, json=body)
    if not answer.is_success:
        raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text}")
    return answer
