"""Where a write reads the state that it is judged by: the tables, or a snapshot of the index.

The snapshot saves most of the reads of a write. Deciding from it is safe because the write moves
the generations of the providers it decides on, and only if they are still those of the snapshot:
every writer that adds usage, or changes an inventory or a trait, moves the generation too. A
writer that only gives something back moves none, so the snapshot may show too much usage, never
too little.
"""

import abc
from collections.abc import Collection, Mapping, Sequence

import msgspec

from roost.claims import InventoryState
from roost.errors import ProviderNotFound
from roost.model import ConsumerChange, Value
from roost.search.index.index import Index
from roost.search.index.providers import inventory_of
from roost.store.change_record import ChangeRecord
from roost.store.connection.driver_errors import LostRace
from roost.store.feed.positions import FeedPosition
from roost.store.tables.catalog import is_standard_class, is_standard_trait
from roost.store.tables.consumers import ConsumerRecord
from roost.store.tables.providers import ProviderState
from roost.store.transaction import Transaction
from roost.uuids import consumer_spellings


class SnapshotInsufficient(Exception):
    """The snapshot does not contain what the write must know."""


def check_class_ids(
    class_ids: Mapping[str, int], inventories: Mapping[str, InventoryState]
) -> None:
    """Detect that a class was renamed between the read of inventories and the read of names."""
    for name, each in inventories.items():
        if class_ids.get(name, each.class_id) != each.class_id:
            raise LostRace("a resource class was renamed")


class StateReader(abc.ABC):
    """What a unit of work reads of the state that it is about to change."""

    reads_tables: bool  # whether everything comes from the transaction itself

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def provider(self, uuid: str) -> ProviderState:
        found = self.providers([uuid]).get(uuid)
        if found is None:
            raise ProviderNotFound(uuid)
        return found

    @abc.abstractmethod
    def consumers(self, changes: Sequence[ConsumerChange]) -> Mapping[str, ConsumerRecord]:
        """Those of the changed consumers that exist, by UUID."""

    @abc.abstractmethod
    def providers(
        self, uuids: Collection[str], ids: Collection[int] = ()
    ) -> Mapping[str, ProviderState]:
        """Those of the named providers that exist, by UUID."""

    @abc.abstractmethod
    def inventories(
        self, provider_ids: Collection[int]
    ) -> Mapping[int, Mapping[str, InventoryState]]:
        """The inventories of each provider with their usage, by class in the order of class ids."""

    @abc.abstractmethod
    def class_ids(self, names: Collection[str]) -> Mapping[str, int]:
        """The id of each resource class; refuses unknown ones."""

    @abc.abstractmethod
    def trait_ids(self, names: Collection[str], provider_id: int) -> Mapping[str, int]:
        """The id of each trait that the provider is to have; refuses unknown ones."""

    @abc.abstractmethod
    def traits(self, provider_id: int) -> set[int]:
        """The ids of the traits that a provider has."""


class TableReader(StateReader):
    """Reads the tables. It locks the providers before it reads what they have."""

    reads_tables = True

    def consumers(self, changes: Sequence[ConsumerChange]) -> Mapping[str, ConsumerRecord]:
        spellings = {
            change.consumer_uuid: consumer_spellings(change.sent_as or change.consumer_uuid)
            for change in changes
        }
        return self._tx.consumers.read(spellings) if spellings else {}

    def providers(
        self, uuids: Collection[str], ids: Collection[int] = ()
    ) -> Mapping[str, ProviderState]:
        return self._tx.providers.lock_states(uuids, ids) if uuids or ids else {}

    def inventories(
        self, provider_ids: Collection[int]
    ) -> Mapping[int, Mapping[str, InventoryState]]:
        return self._tx.inventories.states(provider_ids)

    def class_ids(self, names: Collection[str]) -> Mapping[str, int]:
        return self._tx.classes.ids(names)

    def trait_ids(self, names: Collection[str], provider_id: int) -> Mapping[str, int]:
        return self._tx.trait_names.ids(names)

    def traits(self, provider_id: int) -> set[int]:
        return self._tx.traits.of(provider_id)


# ---------------------------------------------------------------------------------------------
# Snapshots of the index


class ProviderSnapshot(Value, frozen=True, kw_only=True):
    """What the index contained of one provider."""

    state: ProviderState
    inventories: Mapping[str, InventoryState]  # by resource class, in the order of class ids
    traits: frozenset[int]


class IndexSnapshot(Value, frozen=True, kw_only=True):
    """What the index contained of the providers of one write, and how old that is."""

    position: FeedPosition
    providers: Mapping[str, ProviderSnapshot]  # by UUID
    class_ids: Mapping[str, int]
    trait_ids: Mapping[str, int]


class Needs(Value, frozen=True, kw_only=True):
    """What a unit of work may read of a provider besides its generation."""

    inventories: bool = False
    traits: bool = False


def take_snapshot(
    index: Index, generations: Mapping[str, int | None], needs: Needs
) -> IndexSnapshot | None:
    """What the index contains of these providers, and nothing of the index itself.

    `generations` are by provider UUID; None for a client that does not name one. The result is None
    where the index lacks a provider, or has another generation: it, or the client, is behind.
    """
    providers = {}
    for uuid, generation in generations.items():
        row = index.row_of_uuid.get(uuid)
        if row is None or generation not in (None, int(index.rows.generation[row])):
            return None
        providers[uuid] = _provider_snapshot(index, row, needs)
    if not providers:
        return None
    return IndexSnapshot(
        position=index.position,
        providers=providers,
        class_ids=index.classes.ids,
        trait_ids=index.traits.ids,
    )


def _provider_snapshot(index: Index, row: int, needs: Needs) -> ProviderSnapshot:
    generation = int(index.rows.generation[row])
    inventories = index.inventories(row) if needs.inventories else ()
    return ProviderSnapshot(
        state=ProviderState(id=index.ids[row], uuid=index.uuids[row], generation=generation),
        inventories={
            index.classes.names[each.class_id]: InventoryState(
                class_id=each.class_id, inventory=inventory_of(each), used=each.used
            )
            for each in inventories
        },
        traits=frozenset(index.row_traits(row) if needs.traits else ()),
    )


class IndexReader(StateReader):
    """Reads a snapshot of the index. The guard on generations detects where it was stale."""

    reads_tables = False
    locks = False  # whether it locks the providers first

    def __init__(self, tx: Transaction, snapshot: IndexSnapshot) -> None:
        super().__init__(tx)
        self._snapshot = snapshot
        self._by_id = {each.state.id: each for each in snapshot.providers.values()}

    def consumers(self, changes: Sequence[ConsumerChange]) -> Mapping[str, ConsumerRecord]:
        if all(map(creates_consumer, changes)):
            # If one exists after all, in any spelling, inserting its row fails.
            return {}
        return TableReader(self._tx).consumers(changes)

    def providers(
        self, uuids: Collection[str], ids: Collection[int] = ()
    ) -> Mapping[str, ProviderState]:
        if ids:
            # Consumers lose everything they hold there, and the index knows no consumers.
            raise SnapshotInsufficient
        known = self._snapshot.providers
        return {uuid: known[uuid].state for uuid in uuids if uuid in known}

    def inventories(
        self, provider_ids: Collection[int]
    ) -> Mapping[int, Mapping[str, InventoryState]]:
        return {id: self._by_id[id].inventories for id in provider_ids}

    def class_ids(self, names: Collection[str]) -> Mapping[str, int]:
        ids = {name: self._snapshot.class_ids.get(name) for name in names}
        # Renaming a custom class moves no generation, so the tables must confirm its name.
        custom = {name for name, id in ids.items() if id is None or not is_standard_class(id)}
        found = self._tx.classes.ids(custom) if custom else {}
        if any(ids[name] != id for name, id in found.items()):
            raise SnapshotInsufficient
        return {**{name: id for name, id in ids.items() if id is not None}, **found}

    def trait_ids(self, names: Collection[str], provider_id: int) -> Mapping[str, int]:
        known, held = self._snapshot.trait_ids, self.traits(provider_id)
        # A database may give the id of a deleted custom trait to a new one. What the provider has
        # cannot be deleted, and the guard on its generation verifies that it has it.
        unsure = {
            name
            for name in names
            if name not in known or not (known[name] in held or is_standard_trait(name))
        }
        found = self._tx.trait_names.ids(unsure) if unsure else {}
        return {name: found[name] if name in unsure else known[name] for name in names}

    def traits(self, provider_id: int) -> set[int]:
        return set(self._by_id[provider_id].traits)


class LockedIndexReader(IndexReader):
    """Locks the providers first, then brings their snapshots up to date.

    While the transaction waited for the locks, other writers changed the providers; now none can.
    The change feed, read in this transaction, says how much usage they added. Reading that costs
    what they wrote. Summing up the allocations of a provider would cost more, the more consumers
    it has, and a contended provider has many.
    """

    locks = True

    def providers(
        self, uuids: Collection[str], ids: Collection[int] = ()
    ) -> Mapping[str, ProviderState]:
        locked = TableReader(self._tx).providers(uuids, ids)
        generations = {each.id: each.generation for each in locked.values()}
        if any(each.state.generation != generations.get(id) for id, each in self._by_id.items()):
            claims = _RecordedClaims(self._tx.records_since(self._snapshot.position))
            self._by_id = {
                id: current
                for id, each in self._by_id.items()
                if (current := claims.advanced(each)).state.generation == generations.get(id)
            }
        return locked

    def inventories(
        self, provider_ids: Collection[int]
    ) -> Mapping[int, Mapping[str, InventoryState]]:
        others = [id for id in provider_ids if id not in self._by_id]
        read = self._tx.inventories.states(others) if others else {}
        return {id: read[id] if id in read else self._by_id[id].inventories for id in provider_ids}

    def traits(self, provider_id: int) -> set[int]:
        if provider_id in self._by_id:
            return super().traits(provider_id)
        return self._tx.traits.of(provider_id)


def creates_consumer(change: ConsumerChange) -> bool:
    """Whether the client says that the consumer does not exist yet, and allocates something.

    In a spelling that inserting its row would not find, the tables have to be asked.
    """
    is_new = change.checks_generation and change.expected_generation is None
    uuid = change.consumer_uuid
    is_found = change.sent_as in ("", uuid, uuid.upper())
    return is_new and is_found and bool(change.allocations)


def advance_snapshots(
    tx: Transaction,
    snapshots: Mapping[str, ProviderSnapshot],
    position: FeedPosition,
    generations: Mapping[int, int],
) -> Mapping[str, ProviderSnapshot]:
    """Snapshots of that position, brought up to date for providers that have these generations now.

    Without those whose changes since then the feed alone does not tell. `generations` are by id, of
    rows that the transaction has locked.
    """
    if all(each.state.generation == generations.get(each.state.id) for each in snapshots.values()):
        return snapshots
    claims = _RecordedClaims(tx.records_since(position))
    advanced = {uuid: claims.advanced(each) for uuid, each in snapshots.items()}
    return {
        uuid: each
        for uuid, each in advanced.items()
        if each.state.generation == generations.get(each.state.id)
    }


class _RecordedClaims:
    """What change records say of claims, by provider."""

    def __init__(self, records: Sequence[ChangeRecord]) -> None:
        self._reread: set[int] = set()  # ids of providers of which more than usage has changed
        self._moves: dict[int, list[int]] = {}  # provider id -> the generations after each claim
        self._added: dict[tuple[int, int], int] = {}  # provider id, class id -> usage
        for record in records:
            self._reread.update(record.providers)
            for id, after in record.generations:
                self._moves.setdefault(id, []).append(after)
            for id, class_id, difference in record.usage:
                self._added[id, class_id] = self._added.get((id, class_id), 0) + difference

    def advanced(self, snapshot: ProviderSnapshot) -> ProviderSnapshot:
        """The snapshot after these claims.

        Each claim moves the generation by one, so a missing record shows as a gap. Then, and where
        a record says that more than usage has changed, the generation stays behind that of the
        locked row, and the provider must be read from the tables.
        """
        provider_id, generation = snapshot.state.id, snapshot.state.generation
        if provider_id in self._reread:
            return snapshot
        for after in sorted(self._moves.get(provider_id, ())):
            if after != generation + 1:
                return snapshot
            generation = after
        added = self._added
        return ProviderSnapshot(
            state=msgspec.structs.replace(snapshot.state, generation=generation),
            inventories={
                name: msgspec.structs.replace(
                    each, used=each.used + added.get((provider_id, each.class_id), 0)
                )
                for name, each in snapshot.inventories.items()
            },
            traits=snapshot.traits,
        )
