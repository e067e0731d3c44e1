"""A client that sends nothing more when the agent has to stop."""

import threading

import httpx
import pytest

from roost.agent.driver import Allocations
from roost.agent.provider_tree import ProviderTree
from roost.agent.stopping import StoppableClient, Stopped
from roost.agent.tracker import Tracker
from roost.client import Client
from tests.agent.hosts import ShapeDriver, flat
from tests.support.roost_server import RoostServer


def test_an_update_ends_between_two_requests(client: Client, agent_server: RoostServer) -> None:
    stop = threading.Event()

    class Counted(httpx.HTTPTransport):
        sent = 0

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            self.sent += 1
            return super().handle_request(request)

    def stopping(tree: ProviderTree, nodename: str, allocations: Allocations | None) -> None:
        flat(tree, nodename, allocations)
        stop.set()

    transport = Counted()
    with Client(agent_server.url, transport=transport) as own:
        stoppable = StoppableClient(own, stop)
        assert stoppable.version == own.version
        tracker = Tracker(stoppable, ShapeDriver(stopping), "host")
        with pytest.raises(Stopped):
            tracker.update(startup=True)
        sent = transport.sent
        with pytest.raises(Stopped):
            list(stoppable.bulk_providers())
        assert transport.sent == sent
        # What was written stays, and the next update does the rest.
        [host] = client.providers()
        assert not client.inventories(host.uuid).inventories
        assert Tracker(own, ShapeDriver(flat), "host").update(startup=True) is not None
    assert client.inventories(host.uuid).inventories.keys() == {"VCPU", "MEMORY_MB", "VGPU"}
