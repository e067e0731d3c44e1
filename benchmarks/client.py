"""An HTTP client that costs next to nothing, so that the benchmark measures the service.

It keeps one plain socket open, and understands only what the two services send.
"""

import socket
import time
from types import TracebackType
from typing import NamedTuple, Self

VERSION = "1.39"
RECEIVE_SIZE = 1 << 18


class Request(NamedTuple):
    method: str
    target: str
    body: bytes | None = None


class Answer(NamedTuple):
    status: int
    body: bytes


class TooSlow(Exception):
    """The answer was not complete within the time limit."""


class Connection:
    def __init__(self, port: int, *, seconds_max: float = 120.0) -> None:
        self._port = port
        self._seconds_max = seconds_max
        self._socket: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def send(self, request: Request) -> Answer:
        message = encode(request)
        if self._socket is not None and is_closed(self._socket):
            # The service may have closed the connection because it was idle.
            self.close()
        try:
            return self._exchange(message)
        except BaseException:
            # The next request must not read the rest of this answer as its own.
            self.close()
            raise

    def _exchange(self, message: bytes) -> Answer:
        deadline = time.monotonic() + self._seconds_max
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), self._seconds_max)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(self._seconds_max)
        self._socket.sendall(message)
        head, body = self._receive_head(deadline)
        status = int(head[9:12])
        length = header(head, b"content-length")
        if length is None and header(head, b"transfer-encoding") == b"chunked":
            parts = self._receive_chunks(body, deadline)
        elif length is None and status != 204:
            raise RuntimeError(f"an answer without a length: {head.decode(errors='replace')}")
        else:
            parts = self._receive_body(body, int(length or 0), deadline)
        if head.startswith(b"HTTP/1.0") or header(head, b"connection") == b"close":
            self.close()
        return Answer(status, b"".join(parts))

    def _receive_body(self, begin: bytes, length: int, deadline: float) -> list[bytes]:
        parts, missing = [begin], length - len(begin)
        while missing > 0:
            part = self._receive(deadline)
            parts.append(part)
            missing -= len(part)
        return parts

    def _receive_chunks(self, received: bytes, deadline: float) -> list[bytes]:
        """The chunks of an answer whose length nobody knows before its end."""
        parts = []
        while True:
            while b"\r\n" not in received:
                received += self._receive(deadline)
            line, _, received = received.partition(b"\r\n")
            size = int(line, 16)
            # What follows a chunk is an empty line.
            *chunk, last = self._receive_body(received, size + 2, deadline)
            whole = b"".join([*chunk, last])
            received = whole[size + 2 :]
            if not size:
                return parts
            parts.append(whole[:size])

    def _receive_head(self, deadline: float) -> tuple[bytes, bytes]:
        received = b""
        while True:
            received += self._receive(deadline)
            head, end, body = received.partition(b"\r\n\r\n")
            if end:
                return head, body

    def _receive(self, deadline: float) -> bytes:
        assert self._socket is not None
        left = deadline - time.monotonic()
        if left <= 0:
            raise TooSlow
        self._socket.settimeout(left)
        try:
            part = self._socket.recv(RECEIVE_SIZE)
        except TimeoutError as error:
            raise TooSlow from error
        if not part:
            raise ConnectionResetError("the service closed the connection")
        return part


def is_closed(connection: socket.socket) -> bool:
    """Whether the service has closed the connection; between answers it sends nothing else."""
    connection.settimeout(0)
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


def encode(request: Request) -> bytes:
    body = request.body or b""
    lines = [
        f"{request.method} {request.target} HTTP/1.1",
        "host: placement",
        "accept: application/json",
        "x-auth-token: admin",
        # The reshaper requires the role `service`; all other routes accept `admin`.
        "x-roles: admin,service",
        f"openstack-api-version: placement {VERSION}",
    ]
    if request.body is not None:
        lines += ["content-type: application/json", f"content-length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def header(head: bytes, name: bytes) -> bytes | None:
    for line in head.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.lower() == name:
            return value.strip().lower()
    return None
