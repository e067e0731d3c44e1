"""Inventories of a provider, and how much of them is used."""

from collections.abc import Mapping

from roost.client import wire
from roost.client.calls import Call, request
from roost.client.requests.providers import provider_path
from roost.client.values import Inventory, ProviderInventories, Resources


class InventoryRequests:
    @request
    def inventories(self, uuid: str) -> Call[ProviderInventories]:
        """All inventories of a provider."""
        return Call(method="GET", path=provider_path(uuid, "inventories"), read=wire.inventories)

    @request
    def set_inventories(
        self, uuid: str, inventories: Mapping[str, Inventory], generation: int
    ) -> Call[ProviderInventories]:
        """Replace all inventories of a provider, as read at a generation."""
        body = wire.inventories_body(inventories, generation)
        path = provider_path(uuid, "inventories")
        return Call(method="PUT", path=path, body=body, read=wire.inventories)

    @request
    def inventory(self, uuid: str, resource_class: str) -> Call[Inventory]:
        """One inventory of a provider."""
        path = provider_path(uuid, "inventories", resource_class)
        return Call(method="GET", path=path, read=wire.inventory)

    @request
    def create_inventory(
        self, uuid: str, resource_class: str, inventory: Inventory, generation: int
    ) -> Call[int]:
        """Add an inventory to a provider. Returns the provider's new generation.

        If the provider has one of this class, it raises `Conflict`.
        """
        body = {
            "resource_provider_generation": generation,
            "resource_class": resource_class,
            **wire.inventory_body(inventory),
        }
        path = provider_path(uuid, "inventories")
        return Call(method="POST", path=path, body=body, read=wire.provider_generation)

    @request
    def set_inventory(
        self, uuid: str, resource_class: str, inventory: Inventory, generation: int
    ) -> Call[int]:
        """Change one inventory of a provider. Returns the provider's new generation."""
        body = {"resource_provider_generation": generation, **wire.inventory_body(inventory)}
        path = provider_path(uuid, "inventories", resource_class)
        return Call(method="PUT", path=path, body=body, read=wire.provider_generation)

    @request
    def delete_inventory(self, uuid: str, resource_class: str) -> Call[None]:
        """Delete one inventory of a provider."""
        path = provider_path(uuid, "inventories", resource_class)
        return Call(method="DELETE", path=path, read=wire.nothing)

    @request
    def delete_inventories(self, uuid: str) -> Call[None]:
        """Delete all inventories of a provider."""
        path = provider_path(uuid, "inventories")
        return Call(method="DELETE", path=path, read=wire.nothing, since=(1, 5))

    @request
    def usages(self, uuid: str) -> Call[Resources]:
        """How much of a provider is used, by resource class."""
        return Call(method="GET", path=provider_path(uuid, "usages"), read=wire.usages)
