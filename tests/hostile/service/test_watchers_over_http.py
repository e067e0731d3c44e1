"""A thousand event streams of one server with four threads, each with a filter of its own."""

import asyncio
import contextlib
import resource
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import msgspec
import pytest

from tests.support.headers import HEADERS
from tests.support.roost_server import RoostServer

pytestmark = pytest.mark.process

STREAMS = 1000
HOSTS = 100
OTHERS_MAX_SECONDS = 1.0  # far more than a request takes, far less than a stream lasts


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    folder = tmp_path_factory.mktemp("streams")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * STREAMS), hard))
    database = f"sqlite:///{folder / 'roost.db'}"
    with RoostServer(database, folder, arguments=["--threads", "4"]) as server:
        yield server
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Stream:
    """One stream of events on a connection of its own, read without any library."""

    def __init__(self, port: int, query: str) -> None:
        self._port = port
        self._query = query
        self._body = b""
        self.status = 0

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        headers = {**HEADERS, "host": "127.0.0.1", "accept": "text/event-stream"}
        lines = [f"GET /events?{self._query} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._writer.write("\r\n".join([*lines, "", ""]).encode())
        head = await self._reader.readuntil(b"\r\n\r\n")
        self.status = int(head.split(b" ", 2)[1])
        self.is_chunked = b"transfer-encoding: chunked" in head.lower()

    async def read(self) -> None:
        """Read until the server ends the stream."""
        assert self.is_chunked
        async for chunk in self._chunks():
            self._body += chunk

    async def _chunks(self) -> AsyncIterator[bytes]:
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            yield await self._reader.readexactly(size)
            await self._reader.readexactly(2)

    def close(self) -> None:
        self._writer.close()

    def events(self) -> list[Any]:
        return [
            msgspec.json.decode(line.removeprefix(b"data: "))
            for line in self._body.splitlines()
            if line.startswith(b"data: ")
        ]


def expected_of(query: str, found: list[Any]) -> list[Any]:
    parameters = [pair.split("=") for pair in query.split("&")]
    trees = [value for name, value in parameters if name == "tree"]
    kinds = [value for name, value in parameters if name == "kind"]
    return [
        each
        for each in found
        if (not trees or each.get("tree") in trees) and (not kinds or each["kind"] in kinds)
    ]


async def open_all(streams: list[Stream]) -> None:
    # The backlog of the port is shorter than a thousand.
    for begin in range(0, len(streams), 100):
        await asyncio.gather(*(stream.open() for stream in streams[begin : begin + 100]))


async def follow(server: RoostServer, hosts: list[str]) -> None:
    async with httpx.AsyncClient(base_url=server.url, headers=HEADERS, timeout=30) as http:
        position = (await http.get("/events")).json()["position"]
        filters = ["", *(f"&kind={kind}" for kind in ("inventories", "traits", "allocations"))]
        queries = [
            f"after={position}&wait=20&tree={hosts[number % HOSTS]}"
            f"{filters[number // HOSTS % len(filters)]}&kind=provider"
            if number % 10
            else f"after={position}&wait=20"
            for number in range(STREAMS)
        ]
        streams = [Stream(server.port, query) for query in queries]
        await open_all(streams)
        assert {stream.status for stream in streams} == {200}
        reading = [asyncio.create_task(stream.read()) for stream in streams]
        started = time.monotonic()
        slowest = 0.0
        for number, host in enumerate(hosts):
            begun = time.monotonic()
            body = {
                "resource_provider_generation": 0,
                "inventories": {"VCPU": {"total": number + 1}},
            }
            answer = await http.put(f"/resource_providers/{host}/inventories", json=body)
            assert answer.status_code == 200, answer.text
            if number % 10 == 0:
                answer = await http.put(f"/resource_providers/{host}", json={"name": f"new-{host}"})
                assert answer.status_code == 200
            slowest = max(slowest, time.monotonic() - begun)
            assert (await http.get("/livez")).status_code == 200
        # Others were served meanwhile, and no stream had ended before.
        assert time.monotonic() - started < 15
        assert not any(task.done() for task in reading)
        assert slowest < OTHERS_MAX_SECONDS
        refused = Stream(server.port, f"after={position}&wait=5")
        await refused.open()
        assert refused.status == 503
        refused.close()
        await asyncio.wait_for(asyncio.gather(*reading), timeout=60)
        found = (await http.get(f"/events?after={position}")).json()["events"]
        assert len(found) == HOSTS + HOSTS // 10
        for query, stream in zip(queries, streams, strict=True):
            assert stream.events() == expected_of(query, found)
            stream.close()
        # Their places are free again.
        again = Stream(server.port, f"after={position}&wait=1")
        await again.open()
        assert again.status == 200
        await again.read()
        assert again.events() == found


def test_a_thousand_streams_get_what_each_wants(server: RoostServer) -> None:
    with httpx.Client(base_url=server.url, headers=HEADERS, timeout=30) as http:
        hosts = [str(uuid.uuid4()) for _ in range(HOSTS)]
        for host in hosts:
            body = {"name": host, "uuid": host}
            assert http.post("/resource_providers", json=body).status_code == 200
    asyncio.run(follow(server, hosts))


def test_streams_whose_clients_are_gone_give_their_places_back(server: RoostServer) -> None:
    async def leave() -> None:
        streams = [Stream(server.port, "wait=20") for _ in range(STREAMS)]
        await open_all(streams)
        assert {stream.status for stream in streams} == {200}
        for stream in streams:
            stream.close()
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            late = Stream(server.port, "wait=1")
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await late.open()
            if late.status == 200:
                return
            await asyncio.sleep(0.2)
        raise AssertionError("places are not given back")

    asyncio.run(leave())
