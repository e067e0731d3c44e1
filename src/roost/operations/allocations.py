"""Allocations: what consumers hold, replaced, deleted and read."""

from collections.abc import Iterable, Mapping, Sequence

from roost.claims import (
    InventoryState,
    check_capacity,
    check_consumer_generation,
    requested_classes,
)
from roost.errors import ConsumerNotFound, UnknownProvider
from roost.model import ConsumerAllocations, ConsumerChange, ProviderConsumers, Value
from roost.operations.claiming.claim import Outcome, claim_new
from roost.operations.optimistic import write, write_from_tables
from roost.operations.state_readers import StateReader, check_class_ids
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.connection.driver_errors import LostRace
from roost.store.tables.allocations import NewHolding
from roost.store.tables.consumers import ConsumerRecord, ConsumerRow, Holding
from roost.store.tables.providers import ProviderState
from roost.store.transaction import Transaction
from roost.uuids import consumer_spellings


def replace_allocations(roost: Roost, *, changes: Sequence[ConsumerChange]) -> None:
    """Replace what consumers hold: all of them, or none.

    The first allocation of a consumer creates it, and the last one that goes deletes it.
    """
    check_holds(roost, changes)
    outcome = claim_new(roost, changes)
    if outcome is Outcome.WRITTEN:
        return

    def unit(tx: Transaction, state: StateReader) -> None:
        claim(tx, state, changes, roost)

    retry_count = roost.settings.allocation_conflict_retry_count
    if outcome is Outcome.LEFT_OUT:
        providers = {uuid: None for change in changes for uuid in change.allocations}
        write(roost, unit, providers=providers, retry_count=retry_count)
    else:
        # It does not fit by the index. It is for the tables to refuse it.
        write_from_tables(roost, unit, retry_count=retry_count)


def check_holds(roost: Roost, changes: Sequence[ConsumerChange]) -> None:
    """Raise `TreeHeld` if one of these changes has to wait; before it takes a transaction."""
    roost.notice_holds()
    roost.holds.check(uuid for change in changes for uuid in change.allocations)


def claim(
    tx: Transaction, state: StateReader, changes: Sequence[ConsumerChange], roost: Roost
) -> None:
    """Read the state, judge the changes by it, and write them: guards first."""
    consumers = state.consumers(changes)
    check_consumer_generations(consumers, changes)
    current = read_current(state, changes, consumers)
    class_ids = find_class_ids(state, current, changes)
    check_capacity(current.inventories, current.released, changes, class_ids)
    # As late as possible: it may have waited for the locks of its providers. What consumers give
    # back counts as well, since a reshape names their generations.
    roost.holds.check(
        uuids=(uuid for change in changes for uuid in change.allocations),
        ids=(held.provider_id for held in current.holdings),
    )
    advanced = providers_to_advance(current, changes)
    tx.providers.advance([(current.providers[uuid], 1) for uuid in advanced], modified=False)
    save_consumers(tx, current, changes, class_ids, roost.settings)


def delete_allocations(roost: Roost, *, consumer_uuid: str) -> None:
    """Delete everything that a consumer holds.

    Generations of providers stay: a write that only lowers usage can break no other.
    """

    def unit(tx: Transaction) -> None:
        consumer, providers = tx.consumers.read_with_providers(consumer_spellings(consumer_uuid))
        if consumer is None or not consumer.holdings:
            raise ConsumerNotFound(consumer_uuid)
        roost.holds.check(ids=(held.provider_id for held in consumer.holdings))
        tx.consumers.delete([consumer])
        tx.allocations.replace(consumer.holdings, [])
        tx.providers.announce_unmoved(providers)

    roost.notice_holds()
    roost.run(unit, retry_count=roost.settings.allocation_conflict_retry_count)


# The index knows how much is used, not by whom. So these read the tables.


def read_consumer(roost: Roost, *, consumer_uuid: str) -> ConsumerAllocations | None:
    """What one consumer holds; None if it holds nothing."""
    return roost.store.reads.consumer(consumer_spellings(consumer_uuid))


def read_provider_consumers(roost: Roost, *, provider_uuid: str) -> ProviderConsumers:
    """Which consumers hold what of one provider."""
    return roost.store.reads.provider_consumers(provider_uuid)


# ---------------------------------------------------------------------------------------------
# The steps of a replacement, which claims and reshapes share


class CurrentState(Value, frozen=True, kw_only=True):
    """The state that a replacement is judged by."""

    consumers: Mapping[str, ConsumerRecord]  # those that exist, by UUID
    providers: Mapping[str, ProviderState]  # those that exist, by UUID
    inventories: Mapping[str, Mapping[str, InventoryState]]  # by provider UUID and class

    @property
    def holdings(self) -> list[Holding]:
        return [held for consumer in self.consumers.values() for held in consumer.holdings]

    @property
    def released(self) -> dict[tuple[str, str], int]:
        """What the consumers give back, by provider UUID and class."""
        uuids = {provider.id: provider.uuid for provider in self.providers.values()}
        names = {
            each.class_id: name
            for by_class in self.inventories.values()
            for name, each in by_class.items()
        }
        amounts: dict[tuple[str, str], int] = {}
        for held in self.holdings:
            if held.provider_id in uuids and held.class_id in names:
                key = uuids[held.provider_id], names[held.class_id]
                amounts[key] = amounts.get(key, 0) + held.used
        return amounts


def check_consumer_generations(
    consumers: Mapping[str, ConsumerRecord], changes: Sequence[ConsumerChange]
) -> None:
    """Refuse clients that saw other generations of the consumers."""
    for change in changes:
        current = consumers.get(change.consumer_uuid)
        # Placement leaves records of consumers that hold nothing. To clients they do not exist.
        generation = current.generation if current is not None and current.holdings else None
        check_consumer_generation(change, generation)


def read_current(
    state: StateReader,
    changes: Sequence[ConsumerChange],
    consumers: Mapping[str, ConsumerRecord],
    provider_uuids: Iterable[str] = (),
) -> CurrentState:
    """Everything that the decision needs. Providers are locked before their usage is read."""
    named = {uuid for change in changes for uuid in change.allocations}
    emptied = {
        held.provider_id
        for change in changes
        if not change.allocations and change.consumer_uuid in consumers
        for held in consumers[change.consumer_uuid].holdings
    }
    uuids = named.union(provider_uuids)
    providers = state.providers(uuids, emptied)
    if not emptied.issubset(provider.id for provider in providers.values()):
        # Its allocations were released, and then the provider was deleted, since the read.
        raise LostRace("a provider was deleted")
    for change in changes:
        for uuid in change.allocations:
            if uuid not in providers:
                raise UnknownProvider(uuid)
    named_providers = {uuid: providers[uuid] for uuid in uuids if uuid in providers}
    inventories = state.inventories([provider.id for provider in named_providers.values()])
    return CurrentState(
        consumers=consumers,
        providers=providers,
        inventories={uuid: inventories[provider.id] for uuid, provider in named_providers.items()},
    )


def find_class_ids(
    state: StateReader, current: CurrentState, changes: Sequence[ConsumerChange]
) -> Mapping[str, int]:
    """The ids of all requested classes; refuses unknown ones."""
    if not state.reads_tables:
        found = state.class_ids(requested_classes(changes))
        for inventories in current.inventories.values():
            check_class_ids(found, inventories)
        return found
    ids = {
        name: each.class_id
        for by_class in current.inventories.values()
        for name, each in by_class.items()
    }
    missing = requested_classes(changes) - ids.keys()
    # The inventories carry the names, so only a request that is refused costs another read.
    return {**ids, **state.class_ids(missing)} if missing else ids


def providers_to_advance(current: CurrentState, changes: Sequence[ConsumerChange]) -> set[str]:
    """The UUIDs of providers whose generation moves, as existing clients expect it.

    Those that are allocated from, and those of a consumer that is left with nothing. A provider
    that a consumer leaves for another keeps its generation.
    """
    moved = {uuid for change in changes for uuid in change.allocations}
    uuids = {provider.id: provider.uuid for provider in current.providers.values()}
    for change in changes:
        consumer = current.consumers.get(change.consumer_uuid)
        if consumer is not None and not change.allocations:
            moved.update(uuids[held.provider_id] for held in consumer.holdings)
    return moved


def save_consumers(
    tx: Transaction,
    current: CurrentState,
    changes: Sequence[ConsumerChange],
    class_ids: Mapping[str, int],
    settings: Settings,
) -> None:
    """Write consumers, guarded by their generations, and then what they hold."""
    kept = [change for change in changes if change.allocations]
    if kept:
        rows = _rows(tx, current, kept, settings)
        tx.consumers.update(
            [
                (current.consumers[uuid], row)
                for uuid, row in rows.items()
                if uuid in current.consumers
            ]
        )
        tx.consumers.insert(row for uuid, row in rows.items() if uuid not in current.consumers)
    tx.consumers.delete(
        [
            current.consumers[change.consumer_uuid]
            for change in changes
            if not change.allocations and change.consumer_uuid in current.consumers
        ]
    )
    tx.allocations.replace(
        current.holdings,
        [
            NewHolding(
                consumer_uuid=_stored_uuid(current, change),
                provider_id=current.providers[provider_uuid].id,
                class_id=class_ids[name],
                used=amount,
            )
            for change in kept
            for provider_uuid, resources in change.allocations.items()
            for name, amount in resources.items()
        ],
    )


def _stored_uuid(current: CurrentState, change: ConsumerChange) -> str:
    consumer = current.consumers.get(change.consumer_uuid)
    return consumer.uuid if consumer is not None else change.consumer_uuid


def _rows(
    tx: Transaction, current: CurrentState, changes: Sequence[ConsumerChange], settings: Settings
) -> dict[str, ConsumerRow]:
    """The new rows of consumers, by UUID."""
    projects = {
        change.consumer_uuid: _or_default(
            change.project_id, settings.incomplete_consumer_project_id
        )
        for change in changes
    }
    users = {
        change.consumer_uuid: _or_default(change.user_id, settings.incomplete_consumer_user_id)
        for change in changes
    }
    types = {change.consumer_type for change in changes if change.consumer_type is not None}
    ids = tx.consumers.references(
        projects=set(projects.values()), users=set(users.values()), types=types
    )
    return {
        change.consumer_uuid: ConsumerRow(
            uuid=change.consumer_uuid,
            project_id=ids.projects[projects[change.consumer_uuid]],
            user_id=ids.users[users[change.consumer_uuid]],
            type_id=_type_id(ids.types, change, current.consumers.get(change.consumer_uuid)),
        )
        for change in changes
    }


def _or_default(name: str | None, default: str) -> str:
    return default if name is None else name


def _type_id(
    ids: Mapping[str, int], change: ConsumerChange, old: ConsumerRecord | None
) -> int | None:
    """Clients before 1.38 know no types; the consumer keeps the one it has."""
    if change.consumer_type is not None:
        return ids[change.consumer_type]
    return old.type_id if old is not None else None
