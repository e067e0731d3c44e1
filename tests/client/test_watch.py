"""Events as an iterator: it goes on where it was, whatever happens to the service."""

import itertools
import os
import signal
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import anyio
import httpx
import pytest

from roost.client import (
    AsyncClient,
    BadRequest,
    Client,
    ClientError,
    Event,
    EventKind,
    Gone,
    Inventory,
    direct,
)
from roost.client.requests.events import WAIT_SECONDS_MAX
from tests.client.conftest import BACKENDS, Scripted
from tests.client.driven import driven
from tests.client.scripted import OK, refused
from tests.support.roost_server import RoostServer

START_SECONDS_MAX = 60


class Watching:
    """A thread that watches for the creation of providers, from the moment it is made."""

    def __init__(self, client: Client) -> None:
        self.seen: list[str | None] = []
        self.error: ClientError | None = None
        self._arrived = threading.Condition()
        self._events = client.watch(client.events().position, kinds=[EventKind.PROVIDER])
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for event in self._events:
                with self._arrived:
                    self.seen.append(event.provider_uuid)
                    self._arrived.notify_all()
        except ClientError as error:
            with self._arrived:
                self.error = error
                self._arrived.notify_all()

    def wait_for(self, count: int) -> list[str | None]:
        with self._arrived:
            self._arrived.wait_for(lambda: len(self.seen) >= count or self.error, START_SECONDS_MAX)
        assert self.error is None
        return self.seen


@pytest.mark.process
def test_a_restart_of_the_service_is_not_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is missed and nothing comes twice, written before, during or after it."""
    monkeypatch.setattr("roost.client.exchange._PAUSE_SECONDS_MAX", 0.5)
    database = f"sqlite:///{tmp_path / 'roost.db'}"
    written: list[str] = []

    def write(client: Client) -> None:
        written.extend(client.create_provider(str(uuid.uuid4())).uuid for _ in range(3))

    server = RoostServer(database, tmp_path)
    with ExitStack() as stack:
        stack.enter_context(server)
        clients = [
            stack.enter_context(Client(server.url, timeout=5)),
            *(stack.enter_context(driven(each, server.url, timeout=5)) for each in BACKENDS),
        ]
        watching = [Watching(client) for client in clients]
        write(clients[0])
        for sign in (signal.SIGTERM, signal.SIGKILL):
            os.killpg(server.process.pid, sign)
            server.process.wait(START_SECONDS_MAX)
            with direct(database) as local:
                write(local)
            stack.enter_context(server)
            write(clients[0])
        # One more than that would be one that came twice.
        write(clients[0])
        for each in watching:
            assert each.wait_for(len(written)) == written


def test_a_client_waits_longer_than_the_service(scripted: Scripted) -> None:
    nothing = httpx.Response(200, json={"events": [], "position": "p1"})
    one = httpx.Response(200, json={"events": [{"kind": "catalog"}], "position": "p2"})
    client, script = scripted(nothing, nothing, one, timeout=3)
    assert next(client.watch()).kind is EventKind.CATALOG
    asked = [each for each in script.requests if each.url.path == "/events"]
    assert [each.url.params.get("after") for each in asked] == [None, "p1", "p1"]
    for each in asked:
        assert each.extensions["timeout"]["connect"] == 3
        assert each.extensions["timeout"]["read"] > WAIT_SECONDS_MAX


def test_it_goes_on_after_troubles(scripted: Scripted, no_pauses: list[float]) -> None:
    """However many there are."""
    start = httpx.Response(200, json={"events": [], "position": "p1"})
    troubles = [refused(503), httpx.ConnectError("no"), httpx.ReadError("cut"), refused(502)]
    troubles = [*troubles, httpx.Response(200)] * 4
    one = httpx.Response(200, json={"events": [{"kind": "catalog"}], "position": "p2"})
    client, _ = scripted(start, *troubles, one, retries=1)
    assert next(client.watch()).kind is EventKind.CATALOG
    assert len(no_pauses) == len(troubles)
    assert max(no_pauses) <= 5


def test_a_refusal_is_raised_and_does_not_end_it(scripted: Scripted) -> None:
    one = httpx.Response(200, json={"events": [{"kind": "catalog"}], "position": "p2"})
    client, script = scripted(refused(410), refused(400), one)
    events = client.watch("p1")
    with pytest.raises(Gone):
        next(events)
    with pytest.raises(BadRequest):
        next(events)
    assert next(events).kind is EventKind.CATALOG
    assert script.sent == 3


def some_host(client: Client) -> str:
    return client.create_provider(str(uuid.uuid4())).uuid


def test_only_what_was_asked_for_comes(client: Client) -> None:
    one, other = some_host(client), some_host(client)
    position = client.events().position
    for host in (one, other):
        client.set_inventories(host, {"VCPU": Inventory(total=1)}, 0)
        client.set_provider_traits(host, {"HW_NUMA_ROOT"}, 1)
    events = client.watch(position, kinds=["inventories", "traits"], tree=other)
    found = [*itertools.islice(events, 2)]
    assert [(each.kind, each.provider_uuid) for each in found] == [
        (EventKind.INVENTORIES, other),
        (EventKind.TRAITS, other),
    ]


@pytest.mark.process
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_program_stops_when_it_likes(server: RoostServer, backend: str) -> None:
    """A wait that is cancelled leaves the iterator usable, and an abandoned one no warning."""
    found: list[Event] = []

    async def program() -> None:
        async with AsyncClient(server.url) as client:
            events = client.watch((await client.events()).position, kinds=["provider"])
            with anyio.move_on_after(0.5) as scope:
                await anext(events)
            assert scope.cancelled_caught
            host = await client.create_provider(str(uuid.uuid4()))
            async for event in events:
                found.append(event)
                break
            assert found[0].provider_uuid == host.uuid

    anyio.run(program, backend=backend)


def test_a_loop_may_end_before_the_events_do(client: Client) -> None:
    position = client.events().position
    host = some_host(client)

    def first() -> Iterator[str | None]:
        for event in client.watch(position):
            yield event.provider_uuid
            return

    assert list(first()) == [host]


def test_a_client_that_is_closed_says_so(scripted: Scripted) -> None:
    client, _ = scripted(OK)
    events = client.watch()
    client.close()
    for send in (client.providers, lambda: next(events)):
        with pytest.raises(ClientError, match="the client is closed"):
            send()
