"""/resource_providers/{uuid}/inventories and /resource_providers/{uuid}/inventories/{class}."""

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

from roost.api.http.error_response import HttpError
from roost.api.http.error_table import CONCURRENT_UPDATE
from roost.api.http.error_wording import Wording, Wordings, worded
from roost.api.http.messages import Reply, Request
from roost.api.parsing import bodies
from roost.api.schemas import inventories as schema
from roost.api.versions import Version
from roost.errors import (
    InvalidInventory,
    InventoryInUse,
    InventoryNotFound,
    ProviderNotFound,
    ResourceClassNotFound,
    UnknownResourceClass,
)
from roost.model import Inventory, InventoryChange, ProviderInventories
from roost.operations.inventories import (
    add_inventory,
    delete_inventories,
    read_inventories,
    replace_inventories,
    update_inventory,
)
from roost.operations.providers import read_provider
from roost.service.service import Roost

LIST_WORDINGS: Wordings = {
    ProviderNotFound: "No resource provider with uuid {uuid} found : {error}"
}
POST_WORDINGS: Wordings = {
    UnknownResourceClass: "Unable to create inventory for resource provider {uuid}: {error}",
    InvalidInventory: "Unable to create inventory for resource provider {uuid}: {error}",
}
PUT_ALL_WORDINGS: Wordings = {
    UnknownResourceClass: "Unknown resource class in inventory for resource provider {uuid}: "
    "{error}",
    InvalidInventory: "Unable to update inventory for resource provider {uuid}: {error}",
    InventoryInUse: "update conflict: {error}",
}
PUT_WORDINGS: Wordings = {
    InvalidInventory: "Unable to update inventory for resource provider {uuid}: {error}",
    InventoryNotFound: Wording(
        sentence="No inventory record with resource class for resource provider {uuid}: "
        "No inventory of class {resource_class} found.",
        status=400,
    ),
    UnknownResourceClass: Wording(sentence="{error}", status=404),
}
DELETE_WORDINGS: Wordings = {
    # Said twice, as clients have always seen it.
    InventoryNotFound: "No inventory of class {resource_class} found for delete: "
    "No inventory of class {resource_class} found for delete",
    UnknownResourceClass: Wording(
        sentence="No inventory of class {resource_class} found for delete: {error}", status=404
    ),
    ResourceClassNotFound: "No inventory of class {resource_class} found for delete: {error}",
    InventoryInUse: Wording(
        sentence="Unable to delete inventory of class {resource_class}: {error}",
        code=CONCURRENT_UPDATE,
    ),
}

_FIELDS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")


def get_all(roost: Roost, request: Request, uuid: str) -> Reply:
    with worded(LIST_WORDINGS, uuid=uuid):
        found = read_inventories(roost, provider_uuid=uuid)
    return _show_all(found)


def post(roost: Roost, request: Request, uuid: str) -> Reply:
    body = bodies.read(request.body, schema.POST, missing=_missing(roost, uuid))
    name = body["resource_class"]
    with worded(POST_WORDINGS, uuid=uuid):
        inventory = parse(body, name, uuid, request.version)
        changed = add_inventory(roost, provider_uuid=uuid, resource_class=name, inventory=inventory)
    location = f"/resource_providers/{uuid}/inventories/{name}"
    return _show_one(changed, name, uuid, status=201, location=location)


def put_all(roost: Roost, request: Request, uuid: str) -> Reply:
    body = bodies.read(request.body, schema.PUT_ALL, missing=_missing(roost, uuid))
    with worded(PUT_ALL_WORDINGS, uuid=uuid):
        change = parse_change(body, uuid, request.version)
        return _show_all(replace_inventories(roost, change=change))


def delete_all(roost: Roost, request: Request, uuid: str) -> Reply:
    delete_inventories(roost, provider_uuid=uuid, resource_class=None)
    return Reply(status=204)


def get(roost: Roost, request: Request, uuid: str, resource_class: str) -> Reply:
    found = read_inventories(roost, provider_uuid=uuid)
    return _show_one(found, resource_class, uuid)


def put(roost: Roost, request: Request, uuid: str, resource_class: str) -> Reply:
    body = bodies.read(request.body, schema.PUT_ONE, missing=_missing(roost, uuid))
    with worded(PUT_WORDINGS, uuid=uuid, resource_class=resource_class):
        changed = update_inventory(
            roost,
            provider_uuid=uuid,
            resource_class=resource_class,
            inventory=parse(body, resource_class, uuid, request.version),
            expected_generation=bodies.whole(body["resource_provider_generation"]),
        )
    return _show_one(changed, resource_class, uuid)


def delete(roost: Roost, request: Request, uuid: str, resource_class: str) -> Reply:
    with worded(DELETE_WORDINGS, resource_class=resource_class):
        delete_inventories(roost, provider_uuid=uuid, resource_class=resource_class)
    return Reply(status=204)


def parse_change(body: Mapping[str, Any], uuid: str, version: Version) -> InventoryChange:
    """All inventories that a provider shall have."""
    return InventoryChange(
        provider_uuid=uuid,
        inventories={
            name: parse(fields, name, uuid, version) for name, fields in body["inventories"].items()
        },
        expected_generation=bodies.whole(body["resource_provider_generation"]),
    )


def parse(body: Mapping[str, Any], name: str, uuid: str, version: Version) -> Inventory:
    """One inventory; what it does not say has the usual value."""
    whole = {
        field: bodies.whole(body[field])
        for field in _FIELDS
        if field in body and field != "allocation_ratio"
    }
    ratio = float(body.get("allocation_ratio", 1.0))
    inventory = Inventory(**whole, allocation_ratio=ratio)
    _refuse_contradictions(inventory, name, uuid, version)
    return inventory


def _refuse_contradictions(inventory: Inventory, name: str, uuid: str, version: Version) -> None:
    if not math.isfinite(inventory.allocation_ratio):
        raise HttpError(400, "JSON does not validate: allocation_ratio is not a finite number")
    refused = f"Invalid inventory for '{name}' on resource provider '{uuid}'."
    if version >= (1, 26):
        if inventory.reserved > inventory.total:
            raise InvalidInventory(f"{refused} The reserved value is greater than total.")
    elif inventory.capacity <= 0:
        # Which a ratio of zero makes true as well.
        raise InvalidInventory(f"{refused} The reserved value is greater than or equal to total.")


def _render(inventory: Inventory) -> dict[str, Any]:
    return {field: getattr(inventory, field) for field in _FIELDS}


def _show_all(found: ProviderInventories) -> Reply:
    return Reply(
        body={
            "resource_provider_generation": found.generation,
            "inventories": {
                name: _render(inventory) for name, inventory in found.inventories.items()
            },
        },
        shows_state=True,
        modified=found.modified,
    )


def _show_one(
    found: ProviderInventories,
    resource_class: str,
    uuid: str,
    *,
    status: int = 200,
    location: str | None = None,
) -> Reply:
    if resource_class not in found.inventories:
        raise HttpError(404, f"No inventory of class {resource_class} for {uuid}")
    shown = _render(found.inventories[resource_class])
    return Reply(
        status=status,
        location=location,
        body={**shown, "resource_provider_generation": found.generation},
        shows_state=True,
        modified=found.modified,
    )


def _missing(roost: Roost, uuid: str) -> Callable[[], object]:
    return functools.partial(read_provider, roost, uuid=uuid)
