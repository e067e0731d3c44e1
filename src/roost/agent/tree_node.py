"""One provider of a provider tree, and the errors that the tree raises.

TreeError (a ValueError, which drivers of OpenStack compute catch)
├── NoSuchProvider       no provider of the tree has this name or UUID
├── DuplicateProvider    the name or the UUID is taken
├── ProviderLoop         a provider would be below itself
└── BadInventory         an inventory without a total, or with unknown fields
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from roost.model import Inventory, Value

# An inventory as drivers write it. A field that is left out stays as the provider has it; if the
# provider has none of the class, it has the default of the API.
InventoryFields = Mapping[str, Any] | Inventory

_FIELDS = frozenset(Inventory.__struct_fields__)


class TreeError(ValueError):
    """The tree does not allow this."""


class NoSuchProvider(TreeError):
    def __init__(self, name_or_uuid: str) -> None:
        self.name_or_uuid = name_or_uuid
        super().__init__(f"No such provider: {name_or_uuid}")


class DuplicateProvider(TreeError):
    """The name or the UUID is taken."""


class ProviderLoop(TreeError):
    """A provider cannot be below itself."""


class BadInventory(TreeError):
    """An inventory cannot be read."""


class ProviderData(Value, frozen=True, kw_only=True):
    """A provider at one moment: a copy, independent of the tree."""

    uuid: str
    name: str
    parent_uuid: str | None  # None for a root
    root_uuid: str  # its own for a root
    generation: int | None  # None: the service has not given any
    inventory: dict[str, dict[str, Any]]  # by resource class, with all fields
    traits: set[str]
    aggregates: set[str]
    resources: dict[str, Any]  # the driver's notes on single devices, by resource class
    used: dict[str, int] | None  # what consumers hold, by resource class; None: not known
    former_name: str | None = None  # before it was renamed in this tree


@dataclass
class Node:
    """A provider inside a tree."""

    uuid: str
    name: str
    parent_uuid: str | None
    generation: int | None
    children: list[str] = field(default_factory=list)  # UUIDs, in the order they were added
    inventory: dict[str, Inventory] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()
    resources: dict[str, Any] = field(default_factory=dict)
    used: dict[str, int] | None = None
    former_name: str | None = None

    def data(self, root_uuid: str) -> ProviderData:
        return ProviderData(
            uuid=self.uuid,
            name=self.name,
            parent_uuid=self.parent_uuid,
            root_uuid=root_uuid,
            generation=self.generation,
            inventory={
                name: msgspec.structs.asdict(inventory)
                for name, inventory in self.inventory.items()
            },
            traits=set(self.traits),
            aggregates=set(self.aggregates),
            resources=copy.deepcopy(self.resources),
            used=None if self.used is None else dict(self.used),
            former_name=self.former_name,
        )

    def read_inventory(self, inventory: Mapping[str, InventoryFields]) -> dict[str, Inventory]:
        """Validate an inventory of this provider, and fill in the fields that were left out."""
        return {
            resource_class: self._read_fields(resource_class, fields)
            for resource_class, fields in inventory.items()
        }

    def _read_fields(self, resource_class: str, fields: InventoryFields) -> Inventory:
        if isinstance(fields, Inventory):
            return fields
        if unknown := sorted(set(fields) - _FIELDS):
            problem = f"has no field {', '.join(unknown)}"
        elif "total" not in fields:
            problem = "needs a total"
        elif (known := self.inventory.get(resource_class)) is None:
            return Inventory(**fields)
        else:
            # The service refuses an inventory of which more is reserved than there is.
            reserved = min(known.reserved, fields["total"])
            return msgspec.structs.replace(known, **{"reserved": reserved, **fields})
        raise BadInventory(f"The inventory of {resource_class} on provider {self.name} {problem}.")


def parents_first(providers: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Order providers, as GET /resource_providers returns them, so that parents come first."""
    by_parent: dict[str | None, list[Mapping[str, Any]]] = {}
    uuids = {each["uuid"] for each in providers}
    for each in providers:
        parent_uuid = each.get("parent_provider_uuid")
        # A parent that is not among them is expected in the tree.
        by_parent.setdefault(parent_uuid if parent_uuid in uuids else None, []).append(each)
    ordered = by_parent.pop(None, [])
    for each in ordered:  # grows during the iteration
        ordered.extend(by_parent.pop(each["uuid"], []))
    if by_parent:
        names = ", ".join(sorted(each["name"] for found in by_parent.values() for each in found))
        raise ProviderLoop(f"Providers are below each other in a loop: {names}")
    return ordered
