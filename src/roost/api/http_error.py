"""A refusal as HTTP knows it, and the codes that tell clients why.

It lies below every other module of the API, since all of them refuse requests.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple


class ErrorCode(StrEnum):
    """The `code` of an error. Codes are part of the API: once set, they are set."""

    UNDEFINED = "placement.undefined_code"
    ANSWER_TOO_LARGE = "placement.answer_too_large"
    CONCURRENT_UPDATE = "placement.concurrent_update"
    DUPLICATE_NAME = "placement.duplicate_name"
    HOLD_TOO_SOON = "placement.hold_too_soon"
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
    SEARCH_TOO_HARD = "placement.search_too_hard"
    TOO_MANY_LONG_REQUESTS = "placement.too_many_long_requests"


class ErrorHelp(NamedTuple):
    """What a client, or whoever looks after it, should know about a code."""

    status: int | None  # None: any
    cause: str
    remedy: str


ERROR_HELP: Mapping[ErrorCode, ErrorHelp] = {
    ErrorCode.UNDEFINED: ErrorHelp(
        None,
        "Every error without a code of its own, such as a body that is not valid, a path that does "
        "not exist, or an amount that exceeds the capacity.",
        "Read `detail`: it says what is wrong with the request.",
    ),
    ErrorCode.ANSWER_TOO_LARGE: ErrorHelp(
        400,
        "A search without a `limit` has more candidates than an answer may hold "
        "(`[roost]answer_bytes_max`).",
        "Send a `limit`, or ask for more specific traits, aggregates or trees.",
    ),
    ErrorCode.CONCURRENT_UPDATE: ErrorHelp(
        409,
        "The generation in the request is not the current one, or another writer was first. "
        "Nothing was written.",
        "Read the provider or consumer again, decide again with what you have read, and send the "
        "new generation.",
    ),
    ErrorCode.DUPLICATE_NAME: ErrorHelp(
        409,
        "The UUID or the name of the provider is already in use.",
        "Look for the provider with `GET /resource_providers?name=` or `?uuid=`; use it, or choose "
        "another name.",
    ),
    ErrorCode.HOLD_TOO_SOON: ErrorHelp(
        409,
        "The tree is held already, or rests after a hold, so that claims can go on in between.",
        "Wait for the end of that hold, and try again; or reshape without a hold.",
    ),
    ErrorCode.INVENTORY_IN_USE: ErrorHelp(
        409,
        "The write would remove an inventory that has allocations.",
        "Move or delete the allocations first (`GET /resource_providers/{uuid}/allocations` names "
        "the consumers), or move both with `POST /reshaper`.",
    ),
    ErrorCode.KEY_REUSED: ErrorHelp(
        409,
        "The idempotency key was used before, for a different request.",
        "Use a new key for each request, and the same key only to repeat that request.",
    ),
    ErrorCode.NO_CANDIDATES: ErrorHelp(
        409,
        "No candidate fits all consumers of the request. Nothing was claimed.",
        "Ask `GET /allocation_candidates/explain` with the same query which rule leaves nothing, "
        "and what would fit.",
    ),
    ErrorCode.POSITION_GONE: ErrorHelp(
        410,
        "The events after this position are no longer available: the client was away for longer "
        "than they are kept.",
        "Read the state again (`GET /resource_providers`, `GET /allocations`), then follow "
        "`GET /events` from the position that it gives without `after`.",
    ),
    ErrorCode.PROVIDER_CANNOT_DELETE_PARENT: ErrorHelp(
        409,
        "The provider has children.",
        "Delete the children first, from the leaves up; `roost provider delete --tree` does so.",
    ),
    ErrorCode.PROVIDER_IN_USE: ErrorHelp(
        409,
        "The provider has allocations.",
        "Move or delete the consumers that `GET /resource_providers/{uuid}/allocations` names; "
        "`roost audit` finds those that nobody knows any more.",
    ),
    ErrorCode.PROVIDER_NOT_FOUND: ErrorHelp(
        400,
        "A provider that the body names does not exist.",
        "Create it first, or correct its UUID.",
    ),
    ErrorCode.QUERY_BAD_VALUE: ErrorHelp(
        400,
        "A parameter of the query string has a value that it does not take.",
        "Correct the value; `detail` quotes it and says what is expected.",
    ),
    ErrorCode.QUERY_DUPLICATE_KEY: ErrorHelp(
        400,
        "A parameter of the query string is repeated, and may not be.",
        "Send it once. Some parameters may be repeated in newer microversions.",
    ),
    ErrorCode.QUERY_MISSING_VALUE: ErrorHelp(
        400,
        "A parameter that the request needs is missing.",
        "Send the parameter that `detail` names.",
    ),
    ErrorCode.SEARCH_TOO_HARD: ErrorHelp(
        400,
        "The search used up its time (`[roost]search_seconds_max`) and gave up. It does not say "
        "that nothing fits.",
        "`detail` says what made the search hard and what would help: fewer groups, a `limit`, one "
        "tree at a time (`in_tree`). An operator can allow more time.",
    ),
    ErrorCode.TOO_MANY_LONG_REQUESTS: ErrorHelp(
        503,
        "More searches that take long are being worked on, or more long answers sent, than a "
        "process accepts.",
        "Send the request again after the seconds in `retry-after`. If that happens often, send "
        "fewer at a time, or run more workers.",
    ),
}


class HttpError(Exception):
    """A request is refused, with this status and message."""

    def __init__(
        self,
        status: int,
        message: str = "",
        code: str = ErrorCode.UNDEFINED,
        *,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.headers = dict(headers or {})
        self.extra = dict(extra or {})  # more fields of the error, beside `detail`


def method_not_allowed(allowed: Iterable[str]) -> HttpError:
    return HttpError(
        405,
        "The method specified is not allowed for this resource.",
        headers={"allow": ", ".join(allowed)},
    )
