"""Inventories: what a provider has, replaced as a whole or one class at a time."""

import logging
from collections.abc import Mapping

from roost.claims import InventoryState, check_unused
from roost.errors import InventoryExists, InventoryNotFound, ResourceClassNotFound
from roost.model import (
    Inventory,
    InventoryChange,
    ProviderInventories,
)
from roost.operations.optimistic import Sight, decide
from roost.search.index.providers import inventory_of, moment
from roost.service.service import Roost
from roost.store.transaction import Transaction


def read_inventories(roost: Roost, *, provider_uuid: str) -> ProviderInventories:
    with roost.view() as index:
        row = index.row(provider_uuid)
        stocks = index.inventories(row)
        return ProviderInventories(
            generation=int(index.rows.generation[row]),
            inventories={
                index.classes.names[stock.class_id]: inventory_of(stock) for stock in stocks
            },
            modified=moment(max(stock.modified for stock in stocks)) if stocks else None,
        )


LOG = logging.getLogger(__name__)


def replace_inventories(roost: Roost, *, change: InventoryChange) -> ProviderInventories:
    """Everything that a provider has, anew."""

    def unit(tx: Transaction, sight: Sight) -> ProviderInventories:
        provider = sight.provider(change.provider_uuid)
        provider.check_generation(change.expected_generation)
        stocks = sight.stocks([provider.id])[provider.id]
        class_ids = sight.class_ids({*change.inventories, *stocks})
        removed = stocks.keys() - change.inventories.keys()
        check_unused(provider.uuid, stocks, removed)
        kept = {name: tx.inventories.as_stored(each) for name, each in change.inventories.items()}
        warn_of_excess(provider.uuid, stocks, kept)
        tx.classes.hold({name: class_ids[name] for name in kept if name not in stocks})
        tx.providers.advance([(provider, 1)])
        tx.inventories.delete(provider.id, [class_ids[name] for name in removed])
        tx.inventories.put(provider.id, {class_ids[name]: kept[name] for name in kept})
        return ProviderInventories(
            generation=provider.generation + 1,
            inventories=kept,
            modified=tx.now if kept else None,
        )

    return decide(roost, unit, providers={change.provider_uuid: change.expected_generation})


def add_inventory(
    roost: Roost, *, provider_uuid: str, resource_class: str, inventory: Inventory
) -> ProviderInventories:
    """One more class for a provider, whatever its generation is; gives back that one alone."""

    def unit(tx: Transaction) -> ProviderInventories:
        provider = tx.providers.lock(provider_uuid)
        class_ids = tx.classes.ids([resource_class])
        if resource_class in tx.inventories.states([provider.id])[provider.id]:
            raise InventoryExists(resource_class, provider_uuid)
        kept = tx.inventories.as_stored(inventory)
        tx.classes.hold(class_ids)
        tx.providers.advance([(provider, 1)])
        tx.inventories.insert({provider.id: {class_ids[resource_class]: kept}})
        return ProviderInventories(
            generation=provider.generation + 1,
            inventories={resource_class: kept},
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
    """Another inventory of a class that the provider has; gives back that one alone."""

    def unit(tx: Transaction, sight: Sight) -> ProviderInventories:
        provider = sight.provider(provider_uuid)
        provider.check_generation(expected_generation)
        stocks = sight.stocks([provider.id])[provider.id]
        if resource_class not in stocks:
            if tx.classes.find(resource_class) is None:
                raise ResourceClassNotFound(resource_class)
            raise InventoryNotFound(resource_class, provider_uuid)
        kept = tx.inventories.as_stored(inventory)
        warn_of_excess(provider_uuid, stocks, {resource_class: kept})
        class_id = sight.class_ids([resource_class])[resource_class]
        tx.providers.advance([(provider, 1)])
        tx.inventories.put(provider.id, {class_id: kept})
        return ProviderInventories(
            generation=provider.generation + 1,
            inventories={resource_class: kept},
            modified=tx.now,
        )

    return decide(roost, unit, providers={provider_uuid: expected_generation})


def delete_inventories(
    roost: Roost, *, provider_uuid: str, resource_class: str | None
) -> ProviderInventories:
    """Take one class away from a provider, or (None) all; gives back what is left."""

    def unit(tx: Transaction) -> ProviderInventories:
        provider = tx.providers.lock(provider_uuid)
        stocks = tx.inventories.states([provider.id])[provider.id]
        if resource_class is not None and resource_class not in stocks:
            if tx.classes.find(resource_class) is None:
                raise ResourceClassNotFound(resource_class)
            raise InventoryNotFound(resource_class, provider_uuid)
        removed = {name for name in stocks if resource_class in (None, name)}
        check_unused(provider.uuid, stocks, removed)
        tx.providers.advance([(provider, 1)])
        tx.inventories.delete(provider.id, [stocks[name].class_id for name in removed])
        left = {name: stock.inventory for name, stock in stocks.items() if name not in removed}
        return ProviderInventories(
            generation=provider.generation + 1,
            inventories=left,
            modified=tx.now if left else None,
        )

    return roost.run(unit)


def warn_of_excess(
    provider_uuid: str, stocks: Mapping[str, InventoryState], inventories: Mapping[str, Inventory]
) -> None:
    """Say so where a smaller inventory leaves more used than there is. It is allowed."""
    for name, inventory in inventories.items():
        if name in stocks and stocks[name].used > inventory.capacity:
            LOG.warning(
                "provider %s: %d of %s are used, and its new capacity is %d",
                provider_uuid,
                stocks[name].used,
                name,
                inventory.capacity,
            )
