"""POST /resource_providers/{uuid}/inventories"""

from roost.errors import InventoryExists
from roost.model import Inventory, ProviderInventories
from roost.service import Roost
from roost.store.transaction import Transaction


def add_inventory(
    roost: Roost, *, provider_uuid: str, resource_class: str, inventory: Inventory
) -> ProviderInventories:
    """One more class for a provider, whatever its generation is; gives back that one alone."""

    def unit(tx: Transaction) -> ProviderInventories:
        provider = tx.providers.lock(provider_uuid)
        class_ids = tx.classes.ids([resource_class])
        if resource_class in tx.inventories.stocks([provider.id])[provider.id]:
            raise InventoryExists(resource_class, provider_uuid)
        kept = tx.inventories.kept(inventory)
        tx.classes.hold(class_ids)
        tx.providers.advance([(provider, 1)])
        tx.inventories.insert({provider.id: {class_ids[resource_class]: kept}})
        return ProviderInventories(
            generation=provider.generation + 1,
            inventories={resource_class: kept},
            modified=tx.now,
        )

    return roost.run(unit)
