"""Consumers: what each holds, and what a project uses."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from roost.client import lists, wire
from roost.client.calls import EXTENSION, Call, Pages, given, pages, path_to, request
from roost.client.errors import InvalidRequest
from roost.client.requests.providers import provider_path
from roost.client.values import Consumer, ConsumerDetails, Hold, ProviderInventories, Resources

# Of how many providers the service lists consumers at once.
LISTED_PROVIDERS_MAX = 1000


class AllocationRequests:
    @request
    def consumer(self, uuid: str) -> Call[Consumer]:
        """What a consumer holds. One that does not exist holds nothing and has no generation."""

        def read(found: Any) -> Consumer:
            return wire.consumer(uuid, found)

        return Call(method="GET", path=path_to("allocations", uuid), read=read, since=(1, 28))

    @pages
    def consumers(
        self,
        *,
        resource_provider: str | Iterable[str] | None = None,
        tree: str | None = None,
        resource_class: str | None = None,
        project_id: str | None = None,
        user_id: str | None = None,
        consumer_type: str | None = None,
        changed_before: datetime | None = None,
        limit: int = 1000,
    ) -> Pages[ConsumerDetails]:
        """Consumers that hold something, in the order of their creation, each with all it holds.

        They are selected by the UUIDs of providers, by that of any provider of a tree, by a class,
        by whom they belong to, or by when they were last written. `resource_provider` is one UUID,
        or several of up to 1000 providers: a consumer of more than one of them is listed once.
        `limit` is the length of a page. Only roost has this request.
        """
        if changed_before is not None and changed_before.tzinfo is None:
            raise InvalidRequest(f"changed_before needs a time zone: {changed_before}")
        query = given(
            resource_provider=_any_of(resource_provider),
            tree=tree,
            resource_class=resource_class,
            project_id=project_id,
            user_id=user_id,
            consumer_type=consumer_type,
            changed_before=None if changed_before is None else changed_before.isoformat(),
            limit=limit,
        )
        return Pages(
            Call(
                method="GET",
                path="/allocations",
                query=query,
                read=lists.consumers_page,
                shape=lists.ConsumersPage,
                since=EXTENSION,
            )
        )

    @request
    def provider_consumers(self, uuid: str) -> Call[Mapping[str, Resources]]:
        """The consumers of a provider: consumer UUID -> the resources it holds there."""
        return Call(
            method="GET", path=provider_path(uuid, "allocations"), read=wire.provider_consumers
        )

    @request
    def set_consumer(self, consumer: Consumer) -> Call[None]:
        """Replace everything that a consumer holds, as read at its generation."""
        bodies, until = wire.consumer_bodies([consumer])
        return Call(
            method="PUT",
            path=path_to("allocations", consumer.uuid),
            body=bodies[consumer.uuid],
            read=wire.nothing,
            since=(1, 28),
            until=until,
            races=True,
        )

    @request
    def set_consumers(self, consumers: Iterable[Consumer]) -> Call[None]:
        """Replace everything that several consumers hold: all of them or none."""
        bodies, until = wire.consumer_bodies(consumers)
        return Call(
            method="POST",
            path="/allocations",
            body=bodies,
            read=wire.nothing,
            since=(1, 28),
            until=until,
            races=True,
        )

    @request
    def delete_consumer(self, uuid: str) -> Call[None]:
        """Give back everything that a consumer holds."""
        return Call(method="DELETE", path=path_to("allocations", uuid), read=wire.nothing)

    @request
    def project_usages(
        self, project_id: str, *, user_id: str | None = None, consumer_type: str | None = None
    ) -> Call[Mapping[str, Any]]:
        """What the consumers of a project use, or those of one of its users or of one type.

        Consumer type -> resource class (or `consumer_count`) -> amount; below 1.38 resource class
        -> amount. The type `all` adds up all types.
        """
        query = given(project_id=project_id, user_id=user_id, consumer_type=consumer_type)
        since = (1, 9) if consumer_type is None else (1, 38)
        return Call(method="GET", path="/usages", query=query, read=wire.usages, since=since)

    @request
    def reshape(
        self,
        inventories: Mapping[str, ProviderInventories],
        consumers: Iterable[Consumer],
    ) -> Call[None]:
        """Replace inventories of providers and what consumers hold: all of it or nothing."""
        bodies, until = wire.consumer_bodies(consumers)
        body = {
            "inventories": {
                uuid: wire.inventories_body(each.inventories, each.generation)
                for uuid, each in inventories.items()
            },
            "allocations": bodies,
        }
        return Call(
            method="POST",
            path="/reshaper",
            body=body,
            read=wire.nothing,
            since=(1, 30),
            until=until,
        )

    @request
    def hold(self, *, tree: str, seconds: float) -> Call[Hold]:
        """Let claims and releases in the tree of a provider wait, so that a reshape wins.

        They wait until a reshape of the tree succeeds, `release_hold` ends it, or its time is over;
        none is refused because of it. `HoldTooSoon` means that the tree is held already, or rests:
        after a hold for as long as that was. A claim that was already under way may still come in
        between, so the reshape may be refused as without a hold. Only roost has this request.
        """
        return Call(
            method="POST",
            path="/holds",
            body={"tree": tree, "seconds": seconds},
            read=wire.as_it_is,
            shape=Hold,
            since=EXTENSION,
        )

    @request
    def release_hold(self, id: str) -> Call[None]:
        """End a hold before its time. One that has ended already raises `NotFound`."""
        return Call(method="DELETE", path=path_to("holds", id), read=wire.nothing, since=EXTENSION)


def _any_of(uuids: str | Iterable[str] | None) -> str | None:
    """One UUID, or several as a query string has them."""
    if uuids is None or isinstance(uuids, str):
        return uuids
    several = sorted(set(uuids))
    if not several:
        # The service would list the consumers of all providers.
        raise InvalidRequest("resource_provider names no provider")
    if len(several) > LISTED_PROVIDERS_MAX:
        raise InvalidRequest(
            f"resource_provider names {len(several)} providers; at most {LISTED_PROVIDERS_MAX} can "
            "be asked for at once"
        )
    return f"in:{','.join(several)}"
