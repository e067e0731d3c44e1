"""PUT /allocations/{consumer} and POST /allocations"""

from collections.abc import Sequence

from roost.claims import check_room
from roost.model import ConsumerChange
from roost.operations.replacement import (
    check_consumers,
    known_classes,
    moved_providers,
    read_before,
    save_consumers,
)
from roost.operations.sight import Sight, decide
from roost.service import Roost
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
