"""What can go wrong between a client and the service.

ClientError
├── Unreachable            no answer: the outcome of a write is unknown, unless `sent` is false
├── VersionUnavailable     the service does not speak a version that is needed
├── NotUnderstood          an answer that makes no sense
└── ApiError               the service refused
    ├── BadRequest         400
    ├── Unauthorized       401
    ├── Forbidden          403
    ├── NotFound           404
    ├── Conflict           409
    │   └── ConcurrentUpdate   placement.concurrent_update: read again, then decide again
    ├── Gone               410
    └── Unavailable        503
"""


class ClientError(Exception):
    """Whatever goes wrong."""


class Unreachable(ClientError):
    """There was no answer."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent  # whether the request may have had an effect


class VersionUnavailable(ClientError):
    """The service does not speak a version that is needed."""


class NotUnderstood(ClientError):
    """An answer that makes no sense: it does not come from a placement service."""


class ApiError(ClientError):
    """The service refused."""

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
    """Somebody else wrote first."""


class Gone(ApiError):
    """What was asked for is no longer there."""


class Unavailable(ApiError):
    """The service cannot do its work just now."""

    retry_after = 0.0  # seconds; what the service asks for


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
    """The exception for a refusal."""
    kind = _KINDS.get(status, ApiError)
    if kind is Conflict and code == CONCURRENT_UPDATE:
        kind = ConcurrentUpdate
    return kind(status, detail, code=code, request_id=request_id)
