"""Reads the tree of a host, and the providers that share resources with it.

With roost as the service this takes one request for the tree and, if the tree has aggregates, one
for those that share with it. OpenStack Placement has no such requests: there it takes four for each
provider.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from roost.agent.provider_tree import ProviderTree
from roost.client import BadRequest, Client, Provider, ProviderDetails
from roost.model import SHARING_TRAIT

# How many UUIDs a query has. Many servers and proxies take request lines of 8190 bytes.
UUIDS_PER_QUERY = 150

# A page shows one moment, so that one page should have the whole tree.
PROVIDERS_PER_PAGE = 10_000


def in_queries(uuids: Iterable[str]) -> Iterator[list[str]]:
    """UUIDs in parts that fit into a URL."""
    ordered = sorted(uuids)
    for begin in range(0, len(ordered), UUIDS_PER_QUERY):
        yield ordered[begin : begin + UUIDS_PER_QUERY]


class ReadTree(NamedTuple):
    """The tree of a host. Providers that share resources with it are further roots."""

    tree: ProviderTree
    sharing: frozenset[str]  # the UUIDs of these roots


class TreeReader:
    """Reads trees from the service."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def read(self, uuid: str) -> ReadTree | None:
        """The tree that a provider is in; None if there is no such provider."""
        found = self._tree_of(uuid)
        if not found:
            return None
        tree = ProviderTree()
        tree.populate_from_iterable(
            {
                "uuid": each.provider.uuid,
                "name": each.provider.name,
                "generation": each.provider.generation,
                "parent_provider_uuid": each.provider.parent_uuid,
            }
            for each in found
        )
        for each in found:
            _fill(tree, each)
        sharing = set()
        aggregates = {aggregate for each in found for aggregate in each.aggregates}
        for each in self._sharing_with(aggregates):
            # It may also be a part of the tree, or share through several aggregates.
            if not tree.exists(each.provider.uuid):
                tree.new_root(
                    each.provider.name, each.provider.uuid, generation=each.provider.generation
                )
                _fill(tree, each)
                sharing.add(each.provider.uuid)
        return ReadTree(tree, frozenset(sharing))

    @property
    def _reads_many(self) -> bool:
        return "include" in self._client.known_extensions

    def _tree_of(self, uuid: str) -> list[ProviderDetails]:
        if not self._reads_many:
            return [self._details(each) for each in self._client.tree(uuid)]
        try:
            return list(self._client.bulk_providers(tree=uuid, limit=PROVIDERS_PER_PAGE))
        except BadRequest:
            if self._client.providers({"uuid": uuid}):
                raise
            return []

    def _sharing_with(self, aggregates: Iterable[str]) -> Iterator[ProviderDetails]:
        for some in in_queries(aggregates):
            query = {"member_of": f"in:{','.join(some)}", "required": SHARING_TRAIT}
            if self._reads_many:
                yield from self._client.bulk_providers(limit=PROVIDERS_PER_PAGE, **query)
            else:
                yield from map(self._details, self._client.providers(query))

    def _details(self, provider: Provider) -> ProviderDetails:
        """Read everything of one provider."""
        # The oldest of all generations counts: another client may write between two reads, and a
        # write at the newest generation would overwrite what it wrote.
        inventories = self._client.inventories(provider.uuid)
        return ProviderDetails(
            provider=msgspec.structs.replace(provider, generation=inventories.generation),
            inventories=inventories.inventories,
            traits=self._client.provider_traits(provider.uuid).traits,
            aggregates=self._client.provider_aggregates(provider.uuid).aggregates,
            usages=self._client.usages(provider.uuid),
        )


def _fill(tree: ProviderTree, found: ProviderDetails) -> None:
    uuid = found.provider.uuid
    tree.update_inventory(uuid, found.inventories)
    tree.update_traits(uuid, found.traits)
    tree.update_aggregates(uuid, found.aggregates)
    tree.set_generation(uuid, found.provider.generation)
    tree.set_used(uuid, found.usages)
