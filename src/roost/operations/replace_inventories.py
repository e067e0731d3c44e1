"""PUT /resource_providers/{uuid}/inventories"""

import logging
from collections.abc import Mapping

from roost.claims import Stock, check_unused
from roost.model import Inventory, InventoryChange, ProviderInventories
from roost.operations.sight import Sight, decide
from roost.service import Roost
from roost.store.transaction import Transaction

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
        kept = {name: tx.inventories.kept(each) for name, each in change.inventories.items()}
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


def warn_of_excess(
    provider_uuid: str, stocks: Mapping[str, Stock], inventories: Mapping[str, Inventory]
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
