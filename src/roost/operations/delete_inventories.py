"""DELETE /resource_providers/{uuid}/inventories, and of one class alone"""

from roost.claims import check_unused
from roost.errors import InventoryNotFound, ResourceClassNotFound
from roost.model import ProviderInventories
from roost.service import Roost
from roost.store.transaction import Transaction


def delete_inventories(
    roost: Roost, *, provider_uuid: str, resource_class: str | None
) -> ProviderInventories:
    """Take one class away from a provider, or (None) all; gives back what is left."""

    def unit(tx: Transaction) -> ProviderInventories:
        provider = tx.providers.lock(provider_uuid)
        stocks = tx.inventories.stocks([provider.id])[provider.id]
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
