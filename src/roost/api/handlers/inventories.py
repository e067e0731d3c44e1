"""/resource_providers/{uuid}/inventories and /resource_providers/{uuid}/inventories/{class}."""

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from roost.api.http.error_wording import ErrorWording, ErrorWordings, reword_errors
from roost.api.http.messages import Reply, Request
from roost.api.http_error import ErrorCode, HttpError
from roost.api.parsing import bodies
from roost.api.parsing.inventories import parse_inventory, parse_provider
from roost.errors import (
    InvalidInventory,
    InventoryInUse,
    InventoryNotFound,
    ProviderGenerationConflict,
    ProviderNotFound,
    ResourceClassNotFound,
    UnknownResourceClass,
)
from roost.model import Inventory, ProviderInventories
from roost.operations.inventories import (
    add_inventory,
    delete_inventories,
    read_inventories,
    replace_inventories,
    update_inventory,
)
from roost.operations.providers import read_provider
from roost.quoting import quote
from roost.service.service import Roost

LIST_WORDINGS: ErrorWordings = {
    ProviderNotFound: "No resource provider with uuid {uuid} found : {error}"
}
POST_WORDINGS: ErrorWordings = {
    UnknownResourceClass: "Unable to create inventory for resource provider {uuid}: {error}",
    InvalidInventory: "Unable to create inventory for resource provider {uuid}: {error}",
}
PUT_ALL_WORDINGS: ErrorWordings = {
    UnknownResourceClass: "Unknown resource class in inventory for resource provider {uuid}: "
    "{error}",
    InvalidInventory: "Unable to update inventory for resource provider {uuid}: {error}",
    InventoryInUse: "update conflict: {error}",
}
PUT_WORDINGS: ErrorWordings = {
    InvalidInventory: "Unable to update inventory for resource provider {uuid}: {error}",
    InventoryNotFound: ErrorWording(
        sentence="No inventory record with resource class for resource provider {uuid}: "
        "No inventory of class {resource_class} found.",
        status=400,
    ),
    UnknownResourceClass: ErrorWording(sentence="{error}", status=404),
}
DELETE_WORDINGS: ErrorWordings = {
    # The sentence is repeated because clients know it so.
    InventoryNotFound: "No inventory of class {resource_class} found for delete: "
    "No inventory of class {resource_class} found for delete",
    UnknownResourceClass: ErrorWording(
        sentence="No inventory of class {resource_class} found for delete: {error}", status=404
    ),
    ResourceClassNotFound: "No inventory of class {resource_class} found for delete: {error}",
    InventoryInUse: ErrorWording(
        sentence="Unable to delete inventory of class {resource_class}: {error}",
        code=ErrorCode.CONCURRENT_UPDATE,
    ),
}

FIELDS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")


def get_all(roost: Roost, request: Request, uuid: str) -> Reply:
    with reword_errors(LIST_WORDINGS, uuid=uuid):
        found = read_inventories(roost, provider_uuid=uuid)
    return _show_all(found)


def post(roost: Roost, request: Request, uuid: str) -> Reply:
    body = bodies.read(request.body, request.body_schema, check_exists=_check_provider(roost, uuid))
    name = body["resource_class"]
    with reword_errors(POST_WORDINGS, uuid=uuid):
        inventory = parse_inventory(body, name, uuid, request.version)
        changed = add_inventory(roost, provider_uuid=uuid, resource_class=name, inventory=inventory)
    location = f"/resource_providers/{uuid}/inventories/{name}"
    return _show_one(changed, name, uuid, status=201, location=location)


def put_all(roost: Roost, request: Request, uuid: str) -> Reply:
    body = bodies.read(request.body, request.body_schema, check_exists=_check_provider(roost, uuid))
    with reword_errors(PUT_ALL_WORDINGS, uuid=uuid), _generation_first(roost, uuid, body):
        change = parse_provider(body, uuid, request.version)
        return _show_all(replace_inventories(roost, change=change))


def delete_all(roost: Roost, request: Request, uuid: str) -> Reply:
    delete_inventories(roost, provider_uuid=uuid, resource_class=None)
    return Reply(status=204)


def get(roost: Roost, request: Request, uuid: str, resource_class: str) -> Reply:
    found = read_inventories(roost, provider_uuid=uuid)
    return _show_one(found, resource_class, uuid)


def put(roost: Roost, request: Request, uuid: str, resource_class: str) -> Reply:
    body = bodies.read(request.body, request.body_schema, check_exists=_check_provider(roost, uuid))
    with (
        reword_errors(PUT_WORDINGS, uuid=uuid, resource_class=resource_class),
        _generation_first(roost, uuid, body),
    ):
        changed = update_inventory(
            roost,
            provider_uuid=uuid,
            resource_class=resource_class,
            inventory=parse_inventory(body, resource_class, uuid, request.version),
            expected_generation=bodies.to_integer(body["resource_provider_generation"]),
        )
    return _show_one(changed, resource_class, uuid)


def delete(roost: Roost, request: Request, uuid: str, resource_class: str) -> Reply:
    with reword_errors(DELETE_WORDINGS, resource_class=resource_class):
        delete_inventories(roost, provider_uuid=uuid, resource_class=resource_class)
    return Reply(status=204)


@contextmanager
def _generation_first(roost: Roost, uuid: str, body: Mapping[str, Any]) -> Iterator[None]:
    """As in Placement, a client that is out of date learns that before what is wrong otherwise."""
    try:
        yield
    except InvalidInventory:
        expected = bodies.to_integer(body["resource_provider_generation"])
        current = read_provider(roost, uuid=uuid).generation
        if current != expected:
            raise ProviderGenerationConflict(uuid, expected, current) from None
        raise


def _render(inventory: Inventory) -> dict[str, Any]:
    return {field: getattr(inventory, field) for field in FIELDS}


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
        raise HttpError(404, f"No inventory of class {quote(resource_class)} for {quote(uuid)}")
    shown = _render(found.inventories[resource_class])
    return Reply(
        status=status,
        location=location,
        body={**shown, "resource_provider_generation": found.generation},
        shows_state=True,
        modified=found.modified,
    )


def _check_provider(roost: Roost, uuid: str) -> Callable[[], object]:
    return functools.partial(read_provider, roost, uuid=uuid)
