"""Providers: created, renamed, moved, deleted, read and listed."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from roost.errors import InvalidParent, ProviderNotFound, UnknownParent
from roost.model import Provider, ProviderColumns
from roost.operations.known_names import check_classes, check_traits
from roost.query import Page, ProviderQuery
from roost.search.bulk.details import read_batches, select_page
from roost.search.index.columns import Integers
from roost.search.index.index import Index
from roost.search.index.providers import moment
from roost.search.match import matching_providers
from roost.service.service import Roost
from roost.store.tables.providers import ProviderRecord
from roost.store.transaction import Transaction


def read_provider(roost: Roost, *, uuid: str) -> Provider:
    index = roost.current_index()
    return _provider(index, index.row(uuid))


class ProviderList:
    """Providers at one point in time. Each is made when it is looked at: there may be very many."""

    def __init__(self, index: Index, rows: Integers) -> None:
        self._index = index
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Provider]:
        return (_provider(self._index, row) for row in self._rows.tolist())

    @property
    def modified(self) -> datetime | None:
        """When the last of them was modified; None if there is none."""
        if not len(self._rows):
            return None
        return moment(float(self._index.rows.modified[self._rows].max()))


class ProviderPage(ProviderList):
    """A page of providers in the order of their creation, with everything that they have."""

    def __init__(self, index: Index, rows: Integers, last_id: int | None) -> None:
        super().__init__(index, rows)
        self.last_id = last_id  # the id of the last provider, if another page follows

    def read_batches(self, *, inventories: bool) -> Iterator[ProviderColumns]:
        """All of it, a batch at a time; inventories and usage only if they are asked for."""
        return read_batches(self._index, self._rows, inventories=inventories)

    def traits(self, number: int) -> Sequence[str]:
        """The names in a set of traits, in the order in which a single read lists them."""
        return [self._index.traits.names[each] for each in self._index.trait_sets.members[number]]

    def aggregates(self, number: int) -> Sequence[str]:
        """The UUIDs in a set of aggregates, as they are stored."""
        return self._index.aggregate_sets.stored[number]


def list_providers(roost: Roost, *, query: ProviderQuery) -> ProviderList:
    return ProviderList(*_select(roost, query))


def list_provider_page(roost: Roost, *, query: ProviderQuery, page: Page) -> ProviderPage:
    """A page of the list; refuses a `tree` that no provider is in.

    Every page is read from a snapshot of its own. An id never changes, so a provider that exists
    from the first page to the last is on exactly one of them, whatever happens to others.
    """
    index, rows = _select(roost, query)
    return ProviderPage(index, *select_page(index, rows, page))


def _select(roost: Roost, query: ProviderQuery) -> tuple[Index, Integers]:
    index = roost.current_index()
    check_classes(index, query.resources)
    check_traits(index, [query.traits])
    rows = matching_providers(index, query)
    if query.name is None or query.name in index.row_of_name:
        return index, rows
    # Names are unique to the database. So it has at most one that it takes for equal.
    stored = roost.store.reads.stored_provider_name(query.name)
    if stored is None:
        return index, rows
    index = roost.current_index()
    return index, matching_providers(index, msgspec.structs.replace(query, name=stored))


def create_provider(roost: Roost, *, uuid: str, name: str, parent_uuid: str | None) -> Provider:
    """Create a provider below `parent_uuid`, or as the root of a new tree."""
    if parent_uuid == uuid:
        raise InvalidParent(
            "parent provider UUID cannot be same as UUID. "
            "Please set parent provider UUID to None if there is no parent."
        )

    def unit(tx: Transaction) -> Provider:
        parent = None
        if parent_uuid is not None:
            parent = tx.providers.find(parent_uuid)
            if parent is None:
                raise UnknownParent()
            tx.trees.guard([parent])
        tx.providers.check_free(name, uuid)
        return tx.providers.insert(uuid, name, parent)

    return roost.run(unit)


def update_provider(
    roost: Roost,
    *,
    uuid: str,
    name: str,
    parent_uuid: str | msgspec.UnsetType | None,
    may_reparent: bool,
) -> Provider:
    """Rename a provider and, where a parent is given, move it there (None: make it a root).

    Without `may_reparent` a provider that has a parent must keep it. Generations do not move.
    """

    def unit(tx: Transaction) -> Provider:
        before = tx.providers.find(uuid)
        if before is None:
            raise ProviderNotFound(uuid)
        moved: set[int] = set()
        if parent_uuid is not msgspec.UNSET and parent_uuid != before.parent_uuid:
            moved = _move(tx, before, parent_uuid, may_reparent)
        tx.providers.check_free(name, except_id=before.id)
        tx.providers.rename(before, name)
        after = tx.providers.lock_all([uuid], moved)
        if uuid not in after:
            raise ProviderNotFound(uuid)
        tx.providers.announce_unmoved(after.values())
        return after[uuid].value()

    return roost.run(unit)


def _move(
    tx: Transaction, provider: ProviderRecord, parent_uuid: str | None, may_reparent: bool
) -> set[int]:
    """Move a provider with everything below it; gives back the ids of all that moved."""
    parent = None
    if parent_uuid is not None:
        parent = tx.providers.find(parent_uuid)
        if parent is None:
            raise UnknownParent()
    if provider.parent_id is not None and not may_reparent:
        verb = "un-parenting" if parent is None else "re-parenting"
        raise InvalidParent(f"{verb} a provider is not currently allowed.")
    # From here on no other process can change the shape of these trees. Otherwise two moves
    # that are each harmless could close a loop together.
    tx.trees.guard([provider] if parent is None else [provider, parent])
    moved = tx.trees.subtree_ids(provider)
    if parent is not None and parent.id in moved:
        raise InvalidParent("creating loop in the provider tree is not allowed.")
    tx.trees.move(provider, parent, moved)
    return moved


def delete_provider(roost: Roost, *, uuid: str) -> None:
    """Delete a provider that has neither children nor allocations."""

    def unit(tx: Transaction) -> None:
        provider = tx.providers.lock(uuid)
        tx.providers.check_childless(provider)
        tx.allocations.check_none(provider)
        tx.providers.delete(provider)

    roost.run(unit)


def _provider(index: Index, row: int) -> Provider:
    return Provider(
        uuid=index.uuids[row],
        name=index.names[row],
        generation=int(index.rows.generation[row]),
        parent_uuid=index.parent_uuid(row),
        root_uuid=index.root_uuid(row),
        modified=moment(float(index.rows.modified[row])),
    )
