"""The errors that the client raises.

ClientError
├── Unreachable            no answer; unless `sent` is false, a write may have taken effect
├── VersionUnavailable     the service is too old for a request
├── NotUnderstood          the answer is not that of a placement service
└── ApiError               the service refused the request
    ├── BadRequest         400
    ├── Unauthorized       401
    ├── Forbidden          403
    ├── NotFound           404
    ├── Conflict           409
    │   └── ConcurrentUpdate   another client wrote first: read again, then decide again
    ├── Gone               410
    └── Unavailable        503
"""


class ClientError(Exception):
    """The base of all errors of the client."""


class Unreachable(ClientError):
    """The service did not answer."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent  # whether the request may have had an effect


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
        self.code = code
        self.request_id = request_id


class BadRequest(ApiError):
    pass


class Unauthorized(ApiError):
    pass


class Forbidden(ApiError):
    pass


class NotFound(ApiError):
    pass


class Conflict(ApiError):
    pass


class ConcurrentUpdate(Conflict):
    """Another client wrote first. Read again, then decide again."""


class Gone(ApiError):
    """The position of an event is too old: the events after it are no longer stored."""


class Unavailable(ApiError):
    """The service cannot answer at the moment."""

    retry_after = 0.0  # seconds that the service asks the client to wait


CONCURRENT_UPDATE = "placement.concurrent_update"

_KINDS: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    503: Unavailable,
}


def api_error(
    status: int, detail: str, *, code: str = "", request_id: str | None = None
) -> ApiError:
    """The exception for an error status."""
    kind = _KINDS.get(status, ApiError)
    if kind is Conflict and code == CONCURRENT_UPDATE:
        kind = ConcurrentUpdate
    return kind(status, detail, code=code, request_id=request_id)
