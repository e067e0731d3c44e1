"""The supervisor and the server with the smallest application.

Run as `python -m tests.hostile.service.small_service`, with the arguments `PORT WORKERS
START_METHOD [LIKE_ELSEWHERE]`. With the last word workers do without what only Linux offers.
"""

import asyncio
import functools
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from roost.server import worker
from roost.server.http.server import HttpServer
from roost.server.listening import Address
from roost.server.supervisor import Supervisor

SLOW_SECONDS = 1.0
OUT_OF_MEMORY = 137


def answer(path: str) -> bytes:
    """What the application does in a thread."""
    if path == "/slow":
        time.sleep(SLOW_SECONDS)
    elif path == "/hang":
        time.sleep(1000)
    elif path == "/die":
        os._exit(OUT_OF_MEMORY)
    return str(os.getpid()).encode()


class Application:
    """Answers on the event loop what is below /loop, and the rest in a thread of the server."""

    server_threads = 4

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping

    def begin(self, scope: dict[str, Any], _receive: object, send: Callable[..., Any]) -> bool:
        path = scope["raw_path"].decode()
        if path.startswith("/loop"):
            return False
        respond(send, answer(path))
        return True

    async def __call__(self, scope: dict[str, Any], _: object, send: Callable[..., Any]) -> None:
        path = scope["raw_path"].decode().removeprefix("/loop")
        if path == "/spin":
            while True:
                pass
        if path == "/stream":
            send({"type": "http.response.start", "status": 200, "headers": []})
            while not self._stopping.is_set():
                send({"type": "http.response.body", "body": b"more\n", "more_body": True})
                await asyncio.sleep(0.02)
            send({"type": "http.response.body", "body": b"end\n"})
            return
        respond(send, await asyncio.to_thread(answer, path))


def respond(send: Callable[..., Any], body: bytes) -> None:
    send({"type": "http.response.start", "status": 200, "headers": []})
    send({"type": "http.response.body", "body": body})


def run_worker(listener: socket.socket, connection: Connection, *, like_elsewhere: bool) -> None:
    if like_elsewhere:
        worker._die_with_parent = lambda: None
    stopping = threading.Event()
    worker.obey(connection, stopping)
    HttpServer(Application(stopping), listener, connections_max=100).run(stopping)


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    port, workers, start_method, *more = sys.argv[1:]
    address = Address("127.0.0.1", int(port))
    address.claim()
    work = functools.partial(run_worker, like_elsewhere=more == ["LIKE_ELSEWHERE"])
    Supervisor(work, address, int(workers), start_method=start_method).run()


if __name__ == "__main__":
    main()
