"""Generated small clouds: few providers, few names and hardly any free capacity."""

import dataclasses
import random
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from tests.comparison.requests import Request

SHARING = "MISC_SHARES_VIA_AGGREGATE"

CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB", "SRIOV_NET_VF", "CUSTOM_X")
SHARED_CLASSES = ("DISK_GB", "DISK_GB", "CUSTOM_X", "SRIOV_NET_VF")
TRAITS = ("HW_CPU_X86_AVX", "HW_CPU_X86_SSE", "CUSTOM_FAST", "CUSTOM_ROOT")
VERSION = "1.39"


@dataclasses.dataclass(frozen=True)
class Provider:
    """A provider to create, after its parent."""

    uuid: str
    name: str
    parent: str | None
    inventories: Mapping[str, Mapping[str, int | float]]
    traits: tuple[str, ...]
    aggregates: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Consumer:
    """A consumer with its claim, which both sides may refuse."""

    uuid: str
    allocations: Mapping[str, Mapping[str, int]]


@dataclasses.dataclass(frozen=True)
class World:
    """A cloud as plain data. Requests mention no other UUIDs than these."""

    providers: tuple[Provider, ...]
    consumers: tuple[Consumer, ...]
    aggregates: tuple[str, ...]
    # Neither of these exists at first.
    unused_consumers: tuple[str, ...]
    unused_providers: tuple[str, ...]

    @property
    def consumer_uuids(self) -> tuple[str, ...]:
        return tuple(one.uuid for one in self.consumers) + self.unused_consumers

    def requests(self) -> Iterator[Request]:
        """The requests that create this world, in order."""
        for name in TRAITS:
            if name.startswith("CUSTOM_"):
                yield Request("PUT", f"/traits/{name}", VERSION)
        for name in CLASSES:
            if name.startswith("CUSTOM_"):
                yield Request("PUT", f"/resource_classes/{name}", VERSION)
        for provider in self.providers:
            yield from provider_requests(provider)
        for consumer in self.consumers:
            yield consumer_request(consumer)


def provider_requests(provider: Provider) -> Iterator[Request]:
    path = f"/resource_providers/{provider.uuid}"
    body: dict[str, Any] = {"uuid": provider.uuid, "name": provider.name}
    if provider.parent is not None:
        body["parent_provider_uuid"] = provider.parent
    yield Request("POST", "/resource_providers", VERSION, body=body)
    parts: dict[str, Any] = {
        "inventories": provider.inventories,
        "traits": list(provider.traits),
        "aggregates": list(provider.aggregates),
    }
    generation = 0
    for name, value in parts.items():
        if value:
            body = {"resource_provider_generation": generation, name: value}
            yield Request("PUT", f"{path}/{name}", VERSION, body=body)
            generation += 1


def consumer_request(consumer: Consumer) -> Request:
    body = {
        "allocations": {
            provider: {"resources": resources}
            for provider, resources in consumer.allocations.items()
        },
        "project_id": "project-1",
        "user_id": "user-1",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    return Request("PUT", f"/allocations/{consumer.uuid}", VERSION, body=body)


def make_world(chance: random.Random) -> World:
    aggregates = tuple(make_uuid(chance) for _ in range(3))
    providers: list[Provider] = []
    for _ in range(chance.randint(2, 4)):
        tree: list[Provider] = []
        for _ in range(chance.choice((1, 1, 2, 3, 4, 5))):
            parent = chance.choice(tree).uuid if tree else None
            tree.append(make_provider(chance, len(providers) + len(tree), parent, aggregates))
        providers += tree
    for _ in range(chance.choice((0, 1, 1, 2))):
        providers.append(make_sharing_provider(chance, providers, aggregates))
    return World(
        providers=tuple(providers),
        consumers=tuple(make_consumer(chance, providers) for _ in range(chance.randint(0, 3))),
        aggregates=aggregates,
        unused_consumers=(make_uuid(chance), make_uuid(chance)),
        unused_providers=(make_uuid(chance), make_uuid(chance)),
    )


def make_provider(
    chance: random.Random, number: int, parent: str | None, aggregates: tuple[str, ...]
) -> Provider:
    classes = chance.sample(CLASSES, chance.choice((0, 1, 2, 2, 3, 3)))
    return Provider(
        uuid=make_uuid(chance),
        name=f"provider-{number}",
        parent=parent,
        inventories={name: make_inventory(chance) for name in classes},
        traits=some(chance, TRAITS, 0.3),
        aggregates=some(chance, aggregates, 0.35),
    )


def make_sharing_provider(
    chance: random.Random, others: list[Provider], aggregates: tuple[str, ...]
) -> Provider:
    """Usually a root; sometimes in the middle of another tree."""
    parent = chance.choice(others).uuid if chance.random() < 0.3 else None
    classes = set(chance.sample(SHARED_CLASSES, chance.choice((1, 1, 2))))
    return Provider(
        uuid=make_uuid(chance),
        name=f"sharing-{len(others)}",
        parent=parent,
        inventories={name: make_inventory(chance) for name in sorted(classes)},
        traits=(SHARING, *some(chance, TRAITS, 0.25)),
        aggregates=tuple(chance.sample(aggregates, chance.choice((0, 1, 1, 2)))),
    )


def make_inventory(chance: random.Random) -> dict[str, int | float]:
    """Often a plain inventory, sometimes one with one or two fields that make amounts not fit."""
    total = chance.randint(2, 8)
    inventory: dict[str, int | float] = {"total": total}
    unusual: dict[str, int | float] = {
        "reserved": chance.randint(0, total),
        "min_unit": chance.randint(1, 3),
        "max_unit": chance.randint(1, 4),
        "step_size": chance.choice((2, 3)),
        "allocation_ratio": chance.choice((0.5, 0.75, 1.5, 2.0, 16.0)),
    }
    for name, value in unusual.items():
        if chance.random() < 0.13:
            inventory[name] = value
    return inventory


def make_any_inventory(chance: random.Random) -> dict[str, int | float]:
    """Rarely an inventory without capacity, which some versions and some writes refuse."""
    inventory = make_inventory(chance)
    if chance.random() < 0.1:
        inventory["reserved"] = chance.choice((0, inventory["total"], inventory["total"] + 1))
        inventory["allocation_ratio"] = chance.choice((-1.0, -0.1, 0.0, 0.1, 1.0))
    return inventory


def make_consumer(chance: random.Random, providers: list[Provider]) -> Consumer:
    with_inventories = [one for one in providers if one.inventories]
    chosen = chance.sample(with_inventories, min(len(with_inventories), chance.choice((1, 1, 2))))
    return Consumer(
        uuid=make_uuid(chance),
        allocations={
            one.uuid: {chance.choice(sorted(one.inventories)): chance.choice((1, 1, 2))}
            for one in chosen
        },
    )


def some(chance: random.Random, names: tuple[str, ...], likelihood: float) -> tuple[str, ...]:
    return tuple(name for name in names if chance.random() < likelihood)


def make_uuid(chance: random.Random) -> str:
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))
