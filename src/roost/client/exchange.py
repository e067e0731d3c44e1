"""What happens between a call and its answer: versions, authentication, retries and errors.

Nothing here does I/O. A call is a generator of steps; a client takes each step, and hands back what
came of it. That the service cannot be reached is such a result, too: what follows is decided here.
"""

import random
from collections.abc import Generator, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET

from roost.client import wire
from roost.client.calls import Call, Query, Version
from roost.client.errors import (
    ApiError,
    ConcurrentUpdate,
    NotUnderstood,
    Unauthorized,
    Unavailable,
    Unreachable,
    VersionUnavailable,
    api_error,
)

VERSION_HEADER = "openstack-api-version"
REQUEST_ID_HEADER = "x-openstack-request-id"

# The newest version that this client knows. For an older service it uses the service's newest.
VERSION_MAX = (1, 39)

TIMEOUT_SECONDS = 30.0
RETRIES = 4
_PAUSE_SECONDS_MIN = 0.05
_PAUSE_SECONDS_MAX = 5.0

Answer = TypeVar("Answer")


class Send(NamedTuple):
    """A step: send a request. What comes of it is a `Response`."""

    method: str
    url: str
    query: Query
    headers: Mapping[str, str]
    content: bytes | None
    wait: float  # seconds that the service may take on purpose


class Response(NamedTuple):
    """The answer of the service, or of a proxy before it."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class _Service(NamedTuple):
    """What `GET /` says of the service."""

    version: Version  # the newest that it knows
    extensions: frozenset[str]


class Locate(NamedTuple):
    """A step: find out the URL of the service."""


class Authenticate(NamedTuple):
    """A step: get the headers that authenticate a request."""

    renewed: bool  # the last token was refused


class Pause(NamedTuple):
    """A step: wait."""

    seconds: float


Step = Locate | Authenticate | Send | Pause
# What is sent into the generator is what came of a step.
Steps = Generator[Step, Any, Answer]


class Exchange:
    """The calls of one client. Thread-safe."""

    def __init__(self, url: str | None, *, retries: int, request_id: str | None) -> None:
        self.url = url  # None: not known yet
        self._retries = retries
        self._request_id = request_id
        self._service: _Service | None = None  # None: not read yet
        self.service_time: datetime | None = None

    def version(self) -> Steps[Version]:
        """The newest version that both sides know; read from the service once."""
        service = yield from self._known_service()
        return min(service.version, VERSION_MAX)

    def extensions(self) -> Steps[frozenset[str]]:
        """What the service can do beyond the Placement API; read with its version, once."""
        service = yield from self._known_service()
        return service.extensions

    def _known_service(self) -> Steps["_Service"]:
        if self._service is None:
            root = Call(method="GET", path="/", read=self._read_service)
            self._service = yield from self._attempt(root, None)
        return self._service

    def _read_service(self, found: Any) -> "_Service":
        try:
            major, minor = map(int, found["versions"][0]["max_version"].split("."))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise NotUnderstood(f"{self.url} is not a placement service") from None
        return _Service((major, minor), wire.extensions(found))

    def call(self, call: Call[Answer]) -> Steps[Answer]:
        """Send a request until it is answered or refused."""
        version = yield from self.version()
        if version < call.since:
            raise VersionUnavailable(
                f"{call.method} {call.path} needs version {_text(call.since)}, the service speaks "
                f"{_text(version)}"
            )
        return (yield from self._attempt(call, min(version, call.until or VERSION_MAX)))

    def _attempt(self, call: Call[Answer], version: Version | None) -> Steps[Answer]:
        attempt, renewed = 0, False
        repeatable = call.repeatable or call.method == "GET"
        while True:
            pause = 0.0
            is_last = attempt >= self._retries and not call.patient
            try:
                return (yield from self._once(call, version, renewed=renewed))
            except Unreachable as error:
                if is_last or (error.sent and not repeatable):
                    raise
            except Unauthorized:
                # The token may have expired, or have been revoked.
                if renewed:
                    raise
                renewed = True
                continue
            except Unavailable as error:
                # Nothing was written, or the outcome of the write is unknown. In the second case
                # the generation in the request keeps it from taking effect twice.
                if is_last:
                    raise
                pause = error.retry_after
            except ConcurrentUpdate as error:
                if not call.races or is_last or "consumer generation" in error.detail:
                    raise
            except ApiError as error:
                # From a proxy: the service may or may not have got the request.
                lost = error.status in (502, 504)
                if not lost or not repeatable or is_last:
                    raise
            attempt, renewed = attempt + 1, False
            yield Pause(max(pause, _pause(attempt)))

    def _once(self, call: Call[Answer], version: Version | None, *, renewed: bool) -> Steps[Answer]:
        if self.url is None:
            self.url = yield from _outcome(Locate())
        headers = {"accept": "application/json"}
        headers |= yield from _outcome(Authenticate(renewed))
        if version is not None:
            headers[VERSION_HEADER] = f"placement {_text(version)}"
        if self._request_id is not None:
            headers[REQUEST_ID_HEADER] = self._request_id
        content = None
        if call.body is not None:
            content = msgspec.json.encode(call.body)
            headers["content-type"] = "application/json"
        response: Response = yield from _outcome(
            Send(call.method, self.url + call.path, call.query, headers, content, call.wait)
        )
        self.service_time = _date(response.headers.get("date"))
        if response.status == 404 and call.absent is not UNSET:
            return call.absent
        if response.status >= 400:
            raise _refusal(response)
        if response.status == 200 and not response.content:
            # A server that stops may end an answer before it has said anything.
            raise Unreachable(f"{call.method} {call.path}: the answer is empty")
        try:
            content = response.content
            found = msgspec.json.decode(content, type=call.shape) if content else None
            return call.read(found)
        except msgspec.ValidationError as error:
            reason = f"not understood: {error}"
        except msgspec.DecodeError:
            reason = "not JSON"
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            reason = f"not understood: {error!r}"
        raise NotUnderstood(f"{call.method} {call.path}: the answer is {reason}")


def _outcome(step: Step) -> Steps[Any]:
    """What came of a step, or the error that it failed with."""
    found = yield step
    if isinstance(found, Unreachable):
        raise found
    return found


def _text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


def _pause(attempt: int) -> float:
    longest = min(_PAUSE_SECONDS_MAX, _PAUSE_SECONDS_MIN * 2 ** min(attempt, 10))
    return random.uniform(0, longest)


def _refusal(response: Response) -> ApiError:
    detail, code = response.content.decode("utf-8", "replace"), ""
    request_id = response.headers.get(REQUEST_ID_HEADER)
    try:
        found = msgspec.json.decode(response.content)["errors"][0]
        # The detail is the explanation of the status, a blank line, and the message.
        detail = found["detail"].rpartition("\n\n")[2].strip() or found["detail"].strip()
        code = found.get("code", "")
    except (msgspec.DecodeError, KeyError, IndexError, TypeError, AttributeError):
        # The answer is not from the service but from a proxy.
        pass
    error = api_error(response.status, detail, code=code, request_id=request_id)
    if isinstance(error, Unavailable):
        error.retry_after = _seconds(response.headers.get("retry-after"))
    return error


def _date(text: str | None) -> datetime | None:
    try:
        return None if text is None else parsedate_to_datetime(text)
    except ValueError:
        return None


def _seconds(text: str | None) -> float:
    try:
        return min(_PAUSE_SECONDS_MAX, float(text or 0))
    except ValueError:
        return 0.0
