"""Allocations: what consumers hold, replaced, deleted and read."""

from collections.abc import Sequence

from roost.claims import check_capacity
from roost.errors import ConsumerNotFound
from roost.model import ConsumerAllocations, ConsumerChange, ProviderConsumers
from roost.operations.optimistic import write
from roost.operations.replacement import (
    check_consumer_generations,
    find_class_ids,
    providers_to_advance,
    read_current,
    save_consumers,
)
from roost.operations.state_readers import StateReader
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.transaction import Transaction


def replace_allocations(roost: Roost, *, changes: Sequence[ConsumerChange]) -> None:
    """Replace what consumers hold: all of them, or none.

    The first allocation of a consumer creates it, and the last one that goes deletes it.
    """
    write(
        roost,
        lambda tx, state: claim(tx, state, changes, roost.settings),
        providers={uuid: None for change in changes for uuid in change.allocations},
        retry_count=roost.settings.allocation_conflict_retry_count,
    )


def claim(
    tx: Transaction, state: StateReader, changes: Sequence[ConsumerChange], settings: Settings
) -> None:
    """Read the state, judge the changes by it, and write them: guards first."""
    consumers = state.consumers(changes)
    check_consumer_generations(consumers, changes)
    current = read_current(state, changes, consumers)
    class_ids = find_class_ids(state, current, changes)
    check_capacity(current.inventories, current.released, changes, class_ids)
    advanced = providers_to_advance(current, changes)
    tx.providers.advance([(current.providers[uuid], 1) for uuid in advanced], modified=False)
    save_consumers(tx, current, changes, class_ids, settings)


def delete_allocations(roost: Roost, *, consumer_uuid: str) -> None:
    """Delete everything that a consumer holds.

    Generations of providers stay: a write that only lowers usage can break no other.
    """

    def unit(tx: Transaction) -> None:
        consumer, providers = tx.consumers.read_with_providers(consumer_uuid)
        if consumer is None or not consumer.holdings:
            raise ConsumerNotFound(consumer_uuid)
        tx.consumers.delete([consumer])
        tx.allocations.replace(consumer.holdings, [])
        tx.providers.announce_unmoved(providers)

    roost.run(unit, retry_count=roost.settings.allocation_conflict_retry_count)


# The index knows how much is used, not by whom. So these read the tables.


def read_consumer(roost: Roost, *, consumer_uuid: str) -> ConsumerAllocations | None:
    """What one consumer holds; None if it holds nothing."""
    return roost.store.reads.consumer(consumer_uuid)


def read_provider_consumers(roost: Roost, *, provider_uuid: str) -> ProviderConsumers:
    """Which consumers hold what of one provider."""
    return roost.store.reads.provider_consumers(provider_uuid)
