"""Reads bodies of requests without a thread, within a time, a size, and an amount of memory."""

import asyncio
import io
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Protocol

from roost.api.http.error_table import RETRY_AFTER_SECONDS
from roost.api.http.messages import Environ
from roost.api.http.request_reader import METHODS_WITHOUT_BODY, too_large
from roost.api.http_error import HttpError

Receive = Callable[[], Awaitable[dict[str, Any]]]

# What all bodies of a process may take together.
MEMORY_BYTES_MAX = 256 * 1024 * 1024
# The last quarter of it is for bodies of usual size.
LARGE_BODIES_SHARE = 0.75
USUAL_BYTES_MAX = 64 * 1024
# How long, and how much, a client may go on to send a body that was not wanted.
DISCARD_SECONDS_MAX = 5.0
DISCARD_BYTES_MAX = 64 * 1024 * 1024
# How long a thread waits for a body, and how often it looks. Most bodies come together with the
# head of their request, and the server needs a moment to hand them over.
AT_ONCE_SECONDS_MAX = 0.001
LOOK_SECONDS = 0.00002


class Body(Protocol):
    """What the application reads from."""

    def read(self, size: int = -1, /) -> bytes: ...


class RefusedBody:
    """Refuses the request when the application wants to read its body.

    So the answer, the log and the metrics are those of any other refusal, and what refuses a
    request without its body, such as a missing token, comes first.
    """

    def __init__(self, error: HttpError) -> None:
        self._error = error

    def read(self, size: int = -1, /) -> bytes:
        raise self._error


class Disconnected(Exception):
    """The client is gone, so nobody waits for an answer."""


def has_body(environ: Environ) -> bool:
    """Whether a request has a body that the application might read."""
    if environ["REQUEST_METHOD"] in METHODS_WITHOUT_BODY:
        return False
    length = environ.get("CONTENT_LENGTH")
    if length is None:
        # In HTTP/1 there would be a header. In HTTP/2 there need not be one.
        return "HTTP_TRANSFER_ENCODING" in environ or environ["SERVER_PROTOCOL"] == "HTTP/2"
    return bool(length != "0")


def is_usual(environ: Environ) -> bool:
    """Whether a body is known to be so small that a thread may read it."""
    length = environ.get("CONTENT_LENGTH", "")
    return length.isdecimal() and len(length) <= 5 and int(length) <= USUAL_BYTES_MAX


def read_at_once(receive: Receive, length: int) -> "bytes | Receive":
    """The body of a request, in a thread; or, if it takes longer, from where to receive it.

    Waking up the event loop for it would take as long as a small request.
    """
    # granian's own awaitable can be asked without an event loop. If a release of it could not, no
    # request with a body would be answered, and the suites over HTTP would say so.
    pending: Any = receive()
    deadline = time.monotonic() + AT_ONCE_SECONDS_MAX
    while not pending.done():
        if time.monotonic() > deadline:
            return _after(pending, receive)
        time.sleep(LOOK_SECONDS)
    message = pending.result()
    if message["type"] == "http.request" and len(message["body"]) == length:
        return bytes(message["body"])
    return _after(_made(message), receive)


async def _made(message: dict[str, Any]) -> dict[str, Any]:
    return message


def _after(first: Awaitable[dict[str, Any]], receive: Receive) -> Receive:
    """Receives a message that was asked for already, then the others."""
    asked = [first]
    return lambda: asked.pop() if asked else receive()


async def discard(receive: Receive) -> None:
    """Let a client that was answered already finish sending, within limits.

    Most clients read the answer only then. Without it, they would only see that the connection was
    reset.
    """
    size = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SECONDS_MAX):
            while size < DISCARD_BYTES_MAX:
                message = await receive()
                if not message.get("more_body", False):
                    return
                size += len(message["body"])


class BodyReader:
    """Reads the bodies of one process. Only for its event loop."""

    def __init__(self, seconds_max: float, memory_bytes_max: int = MEMORY_BYTES_MAX) -> None:
        self._seconds_max = seconds_max
        self._memory_bytes_max = memory_bytes_max
        self._bytes_held = 0

    async def read(self, environ: Environ, receive: Receive, bytes_max: int) -> tuple[Body, int]:
        """The body, and how many bytes to `release` once it has been used.

        Raises `Disconnected`.
        """
        declared = environ.get("CONTENT_LENGTH", "")
        if declared.isdecimal() and int(declared) > bytes_max:
            return RefusedBody(too_large(bytes_max)), 0
        chunks: list[bytes] = []
        try:
            async with asyncio.timeout(self._seconds_max):
                await self._collect(chunks, receive, bytes_max)
        except TimeoutError:
            refusal = HttpError(408, f"The body did not arrive within {self._seconds_max:g} s.")
        except HttpError as error:
            refusal = error
        except BaseException:
            self.release(sum(map(len, chunks)))
            raise
        else:
            body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
            if "CONTENT_LENGTH" not in environ and "HTTP_TRANSFER_ENCODING" not in environ:
                environ["CONTENT_LENGTH"] = str(len(body))
            return io.BytesIO(body), len(body)
        self.release(sum(map(len, chunks)))
        return RefusedBody(refusal), 0

    def release(self, count: int) -> None:
        """The bytes of a body are no longer held in memory."""
        self._bytes_held -= count

    async def _collect(self, chunks: list[bytes], receive: Receive, bytes_max: int) -> None:
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise Disconnected
            chunk: bytes = message["body"]
            size += len(chunk)
            if size > bytes_max:
                raise too_large(bytes_max)
            self._hold(len(chunk), is_large=size > USUAL_BYTES_MAX)
            chunks.append(chunk)
            if not message.get("more_body", False):
                return

    def _hold(self, count: int, *, is_large: bool) -> None:
        share = LARGE_BODIES_SHARE if is_large else 1
        if self._bytes_held + count > share * self._memory_bytes_max:
            raise HttpError(
                503,
                "Too many large bodies are arriving at once. Please retry later.",
                headers={"retry-after": str(RETRY_AFTER_SECONDS)},
            )
        self._bytes_held += count
