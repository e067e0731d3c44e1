"""Providers, their traits and their aggregates."""

import uuid as uuid_module
from collections.abc import Iterable, Mapping

from msgspec import UNSET, UnsetType

from roost.client import lists, wire
from roost.client.calls import EXTENSION, Call, Pages, Query, given, pages, path_to, request
from roost.client.values import (
    Provider,
    ProviderAggregates,
    ProviderDetails,
    ProviderTraits,
    Resources,
)

PROVIDERS = "/resource_providers"

# What `bulk_providers` can read of each provider.
DETAILS = ("inventories", "usages", "traits", "aggregates")


def provider_path(uuid: str, *below: str) -> str:
    return path_to("resource_providers", uuid, *below)


class ProviderRequests:
    @request
    def providers(self, query: Query | None = None) -> Call[list[Provider]]:
        """All providers, or those that a query selects by name, uuid, in_tree, member_of, ..."""
        return Call(method="GET", path=PROVIDERS, query=query or {}, read=wire.providers)

    @pages
    def bulk_providers(
        self,
        *,
        include: Iterable[str] = DETAILS,
        limit: int = 1000,
        tree: str | None = None,
        name: str | None = None,
        uuid: str | None = None,
        in_tree: str | None = None,
        member_of: str | Iterable[str] = (),
        required: str | Iterable[str] = (),
        resources: Resources | str | None = None,
    ) -> Pages[ProviderDetails]:
        """Providers with all that `include` names, in the order of their creation.

        `limit` is the length of a page, and `tree` a provider whose whole tree to read. The others
        are the filters of `providers`. Only roost has this request.
        """
        if isinstance(resources, Mapping):
            resources = ",".join(f"{each}:{amount}" for each, amount in resources.items())
        query = given(
            include=",".join(include) or None,
            limit=limit,
            tree=tree,
            name=name,
            uuid=uuid,
            in_tree=in_tree,
            member_of=[member_of] if isinstance(member_of, str) else list(member_of),
            required=[required] if isinstance(required, str) else list(required),
            resources=resources,
        )
        return Pages(
            Call(
                method="GET",
                path=PROVIDERS,
                query=query,
                read=lists.providers_page,
                shape=lists.ProvidersPage,
                since=EXTENSION,
            )
        )

    @request
    def tree(self, uuid: str) -> Call[list[Provider]]:
        """All providers of the tree that a provider is in."""
        return Call(
            method="GET",
            path=PROVIDERS,
            query={"in_tree": uuid},
            read=wire.providers,
            since=(1, 14),
        )

    @request
    def provider(self, uuid: str) -> Call[Provider]:
        """One provider."""
        return Call(method="GET", path=provider_path(uuid), read=wire.provider)

    @request
    def create_provider(
        self, name: str, *, uuid: str | None = None, parent_uuid: str | None = None
    ) -> Call[Provider]:
        """Create a provider, as a root or below a parent. Without `uuid` it gets a random one."""
        body = {"name": name, "uuid": uuid or str(uuid_module.uuid4())}
        if parent_uuid is not None:
            body["parent_provider_uuid"] = parent_uuid
        return Call(method="POST", path=PROVIDERS, body=body, read=wire.provider, since=(1, 20))

    @request
    def update_provider(
        self, uuid: str, *, name: str, parent_uuid: str | UnsetType | None = UNSET
    ) -> Call[Provider]:
        """Rename a provider, or move it below another parent.

        Without `parent_uuid` it keeps its parent; None makes it a root.
        """
        body: dict[str, str | None] = {"name": name}
        if parent_uuid is not UNSET:
            body["parent_provider_uuid"] = parent_uuid
        return Call(
            method="PUT",
            path=provider_path(uuid),
            body=body,
            read=wire.provider,
            since=(1, 14),
            repeatable=True,
        )

    @request
    def delete_provider(self, uuid: str) -> Call[None]:
        """Delete a provider that has neither children nor allocations."""
        return Call(method="DELETE", path=provider_path(uuid), read=wire.nothing)

    # -- traits and aggregates -----------------------------------------------------------------

    @request
    def provider_traits(self, uuid: str) -> Call[ProviderTraits]:
        """The traits of a provider."""
        path = provider_path(uuid, "traits")
        return Call(method="GET", path=path, read=wire.traits, since=(1, 6))

    @request
    def set_provider_traits(
        self, uuid: str, traits: Iterable[str], generation: int
    ) -> Call[ProviderTraits]:
        """Replace all traits of a provider, as read at a generation."""
        body = {"resource_provider_generation": generation, "traits": sorted(traits)}
        path = provider_path(uuid, "traits")
        return Call(method="PUT", path=path, body=body, read=wire.traits, since=(1, 6))

    @request
    def delete_provider_traits(self, uuid: str) -> Call[None]:
        """Remove all traits of a provider."""
        path = provider_path(uuid, "traits")
        return Call(method="DELETE", path=path, read=wire.nothing, since=(1, 6))

    @request
    def provider_aggregates(self, uuid: str) -> Call[ProviderAggregates]:
        """The aggregates of a provider."""
        path = provider_path(uuid, "aggregates")
        return Call(method="GET", path=path, read=wire.aggregates, since=(1, 19))

    @request
    def set_provider_aggregates(
        self, uuid: str, aggregates: Iterable[str], generation: int
    ) -> Call[ProviderAggregates]:
        """Replace all aggregates of a provider, as read at a generation."""
        body = {"resource_provider_generation": generation, "aggregates": sorted(aggregates)}
        path = provider_path(uuid, "aggregates")
        return Call(method="PUT", path=path, body=body, read=wire.aggregates, since=(1, 19))
