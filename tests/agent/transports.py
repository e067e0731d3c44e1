"""Transports that count requests, break connections, or hide what the service can do."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from roost.client import Client
from tests.support.roost_server import RoostServer


class WithoutExtensions(httpx.HTTPTransport):
    """The service as if it were OpenStack Placement: it says of no extension that it has it."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if request.url.path != "/":
            return response
        response.read()
        versions = response.json()["versions"]
        return httpx.Response(response.status_code, json={"versions": versions})


class CountingTransport(httpx.HTTPTransport):
    """Counts requests, and breaks the connection before or after one of the writes."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []
        self.cut_before: int | None = None  # the number of a write
        self.cut_after: int | None = None
        self.writes = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(f"{request.method} {request.url.path}")
        if request.method == "GET":
            return super().handle_request(request)
        self.writes += 1
        if self.writes == self.cut_before:
            raise Crash
        response = super().handle_request(request)
        if self.writes == self.cut_after:
            response.read()
            raise Crash
        return response

    def count(self, method: str) -> int:
        return sum(line.startswith(method) for line in self.sent)


class Crash(Exception):
    """Stands for the death of the agent."""


@contextmanager
def counting_client_of(server: RoostServer) -> Iterator[tuple[Client, CountingTransport]]:
    transport = CountingTransport()
    with Client(server.url, transport=transport) as client:
        assert client.version
        transport.sent.clear()
        yield client, transport
