"""POST /reshaper: inventories and allocations change together, or not at all."""

from roost.api.handlers.allocations import CONFLICT_WORDINGS
from roost.api.http.error_wording import ErrorWording, ErrorWordings, reword_errors
from roost.api.http.messages import Reply, Request
from roost.api.http_error import ErrorCode
from roost.api.parsing import bodies
from roost.api.parsing.allocations import parse_consumers
from roost.api.parsing.inventories import parse_providers
from roost.api.schemas import bounds
from roost.errors import (
    InventoryInUse,
    ProviderGenerationConflict,
    ProviderNotFound,
    UnknownProvider,
    UnknownResourceClass,
)
from roost.operations.reshaper import reshape
from roost.service.service import Roost

WORDINGS: ErrorWordings = {
    **CONFLICT_WORDINGS,
    InventoryInUse: "update conflict: {error}",
    UnknownResourceClass: "malformed reshaper data: {error}",
    ProviderGenerationConflict: "resource provider generation conflict for provider "
    "{error.provider_uuid}: actual: {error.current}, given: {error.expected}",
    ProviderNotFound: ErrorWording(
        sentence="Resource provider {error.uuid} in inventories not found: {error}",
        status=400,
        code=ErrorCode.PROVIDER_NOT_FOUND,
    ),
    UnknownProvider: ErrorWording(sentence="{error}", code=ErrorCode.PROVIDER_NOT_FOUND),
}


def post(roost: Roost, request: Request) -> Reply:
    body = bodies.read(request.body, request.body_schema, values_max=bounds.VALUES_OF_CONSUMERS_MAX)
    with reword_errors(WORDINGS):
        reshape(
            roost,
            inventories=parse_providers(body["inventories"], as_stored=roost.as_stored),
            consumers=parse_consumers(
                body["allocations"], request.version, as_stored=roost.as_stored
            ),
        )
    return Reply(status=204)
