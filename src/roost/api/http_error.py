"""A refusal as HTTP knows it, and the codes that tell clients why.

It lies below every other module of the API, since all of them refuse requests.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum


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
