"""GET /events of a running server: how streams start, continue and end."""

import json
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from roost.api.parsing.tokens import encode_position
from roost.client import Client
from tests.support.headers import HEADERS
from tests.support.roost_server import RoostServer

STREAM = {**HEADERS, "accept": "text/event-stream"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RoostServer]:
    with RoostServer(f"sqlite:///{tmp_path / 'roost.db'}", tmp_path) as server:
        yield server


@pytest.fixture
def http(server: RoostServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, headers=HEADERS, timeout=40) as http:
        yield http


def create(http: httpx.Client, name: str) -> str:
    body = {"name": name, "uuid": str(uuid.uuid4())}
    assert http.post("/resource_providers", json=body).status_code == 200
    return body["uuid"]


def blocks(response: httpx.Response) -> Iterator[dict[str, str]]:
    """The fields of each block in order; a comment is a field without a name."""
    block: dict[str, str] = {}
    for line in response.iter_lines():
        if line:
            name, _, value = line.partition(":")
            block[name] = value.removeprefix(" ")
        else:
            yield block
            block = {}


def events(response: httpx.Response) -> Iterator[dict[str, str]]:
    return (block for block in blocks(response) if "event" in block)


def test_a_stream_delivers_an_event_at_once(http: httpx.Client) -> None:
    with http.stream("GET", "/events", headers=STREAM) as response:
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/event-stream"
        stream = blocks(response)
        assert next(stream) == {"retry": "100"}
        started = time.monotonic()
        host = create(http, "host")
        block = next(each for each in stream if "event" in each)
        assert time.monotonic() - started < 5
    assert block["event"] == "provider"
    assert httpx.Response(200, text=block["data"]).json() == {
        "kind": "provider",
        "resource_provider": host,
        "tree": host,
    }


def test_a_client_that_reconnects_misses_no_event(http: httpx.Client) -> None:
    with http.stream("GET", "/events", headers=STREAM) as response:
        stream = events(response)
        create(http, "one")
        last = next(stream)["id"]
    create(http, "two")
    create(http, "three")
    # The position in its URL is older.
    target = "/events?after=" + encode_position({1: 1}) + "&wait=1"
    again = {**STREAM, "last-event-id": last}
    with http.stream("GET", target, headers=again) as response:
        assert [block["event"] for block in events(response)] == ["provider", "provider"]


def test_a_stream_whose_position_is_gone_is_reset(http: httpx.Client) -> None:
    target = f"/events?after={encode_position({12345: 7})}"
    assert http.get(target).status_code == 410
    with http.stream("GET", target, headers=STREAM) as response:
        stream = events(response)
        reset = next(stream)
        assert reset["event"] == "reset"
        create(http, "host")
        assert next(stream)["event"] == "provider"
    assert http.get("/events", params={"after": reset["id"]}).json()["events"]


def test_a_stream_ends_after_the_requested_time(http: httpx.Client) -> None:
    started = time.monotonic()
    with http.stream("GET", "/events?wait=1", headers=STREAM) as response:
        response.read()
    assert 0.9 < time.monotonic() - started < 5


def test_the_number_of_waiting_clients_is_limited(tmp_path: Path) -> None:
    limit = {"OS_ROOST__EVENT_STREAMS_MAX": "2"}
    url = f"sqlite:///{tmp_path / 'roost.db'}"
    with (
        RoostServer(url, tmp_path, environment=limit) as server,
        httpx.Client(base_url=server.url, headers=HEADERS, timeout=40) as http,
    ):
        fill_and_free(http)


def fill_and_free(http: httpx.Client) -> None:
    """Take both places, and wait until one of them is free again."""

    def open_stream() -> Any:
        return http.stream("GET", "/events", headers=STREAM)

    with open_stream() as one, open_stream() as other:
        assert (one.status_code, other.status_code) == (200, 200)
        position = http.get("/events").json()["position"]
        refused = http.get(f"/events?after={position}&wait=5")
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) >= 1
        # A client that does not wait is answered, and so are all other requests.
        assert http.get(f"/events?after={position}").status_code == 200
        assert http.get("/resource_providers").status_code == 200
    # The server notices a closed connection only when it writes to it.
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        create(http, str(uuid.uuid4()))
        with open_stream() as response:
            if response.status_code == 200:
                return
        time.sleep(0.2)
    raise AssertionError("places are not given back")


def test_streams_end_when_the_server_stops(server: RoostServer, http: httpx.Client) -> None:
    with http.stream("GET", "/events", headers=STREAM) as response:
        stream = blocks(response)
        next(stream)
        started = time.monotonic()
        server.process.terminate()
        # The stream is neither cut off nor kept open.
        assert [block for block in stream if "event" in block] == []
        assert time.monotonic() - started < 10
    assert server.process.wait(15) == 0


def test_clients_that_wait_are_answered_when_the_server_stops(
    server: RoostServer, http: httpx.Client
) -> None:
    """Each gets its position back, and goes on from there."""
    position = http.get("/events").json()["position"]
    waiting = 20

    def wait(_: int) -> bytes:
        return http.get("/events", params={"after": position, "wait": 25}).content

    with ThreadPoolExecutor(waiting) as pool:
        answers = pool.map(wait, range(waiting))
        time.sleep(1)
        server.process.terminate()
        assert [json.loads(answer) for answer in answers] == [
            {"events": [], "position": position}
        ] * waiting


def test_a_stream_contains_the_writes_of_another_process(tmp_path: Path) -> None:
    """One process streams what the other writes."""
    url = f"sqlite:///{tmp_path / 'roost.db'}"
    with (
        RoostServer(url, tmp_path) as one,
        RoostServer(url, tmp_path) as two,
        Client(one.url) as writer,
        Client(two.url) as watcher,
    ):
        position = watcher.events().position
        host = writer.create_provider("host")
        (event,) = watcher.events(position, wait=10).events
        assert event.provider_uuid == host.uuid
