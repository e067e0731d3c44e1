"""The supervisor with the smallest application, on either interface of granian.

Run as `python -m tests.hostile.service.small_service`, with the arguments `PORT WORKERS INTERFACE
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
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from typing import Any

from granian.constants import Interfaces

from roost.server import worker
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


class Asynchronous:
    """For RSGI."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping

    async def __rsgi__(self, scope: Any, protocol: Any) -> None:
        if scope.path == "/spin":
            while True:
                pass
        if scope.path == "/stream":
            stream = protocol.response_stream(200, [])
            while not self._stopping.is_set():
                await stream.send_bytes(b"more\n")
                await asyncio.sleep(0.02)
            await stream.send_bytes(b"end\n")
            return
        protocol.response_bytes(200, [], await asyncio.to_thread(answer, scope.path))


def synchronous(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """For WSGI."""
    body = answer(environ["PATH_INFO"])
    start_response("200 OK", [("content-length", str(len(body)))])
    return [body]


def run_worker(
    listener: socket.socket,
    connection: Connection,
    *,
    interface: Interfaces,
    like_elsewhere: bool,
) -> None:
    if like_elsewhere:
        worker._die_with_parent = lambda: None
    stopping = threading.Event()
    worker.obey(connection, stopping)
    application = synchronous if interface is Interfaces.WSGI else Asynchronous(stopping)
    threads = 4 if interface is Interfaces.WSGI else 1
    worker.serve_here(lambda: application, listener, interface=interface, threads=threads)


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    port, workers, interface, start_method, *more = sys.argv[1:]
    address = Address("127.0.0.1", int(port))
    address.claim()
    work = functools.partial(
        run_worker, interface=Interfaces(interface), like_elsewhere=more == ["LIKE_ELSEWHERE"]
    )
    Supervisor(work, address, int(workers), start_method=start_method).run()


if __name__ == "__main__":
    main()
