"""Agents that describe the same host at the same moment: none of them fails."""

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from roost.agent.driver import Allocations
from roost.agent.provider_tree import ProviderTree
from roost.agent.report.attempts import ATTEMPTS_MAX
from roost.agent.report.tree_update import UpdateConflict, UpdateFailed
from roost.agent.tracker import Tracker
from roost.client import Client
from tests.agent.hosts import ShapeDriver, inventory
from tests.agent.transports import CountingTransport
from tests.support.names import uid
from tests.support.roost_server import RoostServer


class Interrupted(CountingTransport):
    """Before some writes of the agent, something else happens."""

    def __init__(self, is_due: Callable[[httpx.Request], bool], act: Callable[[], object]) -> None:
        super().__init__()
        self._is_due, self._act = is_due, act
        self.times_left = 1

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.times_left and request.method != "GET" and self._is_due(request):
            self.times_left -= 1
            self._act()
        return super().handle_request(request)


def cards(tree: ProviderTree, nodename: str, _: Allocations | None) -> None:
    """A host with two cards, whose UUIDs are left to the agent."""
    tree.update_inventory(nodename, {"VCPU": inventory(16)})
    tree.add_traits(nodename, "CUSTOM_GOLD")
    for name in (f"{nodename}_card0", f"{nodename}_card1"):
        if not tree.exists(name):
            tree.new_child(name, nodename)
        tree.update_inventory(name, {"VGPU": inventory(4)})
        tree.add_traits(name, "CUSTOM_CARD")


def assert_whole(client: Client) -> None:
    providers = {each.name: each for each in client.providers()}
    assert providers.keys() == {"host", "host_card0", "host_card1"}
    for each in providers.values():
        assert each.root_uuid == providers["host"].uuid
        assert client.inventories(each.uuid).inventories
        assert client.provider_traits(each.uuid).traits


def creates(name: str) -> Callable[[httpx.Request], bool]:
    return lambda request: (
        request.url.path == "/resource_providers" and f'"{name}"' in request.read().decode()
    )


@pytest.mark.parametrize("root", [None, uid("host")])
@pytest.mark.parametrize(
    "is_due",
    [
        creates("host"),
        creates("host_card0"),
        creates("host_card1"),
        lambda request: request.url.path.endswith("/traits"),
        lambda request: request.url.path.endswith("/inventories"),
    ],
    ids=["root", "first child", "second child", "traits", "inventories"],
)
def test_an_agent_that_is_overtaken_reads_again_and_goes_on(
    client: Client,
    agent_server: RoostServer,
    is_due: Callable[[httpx.Request], bool],
    root: str | None,
) -> None:
    faster = Tracker(client, ShapeDriver(cards), "host", uuid=root)
    transport = Interrupted(is_due, lambda: faster.update(startup=True))
    with Client(agent_server.url, transport=transport) as own:
        tracker = Tracker(own, ShapeDriver(cards), "host", uuid=root)
        tracker.update(startup=True)
        assert transport.times_left == 0
        assert_whole(client)
        assert tracker.update(startup=False) is None


def test_agents_that_start_together(client: Client, agent_server: RoostServer) -> None:
    count = 4
    barrier = threading.Barrier(count)

    def start(_: int) -> None:
        with Client(agent_server.url) as own:
            tracker = Tracker(own, ShapeDriver(cards), "host")
            assert own.version
            barrier.wait(60)
            tracker.update(startup=True)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(start, range(count)))
    assert_whole(client)


def test_a_root_whose_uuid_and_name_are_of_two_hosts_is_refused(
    client: Client, agent_server: RoostServer
) -> None:
    transport = Interrupted(creates("host"), lambda: client.create_provider("host"))
    with Client(agent_server.url, transport=transport) as own:
        tracker = Tracker(own, ShapeDriver(cards), "host", uuid=uid("host"))
        with pytest.raises(UpdateFailed, match=r"host: create: .* has this name") as raised:
            tracker.update(startup=True)
    assert not isinstance(raised.value, UpdateConflict)
    assert transport.writes == 1


def test_a_name_that_others_have_is_tried_once(client: Client, agent_server: RoostServer) -> None:
    client.create_provider("host_card1")
    transport = CountingTransport()
    with (
        Client(agent_server.url, transport=transport) as own,
        pytest.raises(UpdateFailed, match=r"host_card1: create: ") as raised,
    ):
        Tracker(own, ShapeDriver(cards), "host").update(startup=True)
    assert not isinstance(raised.value, UpdateConflict)
    # The root and its two cards.
    assert transport.sent.count("POST /resource_providers") == 3


def test_an_agent_that_is_always_overtaken_gives_up(
    client: Client, agent_server: RoostServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roost.agent.report.attempts.CONFLICT_SECONDS_MAX", 0.0)
    host = client.create_provider("host")

    def write_others() -> None:
        name = f"CUSTOM_{uuid.uuid4().hex.upper()}"
        client.create_trait(name)
        found = client.provider_traits(host.uuid)
        client.set_provider_traits(host.uuid, {name}, found.generation)

    transport = Interrupted(
        lambda request: request.url.path == f"/resource_providers/{host.uuid}/traits", write_others
    )
    transport.times_left = 10 * ATTEMPTS_MAX
    with (
        Client(agent_server.url, transport=transport) as own,
        pytest.raises(UpdateConflict, match=r"host: traits: "),
    ):
        Tracker(own, ShapeDriver(cards), "host").update(startup=True)
    assert transport.times_left == 9 * ATTEMPTS_MAX
