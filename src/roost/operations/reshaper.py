"""POST /reshaper: inventories and allocations move together."""

from collections.abc import Mapping, Sequence

import msgspec

from roost.claims import Amounts, InventoryState, check_room, check_unused, wanted
from roost.errors import ProviderNotFound
from roost.model import ConsumerChange, Inventory, InventoryChange
from roost.operations.optimistic import TableSight
from roost.operations.replacement import (
    Before,
    check_consumers,
    known_classes,
    moved_providers,
    read_before,
    save_consumers,
)
from roost.service.service import Roost
from roost.store.transaction import Transaction


def reshape(
    roost: Roost, *, inventories: Sequence[InventoryChange], consumers: Sequence[ConsumerChange]
) -> None:
    """Replace the inventories of providers and what consumers hold, seen whole or not at all.

    Allocations are judged by the new inventories. A class that is taken away must be free of
    allocations afterwards, not before.
    """

    def unit(tx: Transaction) -> None:
        sight = TableSight(tx)
        existing = sight.consumers(consumers)
        before = read_before(
            sight, consumers, existing, [change.provider_uuid for change in inventories]
        )
        _check_providers(before, inventories)
        check_consumers(existing, consumers)
        names = {name for change in inventories for name in change.inventories}
        class_ids = tx.classes.ids(names)
        new = {
            change.provider_uuid: {
                name: tx.inventories.as_stored(each) for name, each in change.inventories.items()
            }
            for change in inventories
        }
        between = _with_new(before, new, class_ids)
        class_ids = {**class_ids, **known_classes(sight, between, consumers)}
        check_room(between.stocks, before.released, consumers, class_ids)
        _check_unused(between, before.released, consumers, new)
        _advance(tx, before, consumers, new)
        _save_inventories(tx, before, new, class_ids)
        save_consumers(tx, before, consumers, class_ids, roost.settings)

    roost.run(unit, retry_count=roost.settings.allocation_conflict_retry_count)


def _check_providers(before: Before, inventories: Sequence[InventoryChange]) -> None:
    for change in inventories:
        if change.provider_uuid not in before.providers:
            raise ProviderNotFound(change.provider_uuid)
    for change in inventories:
        before.providers[change.provider_uuid].check_generation(change.expected_generation)


def _with_new(
    before: Before, new: Mapping[str, Mapping[str, Inventory]], class_ids: Mapping[str, int]
) -> Before:
    """The old inventories with the new ones in their place: what moves are judged by."""
    stocks = {uuid: dict(by_class) for uuid, by_class in before.stocks.items()}
    for uuid, by_class in new.items():
        for name, inventory in by_class.items():
            old = stocks[uuid].get(name)
            stocks[uuid][name] = InventoryState(
                class_id=class_ids[name], inventory=inventory, used=old.used if old else 0
            )
    return msgspec.structs.replace(before, stocks=stocks)


def _check_unused(
    between: Before,
    released: Amounts,
    consumers: Sequence[ConsumerChange],
    new: Mapping[str, Mapping[str, Inventory]],
) -> None:
    total = wanted(consumers)
    for uuid, by_class in new.items():
        after = {
            name: msgspec.structs.replace(
                stock,
                used=stock.used - released.get((uuid, name), 0) + total.get((uuid, name), 0),
            )
            for name, stock in between.stocks[uuid].items()
        }
        check_unused(uuid, after, after.keys() - by_class.keys())


def _advance(
    tx: Transaction,
    before: Before,
    consumers: Sequence[ConsumerChange],
    new: Mapping[str, Mapping[str, Inventory]],
) -> None:
    """Move generations as far as existing clients know it: one step for the final inventories,
    one for adding new ones, one for allocations."""
    moved = moved_providers(before, consumers)
    tx.providers.advance(
        (before.providers[uuid], 1 + bool(by_class) + (uuid in moved))
        for uuid, by_class in new.items()
    )
    tx.providers.advance(
        [(before.providers[uuid], 1) for uuid in moved - new.keys()], modified=False
    )


def _save_inventories(
    tx: Transaction,
    before: Before,
    new: Mapping[str, Mapping[str, Inventory]],
    class_ids: Mapping[str, int],
) -> None:
    added = {
        name for uuid, by_class in new.items() for name in by_class.keys() - before.stocks[uuid]
    }
    tx.classes.hold({name: class_ids[name] for name in added})
    tx.inventories.clear([before.providers[uuid].id for uuid in new])
    tx.inventories.insert(
        {
            before.providers[uuid].id: {class_ids[name]: each for name, each in by_class.items()}
            for uuid, by_class in new.items()
        }
    )
