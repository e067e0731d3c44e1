"""The one table that gives errors of the service their status and code."""

from typing import NamedTuple

from roost import errors
from roost.api.http_error import ErrorCode, HttpError

# How long a client should wait before it tries again while the database is unavailable.
RETRY_AFTER_SECONDS = 1


class ErrorEntry(NamedTuple):
    status: int
    code: ErrorCode = ErrorCode.UNDEFINED


# An error without an entry has that of its nearest base class.
ERROR_TABLE: dict[type[errors.RoostError], ErrorEntry] = {
    errors.RoostError: ErrorEntry(500),
    errors.BadRequest: ErrorEntry(400),
    errors.SearchTooHard: ErrorEntry(400, ErrorCode.SEARCH_TOO_HARD),
    errors.AnswerTooLarge: ErrorEntry(400, ErrorCode.ANSWER_TOO_LARGE),
    errors.NotFound: ErrorEntry(404),
    errors.Conflict: ErrorEntry(409),
    errors.ConcurrentUpdate: ErrorEntry(409, ErrorCode.CONCURRENT_UPDATE),
    errors.ProviderGenerationConflict: ErrorEntry(409, ErrorCode.CONCURRENT_UPDATE),
    errors.ConsumerGenerationConflict: ErrorEntry(409, ErrorCode.CONCURRENT_UPDATE),
    errors.InventoryInUse: ErrorEntry(409, ErrorCode.INVENTORY_IN_USE),
    errors.InventoryExists: ErrorEntry(409, ErrorCode.CONCURRENT_UPDATE),
    errors.ProviderInUse: ErrorEntry(409, ErrorCode.PROVIDER_IN_USE),
    errors.ProviderHasChildren: ErrorEntry(409, ErrorCode.PROVIDER_CANNOT_DELETE_PARENT),
    errors.ProviderExists: ErrorEntry(409, ErrorCode.DUPLICATE_NAME),
    errors.NoCandidates: ErrorEntry(409, ErrorCode.NO_CANDIDATES),
    errors.HoldTooSoon: ErrorEntry(409, ErrorCode.HOLD_TOO_SOON),
    errors.KeyReused: ErrorEntry(409, ErrorCode.KEY_REUSED),
    errors.TooManyLongRequests: ErrorEntry(503, ErrorCode.TOO_MANY_LONG_REQUESTS),
    errors.PositionGone: ErrorEntry(410, ErrorCode.POSITION_GONE),
    errors.Unavailable: ErrorEntry(503),
}


def entry_for(error: errors.RoostError) -> ErrorEntry:
    return next(ERROR_TABLE[kind] for kind in type(error).__mro__ if kind in ERROR_TABLE)


def to_http(error: errors.RoostError) -> HttpError:
    """The error as a response, with the message of the error."""
    status, code = entry_for(error)
    headers = {"retry-after": str(RETRY_AFTER_SECONDS)} if status == 503 else None
    # Details of an outage are for the log of the operator, not for the client.
    message = "" if isinstance(error, errors.Unavailable) else str(error)
    return HttpError(status, message, code, headers=headers)
