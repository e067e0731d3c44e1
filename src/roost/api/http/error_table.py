"""The one place where refusals of the service become statuses and codes.

Codes are part of the API: once set, they are set.
"""

from typing import NamedTuple

from roost import errors
from roost.api.http.error_response import CODE_DEFAULT, HttpError

CONCURRENT_UPDATE = "placement.concurrent_update"
DUPLICATE_NAME = "placement.duplicate_name"
INVENTORY_IN_USE = "placement.inventory.inuse"
KEY_REUSED = "placement.idempotency_key_reused"
NO_CANDIDATES = "placement.no_candidates"
POSITION_GONE = "placement.events.position_gone"
PROVIDER_CANNOT_DELETE_PARENT = "placement.resource_provider.cannot_delete_parent"
PROVIDER_IN_USE = "placement.resource_provider.inuse"
PROVIDER_NOT_FOUND = "placement.resource_provider.not_found"
QUERY_BAD_VALUE = "placement.query.bad_value"
QUERY_DUPLICATE_KEY = "placement.query.duplicate_key"
QUERY_MISSING_VALUE = "placement.query.missing_value"

CODES = frozenset(
    {
        CODE_DEFAULT,
        CONCURRENT_UPDATE,
        DUPLICATE_NAME,
        INVENTORY_IN_USE,
        KEY_REUSED,
        NO_CANDIDATES,
        POSITION_GONE,
        PROVIDER_CANNOT_DELETE_PARENT,
        PROVIDER_IN_USE,
        PROVIDER_NOT_FOUND,
        QUERY_BAD_VALUE,
        QUERY_DUPLICATE_KEY,
        QUERY_MISSING_VALUE,
    }
)

# How long a client should wait before it asks again, when the database is away.
RETRY_AFTER_SECONDS = 1


class Answer(NamedTuple):
    status: int
    code: str = CODE_DEFAULT


# The entry of the nearest base class holds.
ANSWERS: dict[type[errors.RoostError], Answer] = {
    errors.RoostError: Answer(500),
    errors.BadRequest: Answer(400),
    errors.NotFound: Answer(404),
    errors.Conflict: Answer(409),
    errors.ConcurrentUpdate: Answer(409, CONCURRENT_UPDATE),
    errors.ProviderGenerationConflict: Answer(409, CONCURRENT_UPDATE),
    errors.ConsumerGenerationConflict: Answer(409, CONCURRENT_UPDATE),
    errors.InventoryInUse: Answer(409, INVENTORY_IN_USE),
    errors.InventoryExists: Answer(409, CONCURRENT_UPDATE),
    errors.ProviderInUse: Answer(409, PROVIDER_IN_USE),
    errors.ProviderHasChildren: Answer(409, PROVIDER_CANNOT_DELETE_PARENT),
    errors.ProviderExists: Answer(409, DUPLICATE_NAME),
    errors.NoCandidates: Answer(409, NO_CANDIDATES),
    errors.KeyReused: Answer(409, KEY_REUSED),
    errors.PositionGone: Answer(410, POSITION_GONE),
    errors.Unavailable: Answer(503),
}


def answer_to(error: errors.RoostError) -> Answer:
    """What the table says for this error."""
    return next(ANSWERS[kind] for kind in type(error).__mro__ if kind in ANSWERS)


def to_http(error: errors.RoostError) -> HttpError:
    """The same refusal, as HTTP says it."""
    status, code = answer_to(error)
    headers = {"retry-after": str(RETRY_AFTER_SECONDS)} if status == 503 else None
    # What went wrong inside is for the log, not for the client.
    message = "" if status == 503 else str(error)
    return HttpError(status, message, code, headers=headers)
