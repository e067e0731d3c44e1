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
# Of bodies that come together with the head of their request: the server receives as much at a
# time. Those of all connections of a process take no more than half of the memory above.
AT_ONCE_BYTES_MAX = 8 * 1024
# After how long the event loop waits for the body instead.
AT_ONCE_SECONDS_MAX = 0.05


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
        return "HTTP_TRANSFER_ENCODING" in environ
    return bool(length != "0")


def comes_at_once(environ: Environ) -> bool:
    """Whether a body is known to be so small that it usually comes together with its head."""
    length = environ.get("CONTENT_LENGTH", "")
    return length.isdecimal() and len(length) <= 4 and int(length) <= AT_ONCE_BYTES_MAX


class ArrivingBodies:
    """Small bodies that are about to arrive, for the threads of the server.

    Such a thread does not wait: whichever of them the server lets receive the body goes on with the
    request. Waking up the event loop for it would take as long as a small request, and so would a
    thread that waits, since the one that receives needs the interpreter at the same time.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._awaited: set[Arrival] = set()
        self._is_due = False

    def read(self, receive: Receive, length: int, then: "TakeBody") -> None:
        """Call `then` once: here or in another thread with the body, or with what receives it.

        The latter if there is more to receive, or if it takes long.
        """
        pending: Any = receive()
        if pending.done():
            then(_received(pending.result(), length, receive))
            return
        arrival = Arrival(pending, receive, length, then, self)
        self._awaited.add(arrival)
        self._sweep_soon()
        pending.add_done_callback(lambda _: arrival.finish())

    def forget(self, arrival: "Arrival") -> None:
        self._awaited.discard(arrival)

    def _sweep_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            # The event loop may have ended, and the process will.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(
                    self._loop.call_later, AT_ONCE_SECONDS_MAX, self._sweep
                )

    def _sweep(self) -> None:
        """Leave bodies that take long to the event loop, which gives up after some time."""
        # First: what is added from now on asks for another sweep.
        self._is_due = False
        late = time.monotonic() - AT_ONCE_SECONDS_MAX
        for arrival in list(self._awaited):
            if arrival.asked_at < late:
                arrival.give_up()
        if self._awaited:
            self._sweep_soon()


class Arrival:
    """A body that is about to arrive."""

    def __init__(
        self,
        pending: Any,
        receive: Receive,
        length: int,
        then: "TakeBody",
        bodies: ArrivingBodies,
    ) -> None:
        self.asked_at = time.monotonic()
        self._pending = pending
        self._receive = receive
        self._length = length
        self._bodies = bodies
        # Taken by who goes on with the request: several threads may want to.
        self._then = [then]

    def finish(self) -> None:
        """Go on with what has arrived, unless somebody did."""
        then = self._take()
        if then is None:
            return
        then(_received(self._pending.result(), self._length, self._receive))

    def give_up(self) -> None:
        """Let somebody else receive it, unless it has arrived."""
        then = self._take()
        if then is not None:
            then(_after(self._pending, self._receive))

    def _take(self) -> "TakeBody | None":
        self._bodies.forget(self)
        try:
            return self._then.pop()
        except IndexError:
            return None


# Takes a body, or what receives it.
TakeBody = Callable[["bytes | Receive"], None]


def _received(message: dict[str, Any], length: int, receive: Receive) -> "bytes | Receive":
    """The whole body, or what receives it."""
    if message["type"] == "http.request" and len(message["body"]) == length:
        return bytes(message["body"])
    return _after(_made(message), receive)


async def _made(message: dict[str, Any]) -> dict[str, Any]:
    return message


def _after(first: Awaitable[dict[str, Any]], receive: Receive) -> Receive:
    """Receives a message that was asked for already, then the others."""
    asked = [first]
    return lambda: asked.pop() if asked else receive()


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
