"""Every request of the API as a method."""

import uuid as uuid_module
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx
from msgspec import UNSET, UnsetType

from roost.client import wire
from roost.client.auth import Auth, NoAuth
from roost.client.explanations import Capacity, Explanation
from roost.client.transport import RETRIES, TIMEOUT_SECONDS, Transport, Version
from roost.client.values import (
    Candidate,
    Candidates,
    Consumer,
    Events,
    Inventory,
    Provider,
    ProviderAggregates,
    ProviderInventories,
    ProviderTraits,
    Resources,
)

# The parameters of a query string; a sequence is a parameter that is repeated.
Query = Mapping[str, str | int | Sequence[str]]

_PROVIDER = "/resource_providers/{}"


class Client:
    """A client of one service. Thread-safe; it keeps connections open.

    Methods that write take the generation at which the caller has read, and raise
    `ConcurrentUpdate` if another client has written since. `roost.client.errors` shows all errors.
    """

    def __init__(
        self,
        url: str,
        *,
        auth: Auth | None = None,
        timeout: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        request_id: str | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Nothing is sent before the first request.

        Without `auth` it authenticates as `admin` with noauth2. `request_id` is the id of a request
        that the caller itself is handling: the service logs it with every request of this client.
        """
        http = httpx.Client(base_url=url.rstrip("/"), timeout=timeout, transport=transport)
        self._transport = Transport(
            http, NoAuth() if auth is None else auth, retries=retries, request_id=request_id
        )
        self._send = self._transport.send

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    @property
    def version(self) -> Version:
        """The microversion of requests: the newest that both the client and the service know."""
        return self._transport.version

    # -- providers -----------------------------------------------------------------------------

    def providers(self, query: Query | None = None) -> list[Provider]:
        """All providers, or those that a query selects by name, uuid, in_tree, member_of, ..."""
        found = self._send("GET", "/resource_providers", query=query)
        return [wire.provider(each) for each in found["resource_providers"]]

    def tree(self, uuid: str) -> list[Provider]:
        """All providers of the tree that a provider is in."""
        found = self._send("GET", "/resource_providers", query={"in_tree": uuid}, since=(1, 14))
        return [wire.provider(each) for each in found["resource_providers"]]

    def provider(self, uuid: str) -> Provider:
        return wire.provider(self._send("GET", _PROVIDER.format(uuid)))

    def create_provider(
        self, name: str, *, uuid: str | None = None, parent_uuid: str | None = None
    ) -> Provider:
        body = {"name": name, "uuid": uuid or str(uuid_module.uuid4())}
        if parent_uuid is not None:
            body["parent_provider_uuid"] = parent_uuid
        return wire.provider(self._send("POST", "/resource_providers", body, since=(1, 20)))

    def update_provider(
        self, uuid: str, *, name: str, parent_uuid: str | UnsetType | None = UNSET
    ) -> Provider:
        """Rename a provider, or move it below another parent.

        Without `parent_uuid` it keeps its parent; None makes it a root.
        """
        body: dict[str, str | None] = {"name": name}
        if parent_uuid is not UNSET:
            body["parent_provider_uuid"] = parent_uuid
        path = _PROVIDER.format(uuid)
        return wire.provider(self._send("PUT", path, body, since=(1, 14), repeatable=True))

    def delete_provider(self, uuid: str) -> None:
        self._send("DELETE", _PROVIDER.format(uuid))

    # -- inventories ---------------------------------------------------------------------------

    def inventories(self, uuid: str) -> ProviderInventories:
        return wire.inventories(self._send("GET", _PROVIDER.format(uuid) + "/inventories"))

    def set_inventories(
        self, uuid: str, inventories: Mapping[str, Inventory], generation: int
    ) -> ProviderInventories:
        """Replace all inventories of a provider, as read at a generation."""
        body = wire.inventories_body(inventories, generation)
        return wire.inventories(self._send("PUT", _PROVIDER.format(uuid) + "/inventories", body))

    def set_inventory(
        self, uuid: str, resource_class: str, inventory: Inventory, generation: int
    ) -> int:
        """Change one inventory of a provider. Returns the provider's new generation."""
        body = {"resource_provider_generation": generation, **wire.inventory_body(inventory)}
        path = f"{_PROVIDER.format(uuid)}/inventories/{resource_class}"
        return int(self._send("PUT", path, body)["resource_provider_generation"])

    def delete_inventory(self, uuid: str, resource_class: str) -> None:
        self._send("DELETE", f"{_PROVIDER.format(uuid)}/inventories/{resource_class}")

    def delete_inventories(self, uuid: str) -> None:
        self._send("DELETE", _PROVIDER.format(uuid) + "/inventories", since=(1, 5))

    def usages(self, uuid: str) -> Resources:
        """How much of a provider is used, by resource class."""
        found: Resources = self._send("GET", _PROVIDER.format(uuid) + "/usages")["usages"]
        return found

    # -- traits and aggregates -----------------------------------------------------------------

    def traits(self, query: Query | None = None) -> frozenset[str]:
        return frozenset(self._send("GET", "/traits", query=query, since=(1, 6))["traits"])

    def create_trait(self, name: str) -> None:
        """Make sure that a trait exists."""
        self._send("PUT", f"/traits/{name}", since=(1, 6), repeatable=True)

    def delete_trait(self, name: str) -> None:
        self._send("DELETE", f"/traits/{name}", since=(1, 6))

    def provider_traits(self, uuid: str) -> ProviderTraits:
        path = _PROVIDER.format(uuid) + "/traits"
        return wire.traits(self._send("GET", path, since=(1, 6)))

    def set_provider_traits(
        self, uuid: str, traits: Iterable[str], generation: int
    ) -> ProviderTraits:
        body = {"resource_provider_generation": generation, "traits": sorted(traits)}
        path = _PROVIDER.format(uuid) + "/traits"
        return wire.traits(self._send("PUT", path, body, since=(1, 6)))

    def delete_provider_traits(self, uuid: str) -> None:
        self._send("DELETE", _PROVIDER.format(uuid) + "/traits", since=(1, 6))

    def provider_aggregates(self, uuid: str) -> ProviderAggregates:
        path = _PROVIDER.format(uuid) + "/aggregates"
        return wire.aggregates(self._send("GET", path, since=(1, 19)))

    def set_provider_aggregates(
        self, uuid: str, aggregates: Iterable[str], generation: int
    ) -> ProviderAggregates:
        body = {"resource_provider_generation": generation, "aggregates": sorted(aggregates)}
        path = _PROVIDER.format(uuid) + "/aggregates"
        return wire.aggregates(self._send("PUT", path, body, since=(1, 19)))

    # -- resource classes ----------------------------------------------------------------------

    def resource_classes(self) -> frozenset[str]:
        found = self._send("GET", "/resource_classes", since=(1, 2))
        return frozenset(each["name"] for each in found["resource_classes"])

    def create_resource_class(self, name: str) -> None:
        """Make sure that a resource class exists."""
        self._send("PUT", f"/resource_classes/{name}", since=(1, 7), repeatable=True)

    def delete_resource_class(self, name: str) -> None:
        self._send("DELETE", f"/resource_classes/{name}", since=(1, 2))

    # -- consumers -----------------------------------------------------------------------------

    def consumer(self, uuid: str) -> Consumer:
        """What a consumer holds. One that does not exist holds nothing and has no generation."""
        return wire.consumer(uuid, self._send("GET", f"/allocations/{uuid}", since=(1, 28)))

    def provider_consumers(self, uuid: str) -> Mapping[str, Resources]:
        """The consumers of a provider: consumer UUID -> the resources it holds there."""
        found = self._send("GET", _PROVIDER.format(uuid) + "/allocations")["allocations"]
        return {consumer: held["resources"] for consumer, held in found.items()}

    def set_consumer(self, consumer: Consumer) -> None:
        """Replace everything that a consumer holds, as read at its generation."""
        bodies, until = wire.consumer_bodies([consumer])
        path = f"/allocations/{consumer.uuid}"
        self._send("PUT", path, bodies[consumer.uuid], since=(1, 28), until=until, races=True)

    def set_consumers(self, consumers: Iterable[Consumer]) -> None:
        """Replace everything that several consumers hold: all of them or none."""
        bodies, until = wire.consumer_bodies(consumers)
        self._send("POST", "/allocations", bodies, since=(1, 28), until=until, races=True)

    def delete_consumer(self, uuid: str) -> None:
        self._send("DELETE", f"/allocations/{uuid}")

    def project_usages(self, project_id: str, *, user_id: str | None = None) -> Mapping[str, Any]:
        """What the consumers of a project, or of one of its users, use.

        Consumer type -> resource class (or `consumer_count`) -> amount; below 1.38 resource class
        -> amount.
        """
        query = {"project_id": project_id, **({"user_id": user_id} if user_id else {})}
        found: Mapping[str, Any] = self._send("GET", "/usages", query=query, since=(1, 9))["usages"]
        return found

    # -- searches and reshapes -----------------------------------------------------------------

    def candidates(self, query: Query) -> Candidates:
        """Where a request fits."""
        found = self._send("GET", "/allocation_candidates", query=query, since=(1, 29))
        return wire.candidates(found)

    def place(
        self,
        query: Query | str,
        consumers: Iterable[Consumer],
        *,
        order: str | None = None,
        apart: bool = False,
        idempotency_key: str | None = None,
    ) -> Mapping[str, Candidate]:
        """Search and claim in one request: consumer UUID -> what it holds now.

        Either all consumers get a place, with `apart` each on another root, or none does and this
        raises `Conflict`. The consumers must not hold anything yet. If an answer is lost, the
        request is sent again with the same idempotency key, a random one unless it is given.
        Only roost has this request.
        """
        text = query if isinstance(query, str) else str(httpx.QueryParams(dict(query)))
        body = wire.placement_body(text, consumers)
        body["idempotency_key"] = idempotency_key or str(uuid_module.uuid4())
        if order is not None:
            body["order"] = order
        if apart:
            body["spread"] = "root"
        found = self._send("POST", "/placements", body, since=(1, 39), repeatable=True, races=True)
        return {uuid: wire.candidate(each) for uuid, each in found["placements"].items()}

    def explain(self, query: Query, *, tree_uuid: str | None = None) -> Explanation:
        """Why a request fits or does not, in all trees or in the tree of a provider.

        Only roost has this request.
        """
        about = {} if tree_uuid is None else {"tree": tree_uuid}
        path = "/allocation_candidates/explain"
        found: Explanation = self._send("GET", path, query={**query, **about}, since=(1, 39))
        return found

    def capacity(self, query: Query) -> Capacity:
        """How many more of a request fit, in total and by tree. Only roost has this request."""
        found: Capacity = self._send("GET", "/capacity", query=query, since=(1, 39))
        return found

    def events(
        self,
        after: str | None = None,
        *,
        wait: int = 0,
        kinds: Iterable[str] = (),
        tree: str | None = None,
    ) -> Events:
        """What changed after a position; without a position, no events and the current position.

        If there are no events, the service waits up to `wait` seconds, at most 25, for one. `kinds`
        selects the kinds of events, and `tree` the tree by the UUID of a provider in it. A position
        that is too old raises `Gone`: then get a new position, and read everything again. Only
        roost has this request.
        """
        query: dict[str, str | int | Sequence[str]] = {"kind": sorted(kinds)}
        query |= {"after": after} if after is not None else {}
        query |= {"tree": tree} if tree is not None else {}
        query |= {"wait": wait} if wait else {}
        return wire.events(self._send("GET", "/events", query=query, since=(1, 39)))

    def reshape(
        self,
        inventories: Mapping[str, ProviderInventories],
        consumers: Iterable[Consumer],
    ) -> None:
        """Replace inventories of providers and what consumers hold: all of it or nothing."""
        bodies, until = wire.consumer_bodies(consumers)
        body = {
            "inventories": {
                uuid: wire.inventories_body(each.inventories, each.generation)
                for uuid, each in inventories.items()
            },
            "allocations": bodies,
        }
        self._send("POST", "/reshaper", body, since=(1, 30), until=until)
