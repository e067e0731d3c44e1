"""Many event streams at once, held by one thread."""

import selectors
import socket
import time
from collections.abc import Callable

from tests.support.headers import HEADERS
from tests.support.hostile.wire import Outcome, code_of, connect, head

STREAM_HEADERS = {**HEADERS, "accept": "text/event-stream"}


class Streams:
    """Connections that each read `GET /events` as a stream."""

    def __init__(self, port: int, count: int, seconds_max: float) -> None:
        self._port = port
        self._began = time.monotonic()
        self._deadline = self._began + seconds_max
        self._selector = selectors.DefaultSelector()
        self._received: dict[socket.socket, bytes] = {}
        self._ended: dict[socket.socket, float] = {}
        self._refused = 0  # connections that were not accepted
        request = head("GET", "/events", STREAM_HEADERS)
        for _ in range(count):
            try:
                connection = connect(port, 5)
                connection.sendall(request)
            except OSError:
                self._refused += 1
                continue
            connection.setblocking(False)
            self._received[connection] = b""
            self._selector.register(connection, selectors.EVENT_READ)

    def read_until(self, is_enough: Callable[[bytes], bool]) -> bool:
        """Read until every stream that goes on has received enough; False if time ran out."""
        while time.monotonic() < self._deadline:
            waiting = [
                connection
                for connection, received in self._received.items()
                if connection not in self._ended and not is_enough(received)
            ]
            if not waiting:
                return True
            for key, _ in self._selector.select(0.2):
                self._read(key.fileobj)
        return False

    def _read(self, connection: object) -> None:
        assert isinstance(connection, socket.socket)
        try:
            part = connection.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        self._received[connection] += part
        if not part or not self._received[connection].startswith(b"HTTP/1.1 200"):
            self._ended[connection] = time.monotonic()
            self._selector.unregister(connection)

    def close(self) -> None:
        for connection in self._received:
            connection.close()
        self._selector.close()

    def outcomes(self) -> list[Outcome]:
        now = time.monotonic()
        return [
            *(
                self._outcome(received, self._ended.get(connection, now))
                for connection, received in self._received.items()
            ),
            *[Outcome(None, "", now - self._began, 0, b"", "not accepted")] * self._refused,
        ]

    def _outcome(self, received: bytes, ended: float) -> Outcome:
        answered = received.startswith(b"HTTP/1.1 ")
        status = int(received[9:12]) if answered else None
        body = received.partition(b"\r\n\r\n")[2]
        if status is None:
            problem = "no answer"
        elif status == 200 and b"\ndata: " not in body:
            problem = "no event"
        else:
            problem = ""
        seconds = ended - self._began
        return Outcome(status, code_of(status, body), seconds, len(body), body, problem)


def has_head(received: bytes) -> bool:
    return b"\r\n\r\n" in received


def has_event(received: bytes) -> bool:
    return b"\ndata: " in received.partition(b"\r\n\r\n")[2]
