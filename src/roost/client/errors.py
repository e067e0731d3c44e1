"""The errors that the client raises.

ClientError
├── InvalidRequest            what the caller asks for cannot be sent, and was not
├── Unreachable               no answer; unless `sent` is false, a write may have taken effect
├── AuthenticationFailed      Keystone does not give a token, or does not know the service
├── DatabaseNotReady          `direct` cannot use the database
├── VersionUnavailable        the service is too old for a request
├── NotUnderstood             the answer is not that of a placement service
└── ApiError                  the service refused the request
    ├── BadRequest            400
    │   ├── SearchTooHard         the search gave up: it is unknown whether there is a place
    │   └── AnswerTooLarge        ask for fewer candidates, or for pages
    ├── Unauthorized          401
    ├── Forbidden             403
    ├── NotFound              404
    ├── Conflict              409
    │   ├── ConcurrentUpdate      another client wrote first: read again, then decide again
    │   ├── NoCandidates          there is no place for all consumers; nothing was claimed
    │   ├── IdempotencyKeyReused  the key was used before for a different request
    │   ├── HoldTooSoon           the tree is held already, or rests after a hold
    │   ├── DuplicateName         the name or the UUID of a provider is already in use
    │   ├── InventoryInUse        the inventory has allocations
    │   ├── ProviderInUse         the provider has allocations
    │   └── ProviderHasChildren   the provider has children
    ├── Gone                  410
    └── Unavailable           503
"""


class ClientError(Exception):
    """The base of all errors of the client."""


class InvalidRequest(ClientError, ValueError):
    """What the caller asks for cannot be sent. Nothing was sent."""


class Unreachable(ClientError):
    """The service did not answer."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent  # whether the request may have had an effect


class AuthenticationFailed(ClientError):
    """Keystone does not give a token, or does not know the service."""


class DatabaseNotReady(ClientError):
    """`direct` cannot use the database: it does not answer, or has no tables yet."""


class VersionUnavailable(ClientError):
    """The service is too old: it does not have the version that a request needs."""


class NotUnderstood(ClientError):
    """The answer does not come from a placement service."""


class ApiError(ClientError):
    """The service refused the request."""

    def __init__(
        self, status: int, detail: str, *, code: str = "", request_id: str | None = None
    ) -> None:
        super().__init__(f"{status}: {detail}" + (f" ({request_id})" if request_id else ""))
        self.status = status
        self.detail = detail
        self.code = code  # such as placement.concurrent_update; docs/reference/api.md lists all
        self.request_id = request_id


# ---------------------------------------------------------------------------------------------
# By status


class BadRequest(ApiError):
    """The request is wrong, or cannot be met in this form."""


class Unauthorized(ApiError):
    """The service does not accept the token."""


class Forbidden(ApiError):
    """The policy of the service does not allow the request."""


class NotFound(ApiError):
    """What the request is about does not exist."""


class Conflict(ApiError):
    """The request does not agree with what the service has stored."""


class Gone(ApiError):
    """The position of an event is too old: the events after it are no longer stored."""


class Unavailable(ApiError):
    """The service cannot answer at the moment."""

    retry_after = 0.0  # seconds that the service asks the client to wait


# ---------------------------------------------------------------------------------------------
# By code


class SearchTooHard(BadRequest):
    """The search gave up: it is unknown whether there is a place."""


class AnswerTooLarge(BadRequest):
    """There are more candidates than an answer may hold. Set a limit, or read pages."""


class ConcurrentUpdate(Conflict):
    """Another client wrote first. Read again, then decide again."""


class NoCandidates(Conflict):
    """There is no place for all consumers. Nothing was claimed."""


class IdempotencyKeyReused(Conflict):
    """The key was used before for a different request."""


class HoldTooSoon(Conflict):
    """The tree is held already, or rests after a hold. Go on without one, or try again later."""


class DuplicateName(Conflict):
    """The name or the UUID of a provider is already in use."""


class InventoryInUse(Conflict):
    """The inventory has allocations, so it cannot be removed."""


class ProviderInUse(Conflict):
    """The provider has allocations, so it cannot be deleted."""


class ProviderHasChildren(Conflict):
    """The provider has children, so it cannot be deleted."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    503: Unavailable,
}

# The codes on which a program acts in a way of its own.
_BY_CODE: dict[str, type[ApiError]] = {
    "placement.answer_too_large": AnswerTooLarge,
    "placement.concurrent_update": ConcurrentUpdate,
    "placement.duplicate_name": DuplicateName,
    "placement.hold_too_soon": HoldTooSoon,
    "placement.idempotency_key_reused": IdempotencyKeyReused,
    "placement.inventory.inuse": InventoryInUse,
    "placement.no_candidates": NoCandidates,
    "placement.resource_provider.cannot_delete_parent": ProviderHasChildren,
    "placement.resource_provider.inuse": ProviderInUse,
    "placement.search_too_hard": SearchTooHard,
}


def api_error(
    status: int, detail: str, *, code: str = "", request_id: str | None = None
) -> ApiError:
    """The exception for a refusal: that of its code, or else that of its status."""
    kind = _BY_STATUS.get(status, ApiError)
    special = _BY_CODE.get(code, kind)
    if issubclass(special, kind):
        kind = special
    return kind(status, detail, code=code, request_id=request_id)
