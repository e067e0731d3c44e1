"""Allocations: what consumers hold, replaced, deleted and read."""

from collections.abc import Sequence

from roost.claims import check_room
from roost.errors import ConsumerNotFound
from roost.model import ConsumerAllocations, ConsumerChange, ProviderConsumers
from roost.operations.optimistic import Sight, decide
from roost.operations.replacement import (
    check_consumers,
    known_classes,
    moved_providers,
    read_before,
    save_consumers,
)
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.transaction import Transaction


def allocate(roost: Roost, *, changes: Sequence[ConsumerChange]) -> None:
    """Replace what consumers hold: all of them, or none.

    A consumer comes into being with its first allocation and goes with its last. The search
    proposed; here it is decided, on what the transaction itself reads.
    """

    decide(
        roost,
        lambda tx, sight: replace_holdings(tx, sight, changes, roost.settings),
        providers={uuid: None for change in changes for uuid in change.allocations},
        retry_count=roost.settings.allocation_conflict_retry_count,
    )


def replace_holdings(
    tx: Transaction, sight: Sight, changes: Sequence[ConsumerChange], settings: Settings
) -> None:
    """Judge the changes by what is seen, and write them."""
    consumers = sight.consumers(changes)
    check_consumers(consumers, changes)
    before = read_before(sight, changes, consumers)
    class_ids = known_classes(sight, before, changes)
    check_room(before.stocks, before.released, changes, class_ids)
    moved = moved_providers(before, changes)
    tx.providers.advance([(before.providers[uuid], 1) for uuid in moved], modified=False)
    save_consumers(tx, before, changes, class_ids, settings)


def delete_allocations(roost: Roost, *, consumer_uuid: str) -> None:
    """Take away everything that a consumer holds.

    Generations of providers stay: less use needs no guard against anybody.
    """

    def unit(tx: Transaction) -> None:
        consumer, providers = tx.consumers.read_with_providers(consumer_uuid)
        if consumer is None or not consumer.holdings:
            raise ConsumerNotFound(consumer_uuid)
        tx.consumers.delete([consumer])
        tx.allocations.replace(consumer.holdings, [])
        tx.providers.announce_unmoved(providers)

    roost.run(unit, retry_count=roost.settings.allocation_conflict_retry_count)


def read_consumer(roost: Roost, *, consumer_uuid: str) -> ConsumerAllocations | None:
    """What one consumer holds, or None where it holds nothing."""
    return roost.store.reads.consumer(consumer_uuid)


def read_provider_consumers(roost: Roost, *, provider_uuid: str) -> ProviderConsumers:
    """Who holds what of one provider."""
    return roost.store.reads.provider_consumers(provider_uuid)
