"""Inventories in a body: one, all of one provider, and those of several within a reshape."""

import math
from collections.abc import Mapping
from typing import Any

from roost.api.http_error import HttpError
from roost.api.parsing.bodies import INVALID, to_integer
from roost.api.parsing.uuids import AsStored, provider_uuids
from roost.api.versions import Version
from roost.errors import InvalidInventory
from roost.model import Inventory, InventoryChange
from roost.quoting import quote

_INTEGER_FIELDS = ("total", "reserved", "min_unit", "max_unit", "step_size")


def parse_providers(body: Mapping[str, Any], *, as_stored: AsStored) -> list[InventoryChange]:
    """The new inventories of several providers, by UUID, within a reshape.

    As in Placement, a reshape may move an inventory that has no capacity.
    """
    stored = provider_uuids(body, as_stored)
    return [parse_provider(fields, stored[uuid], None) for uuid, fields in body.items()]


def parse_provider(body: Mapping[str, Any], uuid: str, version: Version | None) -> InventoryChange:
    """All the new inventories of one provider; without a version, of any capacity."""
    return InventoryChange(
        provider_uuid=uuid,
        inventories={
            name: parse_inventory(fields, name, uuid, version)
            for name, fields in body["inventories"].items()
        },
        expected_generation=to_integer(body["resource_provider_generation"]),
    )


def parse_inventory(
    body: Mapping[str, Any], name: str, uuid: str, version: Version | None
) -> Inventory:
    """One inventory; a field that is not given has its default."""
    integers = {field: to_integer(body[field]) for field in _INTEGER_FIELDS if field in body}
    ratio = float(body.get("allocation_ratio", 1.0))
    inventory = Inventory(**integers, allocation_ratio=ratio)
    if not math.isfinite(ratio):
        raise HttpError(400, INVALID.format("allocation_ratio is not a finite number"))
    if version is not None:
        _refuse_missing_capacity(inventory, name, uuid, version)
    return inventory


def _refuse_missing_capacity(inventory: Inventory, name: str, uuid: str, version: Version) -> None:
    """Before 1.26 there must be some capacity; from 1.26 on it must not be below zero."""
    refused = f"Invalid inventory for '{quote(name)}' on resource provider '{quote(uuid)}'."
    # An allocation ratio of zero or below gets the same messages.
    if version < (1, 26) and inventory.capacity <= 0:
        raise InvalidInventory(f"{refused} The reserved value is greater than or equal to total.")
    if inventory.capacity < 0:
        raise InvalidInventory(f"{refused} The reserved value is greater than total.")
