"""Reads providers with all that is shown of them: many in one request where the service can."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property

from roost.client import Client, Inventory, NotFound, Provider, ProviderDetails
from roost.model import SHARING_TRAIT
from roost.progress import SILENT, Progress
from roost.uuids import canonical_uuids

# The extension of the service that answers for many providers at once.
EXTENSION = "include"
PAGE_LENGTH = 1000
# With more aggregates, the URL that asks for their sharing providers would be too long.
AGGREGATES_MAX = 50


class Reader:
    """Reads providers from a service."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def providers(
        self, progress: Progress = SILENT, *, tree_uuid: str | None = None
    ) -> Iterator[ProviderDetails]:
        """All providers, or those of one tree, in the order of their creation."""
        return _compact(self._read(progress, {} if tree_uuid is None else {"in_tree": tree_uuid}))

    def sharing_with(self, tree: Iterable[ProviderDetails]) -> list[ProviderDetails]:
        """The providers that share what they have with a tree."""
        aggregates = canonical_uuids(one for each in tree for one in each.aggregates)
        if not 0 < len(aggregates) <= AGGREGATES_MAX:
            return []
        query = {"member_of": f"in:{','.join(sorted(aggregates))}", "required": SHARING_TRAIT}
        return list(self._read(SILENT, query))

    def _read(self, progress: Progress, query: Mapping[str, str]) -> Iterator[ProviderDetails]:
        if self._reads_many:
            progress.stage("reading providers")
            for details in self._client.bulk_providers(limit=PAGE_LENGTH, **query):
                yield details
                progress.advance()
            return
        # Any other Placement: four requests for each provider.
        providers = self._client.providers(query)
        progress.stage("reading providers", len(providers))
        for provider in providers:
            # It may have been deleted since the list was read.
            with suppress(NotFound):
                yield _read_one(self._client, provider)
            progress.advance()

    @cached_property
    def _reads_many(self) -> bool:
        return EXTENSION in self._client.extensions()


def _read_one(client: Client, provider: Provider) -> ProviderDetails:
    return ProviderDetails(
        provider=provider,
        inventories=client.inventories(provider.uuid).inventories,
        usages=client.usages(provider.uuid),
        traits=client.provider_traits(provider.uuid).traits,
        aggregates=client.provider_aggregates(provider.uuid).aggregates,
    )


def _compact(providers: Iterator[ProviderDetails]) -> Iterator[ProviderDetails]:
    """The same, with what equals something that came before in memory only once.

    Hosts of a large cloud are much alike: this halves what it takes.
    """
    inventories: dict[tuple[tuple[str, Inventory], ...], Mapping[str, Inventory]] = {}
    sets: dict[frozenset[str], frozenset[str]] = {}
    texts: dict[str, str] = {}
    for each in providers:
        one = each.provider
        yield ProviderDetails(
            provider=Provider(
                uuid=texts.setdefault(one.uuid, one.uuid),
                name=one.name,
                generation=one.generation,
                parent_uuid=one.parent_uuid and texts.setdefault(one.parent_uuid, one.parent_uuid),
                root_uuid=texts.setdefault(one.root_uuid, one.root_uuid),
            ),
            inventories=inventories.setdefault(tuple(each.inventories.items()), each.inventories),
            usages={texts.setdefault(name, name): used for name, used in each.usages.items()},
            traits=sets.setdefault(each.traits, each.traits),
            aggregates=sets.setdefault(each.aggregates, each.aggregates),
        )
