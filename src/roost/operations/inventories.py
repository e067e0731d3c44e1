"""Inventories: what a provider has, replaced as a whole or one class at a time."""

import logging
from collections.abc import Mapping

from roost.claims import InventoryState, check_not_in_use
from roost.errors import InventoryExists, InventoryNotFound, ResourceClassNotFound
from roost.model import (
    Inventory,
    InventoryChange,
    ProviderInventories,
)
from roost.operations.optimistic import write
from roost.operations.state_readers import Needs, StateReader, check_class_ids
from roost.search.index.providers import inventory_of, moment
from roost.service.service import Roost
from roost.store.transaction import Transaction

LOG = logging.getLogger(__name__)


def read_inventories(roost: Roost, *, provider_uuid: str) -> ProviderInventories:
    index = roost.current_index()
    row = index.row(provider_uuid)
    found = index.inventories(row)
    return ProviderInventories(
        generation=int(index.rows.generation[row]),
        inventories={index.classes.names[each.class_id]: inventory_of(each) for each in found},
        modified=moment(max(each.modified for each in found)) if found else None,
    )


def replace_inventories(roost: Roost, *, change: InventoryChange) -> ProviderInventories:
    """Replace all inventories of a provider."""

    def unit(tx: Transaction, state: StateReader) -> ProviderInventories:
        provider = state.provider(change.provider_uuid)
        provider.check_generation(change.expected_generation)
        before = state.inventories([provider.id])[provider.id]
        class_ids = state.class_ids(change.inventories)
        check_class_ids(class_ids, before)
        removed = before.keys() - change.inventories.keys()
        check_not_in_use(provider.uuid, before, removed)
        after = {name: tx.inventories.as_stored(each) for name, each in change.inventories.items()}
        _warn_if_over_capacity(provider.uuid, before, after)
        # Every writer locks the provider first, then the class.
        tx.providers.advance([(provider, 1)])
        tx.classes.guard({name: class_ids[name] for name in after if name not in before})
        tx.inventories.delete(provider.id, [before[name].class_id for name in removed])
        by_id = {class_ids[name]: after[name] for name in after}
        tx.inventories.put(provider.id, by_id)
        if before.keys() == after.keys():
            tx.tell_parts(provider, inventories=by_id)
        return ProviderInventories(
            generation=provider.generation + 1,
            inventories=after,
            modified=tx.now if after else None,
        )

    return write(
        roost,
        unit,
        providers={change.provider_uuid: change.expected_generation},
        needs=Needs(inventories=True),
    )


def add_inventory(
    roost: Roost, *, provider_uuid: str, resource_class: str, inventory: Inventory
) -> ProviderInventories:
    """Add an inventory of one class, whatever the generation; gives back that one alone."""

    def unit(tx: Transaction) -> ProviderInventories:
        provider = tx.providers.lock(provider_uuid)
        class_ids = tx.classes.ids([resource_class])
        if resource_class in tx.inventories.states([provider.id])[provider.id]:
            raise InventoryExists(resource_class, provider_uuid)
        after = tx.inventories.as_stored(inventory)
        tx.classes.guard(class_ids)
        tx.providers.advance([(provider, 1)])
        tx.inventories.insert({provider.id: {class_ids[resource_class]: after}})
        return ProviderInventories(
            generation=provider.generation + 1,
            inventories={resource_class: after},
            modified=tx.now,
        )

    return roost.run(unit)


def update_inventory(
    roost: Roost,
    *,
    provider_uuid: str,
    resource_class: str,
    inventory: Inventory,
    expected_generation: int,
) -> ProviderInventories:
    """Replace the inventory of one class; gives back that inventory alone."""

    def unit(tx: Transaction, state: StateReader) -> ProviderInventories:
        provider = state.provider(provider_uuid)
        provider.check_generation(expected_generation)
        before = state.inventories([provider.id])[provider.id]
        if resource_class not in before:
            if tx.classes.find(resource_class) is None:
                raise ResourceClassNotFound(resource_class)
            raise InventoryNotFound(resource_class, provider_uuid)
        after = tx.inventories.as_stored(inventory)
        _warn_if_over_capacity(provider_uuid, before, {resource_class: after})
        class_ids = state.class_ids([resource_class])
        check_class_ids(class_ids, before)
        tx.providers.advance([(provider, 1)])
        tx.inventories.put(provider.id, {class_ids[resource_class]: after})
        tx.tell_parts(provider, inventories={class_ids[resource_class]: after})
        return ProviderInventories(
            generation=provider.generation + 1,
            inventories={resource_class: after},
            modified=tx.now,
        )

    return write(
        roost, unit, providers={provider_uuid: expected_generation}, needs=Needs(inventories=True)
    )


def delete_inventories(
    roost: Roost, *, provider_uuid: str, resource_class: str | None
) -> ProviderInventories:
    """Delete the inventory of one class, or all of them (None); gives back what is left."""

    def unit(tx: Transaction) -> ProviderInventories:
        provider = tx.providers.lock(provider_uuid)
        before = tx.inventories.states([provider.id])[provider.id]
        if resource_class is not None and resource_class not in before:
            if tx.classes.find(resource_class) is None:
                raise ResourceClassNotFound(resource_class)
            raise InventoryNotFound(resource_class, provider_uuid)
        removed = {name for name in before if resource_class in (None, name)}
        check_not_in_use(provider.uuid, before, removed)
        tx.providers.advance([(provider, 1)])
        tx.inventories.delete(provider.id, [before[name].class_id for name in removed])
        left = {name: each.inventory for name, each in before.items() if name not in removed}
        return ProviderInventories(
            generation=provider.generation + 1,
            inventories=left,
            modified=tx.now if left else None,
        )

    return roost.run(unit)


def _warn_if_over_capacity(
    provider_uuid: str, before: Mapping[str, InventoryState], inventories: Mapping[str, Inventory]
) -> None:
    """Log where a smaller inventory leaves more used than its capacity. The API allows that."""
    for name, inventory in inventories.items():
        if name in before and before[name].used > inventory.capacity:
            LOG.warning(
                "provider %s: %d of %s are used, and its new capacity is %d",
                provider_uuid,
                before[name].used,
                name,
                inventory.capacity,
            )
