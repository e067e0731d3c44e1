"""What a decision is based on: the tables, or what the index remembers of them.

The index proposes; the transaction decides. A write first takes the providers it concerns for
what the index says they are, which saves most of its reads. That is safe because the write moves
their generations, if they still are the ones it saw: whoever adds to what is used, or changes an
inventory or a trait, moves the generation too. Less use alone moves none, so the index may show
too much in use, never too little.

Who loses such a race runs again at once, and then locks the providers before it looks; so does,
for a while, everybody else who wants one of them. What the index speaks against is not refused
on its word: then too the write runs again, on nothing but what its transaction reads.
"""

import abc
import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from roost.claims import InventoryState
from roost.errors import ProviderNotFound, RoostError
from roost.model import ConsumerChange, Value
from roost.search.index.index import Index
from roost.search.index.providers import inventory_of
from roost.service.service import Roost
from roost.store.connection.driver_errors import RETRYABLE, LostRace, RetryAtOnce
from roost.store.store import RETRY_COUNT_DEFAULT
from roost.store.tables.catalog import is_standard_class, is_standard_trait
from roost.store.tables.consumers import ConsumerRecord
from roost.store.tables.providers import ProviderState
from roost.store.transaction import Transaction

Result = TypeVar("Result")


class Sight(abc.ABC):
    """What a unit of work sees of the world that it is about to change."""

    certain: bool  # whether all that is seen was read in the transaction

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def provider(self, uuid: str) -> ProviderState:
        found = self.providers([uuid]).get(uuid)
        if found is None:
            raise ProviderNotFound(uuid)
        return found

    @abc.abstractmethod
    def consumers(self, changes: Sequence[ConsumerChange]) -> Mapping[str, ConsumerRecord]:
        """The consumers that are to be changed, those that exist."""

    @abc.abstractmethod
    def providers(
        self, uuids: Collection[str], ids: Collection[int] = ()
    ) -> Mapping[str, ProviderState]:
        """Those of the named providers that exist, by UUID."""

    @abc.abstractmethod
    def stocks(self, provider_ids: Collection[int]) -> Mapping[int, Mapping[str, InventoryState]]:
        """What each provider has, by resource class in the order of class ids, and its use."""

    @abc.abstractmethod
    def class_ids(self, names: Collection[str]) -> Mapping[str, int]:
        """The id of each resource class; refuses unknown ones."""

    @abc.abstractmethod
    def trait_ids(self, names: Collection[str]) -> Mapping[str, int]:
        """The id of each trait; refuses unknown ones."""

    @abc.abstractmethod
    def traits(self, provider_id: int) -> set[int]:
        """The ids of the traits that a provider has."""


class TableSight(Sight):
    """What the transaction itself reads, from providers that it locks."""

    certain = True

    def consumers(self, changes: Sequence[ConsumerChange]) -> Mapping[str, ConsumerRecord]:
        uuids = [change.consumer_uuid for change in changes]
        return self._tx.consumers.read(uuids) if uuids else {}

    def providers(
        self, uuids: Collection[str], ids: Collection[int] = ()
    ) -> Mapping[str, ProviderState]:
        return self._tx.providers.lock_states(uuids, ids) if uuids or ids else {}

    def stocks(self, provider_ids: Collection[int]) -> Mapping[int, Mapping[str, InventoryState]]:
        return self._tx.inventories.states(provider_ids)

    def class_ids(self, names: Collection[str]) -> Mapping[str, int]:
        return self._tx.classes.ids(names)

    def trait_ids(self, names: Collection[str]) -> Mapping[str, int]:
        return self._tx.trait_names.ids(names)

    def traits(self, provider_id: int) -> set[int]:
        return self._tx.traits.of(provider_id)


class Remembered(Value, frozen=True, kw_only=True):
    """What the index says of one provider."""

    state: ProviderState
    stocks: Mapping[str, InventoryState]
    traits: frozenset[int]


class Memory(Value, frozen=True, kw_only=True):
    """What the index says."""

    providers: Mapping[str, Remembered]
    class_ids: Mapping[str, int]
    trait_ids: Mapping[str, int]


class IndexSight(Sight):
    """What the index remembered when the unit of work began."""

    certain = False

    def __init__(self, tx: Transaction, memory: Memory) -> None:
        super().__init__(tx)
        self._memory = memory
        self._by_id = {each.state.id: each for each in memory.providers.values()}

    def consumers(self, changes: Sequence[ConsumerChange]) -> Mapping[str, ConsumerRecord]:
        if all(map(_makes_new, changes)):
            # To add the row of one that is there already fails.
            return {}
        return TableSight(self._tx).consumers(changes)

    def providers(
        self, uuids: Collection[str], ids: Collection[int] = ()
    ) -> Mapping[str, ProviderState]:
        if ids:
            # Of consumers that are left with nothing, which nobody remembers.
            raise LostRace("the index knows nothing of consumers")
        known = self._memory.providers
        return {uuid: known[uuid].state for uuid in uuids if uuid in known}

    def stocks(self, provider_ids: Collection[int]) -> Mapping[int, Mapping[str, InventoryState]]:
        return {id: self._by_id[id].stocks for id in provider_ids}

    def class_ids(self, names: Collection[str]) -> Mapping[str, int]:
        ids = {name: self._memory.class_ids.get(name) for name in names}
        # Custom classes can be renamed without moving any generation.
        custom = {name for name, id in ids.items() if id is None or not is_standard_class(id)}
        found = self._tx.classes.ids(custom) if custom else {}
        if any(ids[name] != id for name, id in found.items()):
            raise LostRace("the index knows resource classes by other names")
        return {**{name: id for name, id in ids.items() if id is not None}, **found}

    def trait_ids(self, names: Collection[str]) -> Mapping[str, int]:
        known = self._memory.trait_ids
        # The id of a custom trait that was deleted may be given away again.
        custom = {name for name in names if not is_standard_trait(name) or name not in known}
        found = self._tx.trait_names.ids(custom) if custom else {}
        return {name: found[name] if name in custom else known[name] for name in names}

    def traits(self, provider_id: int) -> set[int]:
        return set(self._by_id[provider_id].traits)


class LockingSight(IndexSight):
    """The same, where others want the same providers: these are locked first.

    What the index remembers of a provider then counts if its generation is the one it has. If it
    is not, the index catches up: nobody can write the provider any more, and to add up what is
    used of it would take the longer, the more it is wanted.
    """

    def __init__(
        self, tx: Transaction, memory: Memory, recall: Callable[[], Memory | None]
    ) -> None:
        super().__init__(tx, memory)
        self._recall = recall

    def providers(
        self, uuids: Collection[str], ids: Collection[int] = ()
    ) -> Mapping[str, ProviderState]:
        found = TableSight(self._tx).providers(uuids, ids)
        generations = {each.id: each.generation for each in found.values()}
        self._forget_all_but(generations)
        if len(self._by_id) < len(self._memory.providers):
            recalled = self._recall()
            if recalled is not None:
                self._by_id = {each.state.id: each for each in recalled.providers.values()}
                self._forget_all_but(generations)
        return found

    def _forget_all_but(self, generations: Mapping[int, int]) -> None:
        self._by_id = {
            id: each
            for id, each in self._by_id.items()
            if each.state.generation == generations.get(id)
        }

    def stocks(self, provider_ids: Collection[int]) -> Mapping[int, Mapping[str, InventoryState]]:
        others = [id for id in provider_ids if id not in self._by_id]
        read = self._tx.inventories.states(others) if others else {}
        return {id: read[id] if id in read else self._by_id[id].stocks for id in provider_ids}

    def traits(self, provider_id: int) -> set[int]:
        if provider_id in self._by_id:
            return super().traits(provider_id)
        return self._tx.traits.of(provider_id)


def decide(
    roost: Roost,
    unit: Callable[[Transaction, Sight], Result],
    *,
    providers: Mapping[str, int | None],
    retry_count: int = RETRY_COUNT_DEFAULT,
) -> Result:
    """Run a unit of work: on what the index says of these providers, or else on the tables.

    `providers` are UUIDs, with the generation that the writer saw, or None if it does not say.
    The unit moves the generation of every provider that it decides on.
    """
    with roost.queue(providers):
        return _decide(roost, unit, providers, retry_count)


def _decide(
    roost: Roost,
    unit: Callable[[Transaction, Sight], Result],
    providers: Mapping[str, int | None],
    retry_count: int,
) -> Result:
    sights: list[Callable[[Transaction], Sight]] = [TableSight]
    memory = _propose(roost, providers)
    if memory is not None:
        recall = functools.partial(_recall, roost, providers)
        sights.append(functools.partial(LockingSight, memory=memory, recall=recall))
        if not roost.contended(providers):
            sights.append(functools.partial(IndexSight, memory=memory))

    def attempt(tx: Transaction) -> Result:
        # The last one, on the tables alone, is the one that counts, however often it takes.
        sight = (sights.pop() if len(sights) > 1 else sights[0])(tx)
        try:
            result = unit(tx, sight)
            # What was decided is sent here, where a lost race is still known as one.
            tx.flush()
            return result
        except RoostError as error:
            if sight.certain:
                raise
            del sights[1:]
            raise RetryAtOnce(f"the index spoke against it: {error}") from error
        except RETRYABLE as error:
            if len(sights) == 1:
                raise
            roost.contend(providers)
            raise RetryAtOnce(f"the index proposed what is not so: {error}") from error

    return roost.run(attempt, retry_count=retry_count)


def _makes_new(change: ConsumerChange) -> bool:
    """Whether the writer says that the consumer does not exist yet, and gives it something."""
    is_new = change.checks_generation and change.expected_generation is None
    return is_new and bool(change.allocations)


def _propose(roost: Roost, generations: Mapping[str, int | None]) -> Memory | None:
    """What the index knows of these providers; None where it does not know enough."""
    # A writer that saw the very generation that the index has tells that the index is right.
    if None not in generations.values():
        memory = _memory(roost, generations, lately=False)
        if memory is not None:
            return memory
    return _memory(roost, generations, lately=True)


def _recall(roost: Roost, uuids: Iterable[str]) -> Memory | None:
    """What the index knows of these providers by now."""
    with roost.view() as index:
        return _remember_all(index, dict.fromkeys(uuids))


def _memory(roost: Roost, generations: Mapping[str, int | None], *, lately: bool) -> Memory | None:
    with roost.glance(lately=lately) as index:
        return None if index is None else _remember_all(index, generations)


def _remember_all(index: Index, generations: Mapping[str, int | None]) -> Memory | None:
    providers = {}
    for uuid, generation in generations.items():
        row = index.row_of_uuid.get(uuid)
        if row is None or generation not in (None, int(index.rows.generation[row])):
            return None
        providers[uuid] = _remembered(index, row)
    if not providers:
        return None
    return Memory(providers=providers, class_ids=index.classes.ids, trait_ids=index.traits.ids)


def _remembered(index: Index, row: int) -> Remembered:
    generation = int(index.rows.generation[row])
    return Remembered(
        state=ProviderState(id=index.ids[row], uuid=index.uuids[row], generation=generation),
        stocks={
            index.classes.names[stock.class_id]: InventoryState(
                class_id=stock.class_id, inventory=inventory_of(stock), used=stock.used
            )
            for stock in index.inventories(row)
        },
        traits=frozenset(index.row_traits(row)),
    )
