"""Hundreds of claims that wait for the end of a hold, on a server with four threads."""

import asyncio
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.headers import HEADERS
from tests.support.names import uid
from tests.support.roost_server import RoostServer
from tests.support.world import build, load, provider

pytestmark = pytest.mark.process

CLAIMS = 200
THREADS = 4
SEARCH = "/allocation_candidates?resources=VCPU:1"
SECONDS_MAX = 30


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RoostServer]:
    arguments = ["--threads", str(THREADS)]
    with RoostServer(f"sqlite:///{tmp_path / 'roost.db'}", tmp_path, arguments=arguments) as server:
        with client_of(server) as client:
            load(build(provider("host", {"VCPU": 1000}), provider("other", {"VCPU": 8})), client)
            assert client.get(SEARCH).status_code == 200
        yield server


def client_of(server: RoostServer) -> httpx.Client:
    headers = {**HEADERS, "x-roles": "admin,service"}
    return httpx.Client(base_url=server.url, headers=headers, timeout=SECONDS_MAX)


def body(name: str = "host") -> dict[str, Any]:
    return {
        "allocations": {uid(name): {"resources": {"VCPU": 1}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "INSTANCE",
        "consumer_generation": None,
    }


def hold(client: httpx.Client, seconds: float) -> str:
    answer = client.post("/holds", json={"tree": uid("host"), "seconds": seconds})
    assert answer.status_code == 200, answer.text
    assert answer.json()["seconds"] == seconds
    return str(answer.json()["id"])


def metric(client: httpx.Client, name: str) -> float:
    found = re.search(rf"^{name} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def waiting(client: httpx.Client) -> float:
    return metric(client, "roost_held_requests_waiting")


def threads(server: RoostServer) -> int:
    """Of the worker and of the parent process."""
    pids = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
    return sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in pids.split())


def used(client: httpx.Client, name: str = "host") -> int:
    usages = client.get(f"/resource_providers/{uid(name)}/usages").json()["usages"]
    return int(usages["VCPU"])


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS_MAX
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


class Claims:
    """Claims that are sent at once, each on a connection of its own."""

    def __init__(self, server: RoostServer, count: int) -> None:
        self._server = server
        self._count = count
        self.statuses: list[int] = []

    async def _send(self, client: httpx.AsyncClient, number: int) -> None:
        answer = await client.put(f"/allocations/{uid(f'consumer{number}')}", json=body())
        self.statuses.append(answer.status_code)

    async def run(self, meanwhile: Callable[[], None]) -> None:
        """Send them all, do something else in a thread, and wait for all answers."""
        limits = httpx.Limits(max_connections=self._count)
        async with httpx.AsyncClient(
            base_url=self._server.url, headers=HEADERS, timeout=SECONDS_MAX, limits=limits
        ) as client:
            sent = [asyncio.ensure_future(self._send(client, each)) for each in range(self._count)]
            try:
                await asyncio.to_thread(meanwhile)
            except BaseException:
                for each in sent:
                    each.cancel()
                raise
            await asyncio.gather(*sent)


def test_searches_are_answered_while_claims_wait(server: RoostServer) -> None:
    claims = Claims(server, CLAIMS)
    with client_of(server) as client:
        before = threads(server)
        id = hold(client, 10)

        def meanwhile() -> None:
            wait_until(lambda: waiting(client) == CLAIMS)
            # They occupy no thread. One looks at the feed for all of them. The server had one of
            # its own for requests before, and starts the others with the first that come at once.
            assert threads(server) <= before + 1 + THREADS
            for _ in range(20):
                assert client.get(SEARCH).status_code == 200
                assert client.put(f"/allocations/{uid('free')}", json=body("other")).is_success
                assert client.delete(f"/allocations/{uid('free')}").status_code == 204
            assert claims.statuses == []
            assert used(client) == 0
            assert client.delete(f"/holds/{id}").status_code == 204

        asyncio.run(claims.run(meanwhile))
        assert claims.statuses == [204] * CLAIMS
        assert used(client) == CLAIMS
        assert waiting(client) == 0
        assert metric(client, "roost_held_requests_total") == CLAIMS
        assert metric(client, "roost_held_seconds_count") == CLAIMS
        assert metric(client, "roost_holds_total") == 1
    assert f"hold {id} of tree {uid('host')} ended after" in server.output
    assert f"{CLAIMS} requests have waited in this process" in server.output
    # A request is one line of the log, however often it was tried.
    assert server.output.count('"PUT /allocations/') == CLAIMS + 20


def test_a_hold_that_nobody_ends_is_over_in_time(server: RoostServer) -> None:
    """As when the agent that asked for it was killed."""
    claims = Claims(server, 20)
    with client_of(server) as client:
        hold(client, 1)
        asyncio.run(claims.run(lambda: None))
        assert claims.statuses == [204] * 20
        assert used(client) == 20
    assert "ran out after" in server.output


def test_a_claim_of_a_client_that_is_gone_is_not_made(server: RoostServer) -> None:
    with client_of(server) as client:
        id = hold(client, 10)
        with pytest.raises(httpx.ReadTimeout):
            httpx.put(
                f"{server.url}/allocations/{uid('gone')}", json=body(), headers=HEADERS, timeout=0.5
            )
        wait_until(lambda: waiting(client) == 0)
        client.delete(f"/holds/{id}")
        assert client.put(f"/allocations/{uid('next')}", json=body()).status_code == 204
        assert used(client) == 1


def test_claims_that_wait_are_answered_when_the_server_stops(server: RoostServer) -> None:
    claims = Claims(server, 20)
    with client_of(server) as client:
        hold(client, 10)

        def stop() -> None:
            wait_until(lambda: waiting(client) == 20)
            server.process.send_signal(signal.SIGTERM)

        asyncio.run(claims.run(stop))
    assert claims.statuses == [204] * 20
    assert server.process.wait(10) == 0


def test_everything_about_a_request_is_the_same_when_it_is_tried_again(tmp_path: Path) -> None:
    """Also behind a prefix, which is removed from the path, and with a chunked body."""
    config = tmp_path / "roost.conf"
    config.write_text(CONFIGURATION)
    database = f"sqlite:///{tmp_path / 'roost.db'}"
    with RoostServer(database, tmp_path, config_file=config) as server:
        url = f"{server.url}/placement"
        headers = {**HEADERS, "x-roles": "admin,service", "origin": "http://page"}
        with httpx.Client(base_url=url, headers=headers, timeout=SECONDS_MAX) as client:
            load(build(provider("host", {"VCPU": 8})), client)
            hold(client, 1)
            pieces = iter([b'{"allocations": {"%s"' % uid("host").encode(), *TAIL])
            answer = client.put(
                f"/allocations/{uid('one')}",
                content=pieces,
                headers={"content-type": "application/json"},
            )
            assert answer.status_code == 204, answer.text
            assert answer.headers["access-control-allow-origin"] == "http://page"
            assert metric(client, "roost_held_requests_total") == 1
            assert used(client) == 1


CONFIGURATION = """\
[roost]
url_prefix = /placement
[cors]
allowed_origin = http://page
[oslo_middleware]
enable_proxy_headers_parsing = true
"""

TAIL = (
    b': {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u", ',
    b'"consumer_type": "INSTANCE", "consumer_generation": null}',
)
