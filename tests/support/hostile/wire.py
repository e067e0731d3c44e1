"""HTTP by hand: bodies that come slowly or never, answers that are read slowly or not at all."""

import http.client
import re
import select
import socket
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tests.support.headers import HEADERS

KEPT_BYTES_MAX = 1 << 16
READ_BYTES = 1 << 18
_CODE = re.compile(rb'"code":\s*"(placement\.[^"]+)"')


class Outcome(NamedTuple):
    """What one hostile client got."""

    status: int | None  # None: no answer
    code: str  # of the error, if the answer is one
    seconds: float  # until the end of the answer, or until the client gave up
    bytes_read: int  # of the body
    body: bytes  # the beginning of it
    problem: str  # empty if a whole answer came

    @property
    def text(self) -> str:
        status = "" if self.status is None else str(self.status)
        return " ".join(filter(None, (status, self.code, self.problem)))


class Body(NamedTuple):
    """A body, and how it is sent."""

    pieces: Iterable[bytes]
    length: int | None  # None: chunked
    pause_seconds: float = 0.0  # between two pieces


def whole(data: bytes) -> Body:
    size = 1 << 18
    return Body((data[at : at + size] for at in range(0, len(data), size)), len(data))


def head(method: str, target: str, headers: Mapping[str, str], body: Body | None = None) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "host: localhost", "connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines.append("content-type: application/json")
        if body.length is None:
            lines.append("transfer-encoding: chunked")
        else:
            lines.append(f"content-length: {body.length}")
    return "\r\n".join([*lines, "", ""]).encode()


def connect(port: int, seconds_max: float, *, receive_bytes: int | None = None) -> socket.socket:
    connection = socket.socket()
    if receive_bytes is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.settimeout(seconds_max)
    connection.connect(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def exchange(
    port: int,
    method: str,
    target: str,
    body: Body | None = None,
    *,
    headers: Mapping[str, str] = HEADERS,
    seconds_max: float,
    slow_reader: bool = False,
) -> Outcome:
    """Send a request and read its answer, for so many seconds at most."""
    began = time.monotonic()
    deadline = began + seconds_max
    status: int | None = None
    received = 0
    kept = b""
    problem = ""
    try:
        with connect(port, seconds_max, receive_bytes=4096 if slow_reader else None) as connection:
            _send(connection, head(method, target, headers, body), deadline)
            if body is not None:
                _send_body(connection, body, deadline)
            connection.settimeout(max(0.01, deadline - time.monotonic()))
            response = http.client.HTTPResponse(connection, method=method)
            response.begin()
            status = response.status
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                connection.settimeout(left)
                part = response.read1(4096 if slow_reader else READ_BYTES)
                if not part:
                    break
                received += len(part)
                if len(kept) < KEPT_BYTES_MAX:
                    kept += part[: KEPT_BYTES_MAX - len(kept)]
                if slow_reader:
                    time.sleep(0.1)
            if response.length:
                problem = "cut off"
    except TimeoutError:
        problem = f"no {'answer' if status is None else 'end'} in {seconds_max:g} s"
    except (OSError, http.client.HTTPException) as error:
        problem = f"cut off ({type(error).__name__})"
    return Outcome(status, code_of(status, kept), time.monotonic() - began, received, kept, problem)


def code_of(status: int | None, body: bytes) -> str:
    found = _CODE.search(body) if status is not None and status >= 400 else None
    return found[1].decode(errors="replace") if found else ""


def _send_body(connection: socket.socket, body: Body, deadline: float) -> None:
    """Send the pieces, until the answer comes."""
    for piece in body.pieces:
        if body.length is None:
            piece = b"%x\r\n%s\r\n" % (len(piece), piece)
        if not _send(connection, piece, deadline):
            return
        # `_send` ends a body without end at the deadline.
        if body.pause_seconds and _wait(connection, select.POLLIN, body.pause_seconds):
            return
    if body.length is None:
        _send(connection, b"0\r\n\r\n", deadline)


def _send(connection: socket.socket, data: bytes, deadline: float) -> bool:
    """False if the service has answered, or closed the connection, before it had read all."""
    rest = memoryview(data)
    while rest:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        events = _wait(connection, select.POLLIN | select.POLLOUT, left)
        if events & ~select.POLLOUT:
            return False
        if events:
            try:
                rest = rest[connection.send(rest[: 1 << 18]) :]
            except (BrokenPipeError, ConnectionResetError):
                return False
    return True


def _wait(connection: socket.socket, events: int, seconds: float) -> int:
    """What of these events happened within so many seconds, as bits; 0 if nothing did."""
    poll = select.poll()  # unlike select(), for any number of open files
    poll.register(connection, events)
    return sum(happened for _, happened in poll.poll(seconds * 1000))
