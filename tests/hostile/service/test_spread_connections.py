"""Connections are spread over the workers of one service, whatever the kernel gives to whom."""

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from tests.support.roost_server import RoostServer

WORKERS = 3
CLIENTS = 30
SECONDS_MAX = 30.0
REQUEST = b"GET / HTTP/1.1\r\nhost: placement\r\n\r\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RoostServer]:
    url = f"sqlite:///{tmp_path / 'roost.db'}"
    with RoostServer(url, tmp_path, arguments=["--workers", str(WORKERS)]) as started:
        yield started


def workers_of(server: RoostServer) -> list[psutil.Process]:
    """Those that listen: the parent starts them, and the service has no other children."""
    parent = psutil.Process(server.process.pid)
    found = [each for each in parent.children(recursive=True) if listens(each, server.port)]
    return sorted(found, key=lambda each: each.pid)


def listens(process: psutil.Process, port: int) -> bool:
    try:
        return any(
            each.status == psutil.CONN_LISTEN and each.laddr.port == port
            for each in process.net_connections("tcp")
        )
    except psutil.Error:
        return False


def counts_of(server: RoostServer) -> list[int]:
    """How many connections each worker has."""
    return [
        sum(
            each.status == psutil.CONN_ESTABLISHED and each.laddr.port == server.port
            for each in worker.net_connections("tcp")
        )
        for worker in workers_of(server)
    ]


def connect(server: RoostServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS_MAX)


def is_answered(client: socket.socket) -> bool:
    client.sendall(REQUEST)
    return client.recv(65536).startswith(b"HTTP/1.1 200")


def await_workers(server: RoostServer) -> None:
    until = time.monotonic() + SECONDS_MAX
    while len(workers_of(server)) < WORKERS:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_each_worker_has_as_many_as_the_others(server: RoostServer) -> None:
    await_workers(server)
    with ExitStack() as stack:
        clients = []
        for _ in range(CLIENTS):
            client = stack.enter_context(connect(server))
            assert is_answered(client)
            clients.append(client)
        counts = counts_of(server)
        assert sum(counts) == CLIENTS
        assert max(counts) - min(counts) <= 1
        # Whoever has one goes on with it.
        assert all(map(is_answered, clients))


def test_connections_that_come_at_once_are_all_answered(server: RoostServer) -> None:
    await_workers(server)
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(server)) for _ in range(CLIENTS)]
        for client in clients:
            client.sendall(REQUEST)
        assert all(client.recv(65536).startswith(b"HTTP/1.1 200") for client in clients)
        # Those that came at the same moment may not have known of each other.
        assert max(counts_of(server)) < CLIENTS / 2


def test_nothing_is_given_to_a_worker_that_is_gone(server: RoostServer) -> None:
    await_workers(server)
    with ExitStack() as stack:
        for _ in range(WORKERS):
            assert is_answered(stack.enter_context(connect(server)))
        killed, *others = workers_of(server)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait(SECONDS_MAX)
        # Its place is empty for a moment. It has the fewest connections.
        for _ in range(CLIENTS):
            assert is_answered(stack.enter_context(connect(server)))
        await_workers(server)
        assert {each.pid for each in others} < {each.pid for each in workers_of(server)}
        # The one that took its place gets the next ones.
        new = next(each for each in workers_of(server) if each not in others)
        place = workers_of(server).index(new)
        before = counts_of(server)[place]
        for _ in range(CLIENTS):
            assert is_answered(stack.enter_context(connect(server)))
        assert counts_of(server)[place] - before > CLIENTS / 2
