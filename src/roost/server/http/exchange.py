"""One request on a connection, and its answer, as ASGI has them: a scope, `receive` and `send`.

Unlike in ASGI, both may be called in any thread, and do their work when they are called. What they
give back need not be awaited.
"""

from threading import Lock
from typing import Any, Protocol

from roost.server.http import head
from roost.server.http.later import Arrived, Later, Message

# How much of an answer may wait for its client before `send` gives back something to wait for: of
# one whose length is known, and of a stream, of which there may be many.
WAITING_BYTES_MAX = 2 * 1024 * 1024
STREAM_WAITING_BYTES_MAX = 64 * 1024
# Longer bodies are not copied behind their heads.
JOINED_BYTES_MAX = 16 * 1024

_GONE: Message = {"type": "http.disconnect"}


class Line(Protocol):
    """What an exchange needs of the connection on which it takes place."""

    lock: Lock
    is_closed: bool

    @property
    def is_stopping(self) -> bool:
        """Whether each answer is to be the last one."""

    def arm_if_idle(self) -> None:
        """The exchange needs something else now. With the lock."""

    def write(self, parts: list[bytes], waiting_max: int) -> Later | None:
        """Send; what happens when all is sent, if more than that waits."""

    def write_soon(self, parts: list[bytes]) -> None:
        """Send. With the lock."""

    def finish(self, exchange: "HttpExchange") -> None:
        """The answer is complete."""

    def lose(self, *, is_reset: bool = False) -> None:
        """Close the connection; with a reset, so that the client sees an error."""


class HttpExchange:
    """A request, from its head to the end of its answer.

    The connection fills in what arrives, and holds its lock meanwhile.
    """

    __slots__ = (
        "_answer",
        "_awaits_continue",
        "_has_no_body",
        "_is_chunked",
        "_is_head",
        "_is_old",
        "_is_received",
        "_length_is_known",
        "_line",
        "_scope",
        "chunks",
        "is_complete",
        "is_over",
        "keeps_alive",
        "pending",
    )

    def __init__(
        self, line: Line, scope: dict[str, Any], keeps_alive: bool, awaits_continue: bool
    ) -> None:
        self._scope = scope
        scope["cut_off"] = self.cut_off
        scope["fail"] = self.fail
        # Of the body: what has arrived and was not received, whether that is all, and who waits.
        self.chunks: list[bytes] = []
        self.is_complete = False
        self._is_received = False
        self.pending: Later | None = None
        self.keeps_alive = keeps_alive
        self.is_over = False  # the whole answer was sent, or never will be
        self._line = line
        self._awaits_continue = awaits_continue
        self._has_no_body = False
        self._is_head = scope["method"] == "HEAD"
        self._is_old = scope["http_version"] == "1.0"
        self._answer: Message | None = None  # of which nothing was sent yet
        self._length_is_known = False
        self._is_chunked = False

    # -----------------------------------------------------------------------------------------
    # The request

    def take_scope(self) -> dict[str, Any]:
        """What the request is. The scope knows the exchange, which therefore keeps it no longer.

        Otherwise what belongs to a request would stay in memory until the garbage collector comes.
        """
        scope, self._scope = self._scope, {}
        return scope

    def receive(self) -> Any:
        """The next part of the body, or that the client is gone."""
        line = self._line
        with line.lock:
            if self.is_over or line.is_closed:
                return Arrived(_GONE)
            if self.has_more_to_receive:
                return Arrived(self.take_body())
            self.pending = Later()
            if self._awaits_continue and not (self.is_complete or self.has_begun):
                self._awaits_continue = False
                line.write_soon([head.CONTINUE])
            line.arm_if_idle()
            return self.pending

    def take_body(self) -> Message:
        """What has arrived of the body. With the lock of the connection."""
        body = self.chunks[0] if len(self.chunks) == 1 else b"".join(self.chunks)
        self.chunks = []
        self._is_received = self.is_complete
        return {"type": "http.request", "body": body, "more_body": not self.is_complete}

    @property
    def has_more_to_receive(self) -> bool:
        return bool(self.chunks) or (self.is_complete and not self._is_received)

    @property
    def waits_for_body(self) -> bool:
        return self.pending is not None and not self.is_complete

    def lose_client(self) -> Later | None:
        """Whom to tell that the client is gone. With the lock of the connection."""
        pending, self.pending = self.pending, None
        self.is_over = True
        return pending

    @staticmethod
    def tell_gone(pending: Later | None) -> None:
        if pending is not None:
            pending.happen(_GONE)

    # -----------------------------------------------------------------------------------------
    # The answer

    def send(self, message: Message) -> Later | None:
        """Send the head, or a part of the body. What is given back can be awaited; None: no need.

        The head is sent with the first part, even if that is empty.
        """
        if message["type"] == "http.response.start":
            self._answer = message
            return None
        if self.is_over:
            return None
        body: bytes = b"" if self._has_no_body else message.get("body", b"")
        has_more = message.get("more_body", False)
        begun, self._answer = self._answer, None
        if begun is not None and begun["status"] in head.BODILESS:
            self._has_no_body, body = True, b""
        before = b"" if begun is None else self._begin(begun, body, has_more=has_more)
        parts = self._framed(before, body, is_last=not has_more)
        waiting_max = WAITING_BYTES_MAX if self._length_is_known else STREAM_WAITING_BYTES_MAX
        later = self._line.write(parts, waiting_max) if parts else None
        if not has_more:
            self._line.finish(self)
        return later

    def cut_off(self) -> None:
        """End the connection, so that nobody takes what was sent for the whole answer."""
        if not self.is_over:
            # Where nothing says how long the answer is, the end of the connection does.
            self._line.lose(is_reset=self._is_old)

    def fail(self) -> None:
        """Whoever should have answered has failed."""
        if self.is_over:
            return
        if not self.has_begun:
            self.keeps_alive = False
            refusal = head.refusal(500, "The server could not answer.")
            self._line.write([refusal], WAITING_BYTES_MAX)
            self._line.finish(self)
        else:
            self.cut_off()

    @property
    def has_begun(self) -> bool:
        return self._length_is_known or self._is_chunked

    def _begin(self, start: Message, body: bytes, *, has_more: bool) -> bytes:
        status, headers = start["status"], start["headers"]
        lines: list[bytes] = []
        if not self.is_complete:
            # What is left of the request will not be read as another one.
            self.keeps_alive = False
        if head.has_length(headers):
            self._length_is_known = True
        elif status in head.BODILESS or not has_more:
            self._length_is_known = True
            if status not in head.BODILESS:
                lines.append(b"content-length: %d\r\n" % len(body))
        elif self._is_old:
            # It ends with the connection.
            self._length_is_known = True
            self.keeps_alive = False
        else:
            self._is_chunked = True
            lines.append(b"transfer-encoding: chunked\r\n")
        if not self.keeps_alive or self._line.is_stopping:
            self.keeps_alive = False
            lines.append(b"connection: close\r\n")
        elif self._is_old:
            lines.append(b"connection: keep-alive\r\n")
        return head.head(status, headers, *lines)

    def _framed(self, before: bytes, body: bytes, *, is_last: bool) -> list[bytes]:
        """What goes over the connection: the head, if it was not sent yet, and this of the body."""
        if self._is_head:
            body = b""
        elif self._is_chunked:
            before += b"%x\r\n" % len(body) if body else b""
            after = (b"\r\n" if body else b"") + (b"0\r\n\r\n" if is_last else b"")
            if len(body) > JOINED_BYTES_MAX:
                return [before, body, after]
            body += after
        if not before or len(body) <= JOINED_BYTES_MAX:
            joined = before + body if before else body
            return [joined] if joined else []
        return [before, body]
