"""POST /reshaper: inventories and allocations change together, or not at all."""

from roost.api.handlers.allocations import CONFLICT_WORDINGS, parse_all
from roost.api.handlers.inventories import parse_change
from roost.api.http.error_table import PROVIDER_NOT_FOUND
from roost.api.http.error_wording import Wording, Wordings, worded
from roost.api.http.messages import Reply, Request
from roost.api.parsing import bodies
from roost.api.schemas import allocations as schema
from roost.api.schemas import canonical_uuid
from roost.errors import (
    InvalidInventory,
    InventoryInUse,
    ProviderGenerationConflict,
    ProviderNotFound,
    UnknownProvider,
    UnknownResourceClass,
)
from roost.operations.reshaper import reshape
from roost.service.service import Roost

WORDINGS: Wordings = {
    **CONFLICT_WORDINGS,
    InventoryInUse: "update conflict: {error}",
    InvalidInventory: "Unable to update inventory: {error}",
    UnknownResourceClass: "malformed reshaper data: {error}",
    ProviderGenerationConflict: "resource provider generation conflict for provider "
    "{error.provider_uuid}: actual: {error.current}, given: {error.expected}",
    ProviderNotFound: Wording(
        sentence="Resource provider {error.uuid} in inventories not found: {error}",
        status=400,
        code=PROVIDER_NOT_FOUND,
    ),
    UnknownProvider: Wording(sentence="{error}", code=PROVIDER_NOT_FOUND),
}


def post(roost: Roost, request: Request) -> Reply:
    body = bodies.read(request.body, schema.reshape(request.version))
    with worded(WORDINGS):
        reshape(
            roost,
            inventories=[
                parse_change(change, canonical_uuid(uuid), request.version)
                for uuid, change in body["inventories"].items()
            ],
            consumers=parse_all(body["allocations"], request.version),
        )
    return Reply(status=204)
