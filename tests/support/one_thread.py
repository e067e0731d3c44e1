"""The whole service in the thread of a test: from the bytes of a request to those of its answer.

So a test can count what a request does, with nothing else going on.
"""

import asyncio
import json
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, Self

from roost import assembly
from roost.api.versions import VERSION_MAX
from roost.server.front import Front
from roost.server.http.connection import Connection
from roost.server.http.exchange import HttpExchange
from roost.server.http.readiness import READ, Readiness
from roost.settings import Settings

SECONDS_MAX = 30
RECEIVE_BYTES = 2**16


class Answer(NamedTuple):
    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class _Readiness:
    """Nobody waits for what is ready."""

    def add(self, descriptor: int, interest: int) -> None: ...

    def arm(self, descriptor: int, interest: int) -> None: ...

    def remove(self, descriptor: int) -> None: ...

    def wait(self) -> tuple[int, int] | None: ...


class OneThread:
    """A service on a database, with one connection. For a `with` block."""

    is_stopping = False

    def __init__(self, database_url: str) -> None:
        settings = Settings(auth_strategy="noauth2")
        application = assembly.build_application(
            settings=settings, database_url=database_url, sync=False
        )
        self.readiness: Readiness = _Readiness()
        self._front = Front(application, settings, threads=2, stopping=threading.Event())
        self._loop = asyncio.new_event_loop()
        self._loop_thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._loop_thread.start()
        # The front begins to run with its first request, which is answered on the event loop.
        answered = threading.Event()
        scope: dict[str, Any] = {
            "method": "GET",
            "raw_path": b"/",
            "query_string": b"",
            "headers": [],
            "http_version": "1.1",
            "scheme": "http",
            "server": ("127.0.0.1", "80"),
            "client": ("127.0.0.1", "1"),
            "cut_off": None,
        }
        first = self._front(scope, None, lambda message: answered.set())  # type: ignore[arg-type]
        asyncio.run_coroutine_threadsafe(first, self._loop).result(SECONDS_MAX)
        assert answered.is_set()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self._client = socket.create_connection(listener.getsockname(), SECONDS_MAX)
            accepted, address = listener.accept()
        accepted.setblocking(False)
        self._connection = Connection(self, accepted, (address[0], str(address[1])))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._connection.lose()
        self._client.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._loop_thread.join(SECONDS_MAX)

    def begin(self, exchange: HttpExchange) -> None:
        """As `HttpServer` does."""
        assert self._front.begin(exchange.take_scope(), exchange.receive, exchange.send)

    def forget(self, descriptor: int) -> None: ...

    def ask(
        self,
        method: str,
        target: str,
        body: object = None,
        *,
        around: Callable[[Callable[[], None]], None] = lambda work: work(),
    ) -> Answer:
        """Send a request; `around` lets the service work on it, and receive nothing else."""
        lines = [
            f"{method} {target} HTTP/1.1",
            *("host: roost", "accept: application/json", "x-auth-token: admin"),
            *("x-roles: admin,service", f"openstack-api-version: placement {VERSION_MAX}"),
        ]
        content = b""
        if body is not None:
            content = json.dumps(body).encode()
            lines += ["content-type: application/json", f"content-length: {len(content)}"]
        self._client.sendall("\r\n".join([*lines, "", ""]).encode() + content)
        around(lambda: self._connection.work(READ))
        return self._receive()

    def _receive(self) -> Answer:
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._client.recv(RECEIVE_BYTES)
        head, _, body = received.partition(b"\r\n\r\n")
        lengths = [
            int(line.partition(b":")[2])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        ]
        while lengths and len(body) < lengths[0]:
            body += self._client.recv(RECEIVE_BYTES)
        return Answer(int(head[9:12]), body)
