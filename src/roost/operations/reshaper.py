"""The reshaper: inventories and allocations are replaced together."""

from collections.abc import Mapping, Sequence

import msgspec

from roost.claims import (
    Amounts,
    InventoryState,
    check_capacity,
    check_not_in_use,
    requested_amounts,
)
from roost.errors import ProviderNotFound
from roost.model import ConsumerChange, Inventory, InventoryChange
from roost.operations.allocations import (
    CurrentState,
    check_consumer_generations,
    find_class_ids,
    providers_to_advance,
    read_current,
    save_consumers,
)
from roost.operations.state_readers import TableReader, check_class_ids
from roost.service.service import Roost
from roost.store.transaction import Transaction


def reshape(
    roost: Roost, *, inventories: Sequence[InventoryChange], consumers: Sequence[ConsumerChange]
) -> None:
    """Replace the inventories of providers and what consumers hold, in one transaction.

    Allocations are judged by the new inventories. An inventory that is deleted must have no
    allocations afterwards; it may have some before.
    """

    def unit(tx: Transaction) -> None:
        state = TableReader(tx)
        existing = state.consumers(consumers)
        before = read_current(
            state, consumers, existing, [change.provider_uuid for change in inventories]
        )
        _check_providers(before, inventories)
        check_consumer_generations(existing, consumers)
        names = {name for change in inventories for name in change.inventories}
        class_ids = tx.classes.ids(names)
        for each in before.inventories.values():
            check_class_ids(class_ids, each)
        new = {
            change.provider_uuid: {
                name: tx.inventories.as_stored(each) for name, each in change.inventories.items()
            }
            for change in inventories
        }
        merged = _with_new_inventories(before, new, class_ids)
        class_ids = {**class_ids, **find_class_ids(state, merged, consumers)}
        check_capacity(merged.inventories, before.released, consumers, class_ids)
        _check_not_in_use(merged, before.released, consumers, new)
        _advance(tx, before, consumers, new)
        _save_inventories(tx, before, new, class_ids)
        save_consumers(tx, before, consumers, class_ids, roost.settings)
        # Claims that wait for this reshape go on once they can see it.
        tx.changes.end_holds(hold.id for hold in roost.holds.of(touched))

    roost.notice_holds()
    touched = {change.provider_uuid for change in inventories}
    touched.update(uuid for change in consumers for uuid in change.allocations)
    roost.run(unit, retry_count=roost.settings.allocation_conflict_retry_count)


def _check_providers(before: CurrentState, inventories: Sequence[InventoryChange]) -> None:
    for change in inventories:
        if change.provider_uuid not in before.providers:
            raise ProviderNotFound(change.provider_uuid)
    for change in inventories:
        before.providers[change.provider_uuid].check_generation(change.expected_generation)


def _with_new_inventories(
    before: CurrentState, new: Mapping[str, Mapping[str, Inventory]], class_ids: Mapping[str, int]
) -> CurrentState:
    """The state that allocations are judged by: new inventories replace old ones of their class."""
    merged = {uuid: dict(by_class) for uuid, by_class in before.inventories.items()}
    for uuid, by_class in new.items():
        for name, inventory in by_class.items():
            old = merged[uuid].get(name)
            merged[uuid][name] = InventoryState(
                class_id=class_ids[name], inventory=inventory, used=old.used if old else 0
            )
    return msgspec.structs.replace(before, inventories=merged)


def _check_not_in_use(
    merged: CurrentState,
    released: Amounts,
    consumers: Sequence[ConsumerChange],
    new: Mapping[str, Mapping[str, Inventory]],
) -> None:
    total = requested_amounts(consumers)
    for uuid, by_class in new.items():
        after = {
            name: msgspec.structs.replace(
                each,
                used=each.used - released.get((uuid, name), 0) + total.get((uuid, name), 0),
            )
            for name, each in merged.inventories[uuid].items()
        }
        check_not_in_use(uuid, after, after.keys() - by_class.keys())


def _advance(
    tx: Transaction,
    before: CurrentState,
    consumers: Sequence[ConsumerChange],
    new: Mapping[str, Mapping[str, Inventory]],
) -> None:
    """Move generations by as much as existing clients expect.

    One step for the final inventories, one for adding new ones, one for allocations.
    """
    moved = providers_to_advance(before, consumers)
    tx.providers.advance(
        (before.providers[uuid], 1 + bool(by_class) + (uuid in moved))
        for uuid, by_class in new.items()
    )
    tx.providers.advance(
        [(before.providers[uuid], 1) for uuid in moved - new.keys()], modified=False
    )


def _save_inventories(
    tx: Transaction,
    before: CurrentState,
    new: Mapping[str, Mapping[str, Inventory]],
    class_ids: Mapping[str, int],
) -> None:
    added = {
        name
        for uuid, by_class in new.items()
        for name in by_class.keys() - before.inventories[uuid]
    }
    tx.classes.guard({name: class_ids[name] for name in added})
    tx.inventories.clear([before.providers[uuid].id for uuid in new])
    tx.inventories.insert(
        {
            before.providers[uuid].id: {class_ids[name]: each for name, each in by_class.items()}
            for uuid, by_class in new.items()
        }
    )
