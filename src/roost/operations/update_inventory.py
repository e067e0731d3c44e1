"""PUT /resource_providers/{uuid}/inventories/{resource_class}"""

from roost.errors import InventoryNotFound, ResourceClassNotFound
from roost.model import Inventory, ProviderInventories
from roost.operations.replace_inventories import warn_of_excess
from roost.operations.sight import Sight, decide
from roost.service import Roost
from roost.store.transaction import Transaction


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
        kept = tx.inventories.kept(inventory)
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
