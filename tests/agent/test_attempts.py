"""Reshapes and writes that lose races against claims, and how they win in the end."""

import logging
import threading
import uuid
from typing import Any

import httpx
import pytest

from roost.agent.driver import Allocations
from roost.agent.provider_tree import ProviderTree
from roost.agent.report.attempts import ATTEMPTS_BEFORE_PAUSE, ATTEMPTS_MAX
from roost.agent.report.provider_contents import GENERATION_ATTEMPTS
from roost.agent.report.report_client import ReportClient
from roost.agent.report.tree_update import ReshapeConflict, UpdateFailed
from roost.agent.tracker import Tracker
from roost.client import Client, Inventory
from tests.agent.hosts import Shape, ShapeDriver, claim, flat, graphics, inventory, uid
from tests.agent.transports import CountingTransport, WithoutExtensions, counting_client_of
from tests.support.roost_server import RoostServer

# Far longer than a claim takes that nobody holds, far shorter than a hold.
WAIT_SECONDS = 0.5


class Interfering(CountingTransport):
    """Before certain writes of the agent, another client claims something of the same provider."""

    def __init__(self, other: Client, provider: str, method: str, path: str) -> None:
        super().__init__()
        self._other, self._provider = other, provider
        self._write = f"{method} {path}"
        self._claims: list[threading.Thread] = []
        self.interferes = True
        self.claimed: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.interferes and f"{request.method} {request.url.path}" == self._write:
            self._claim()
        return super().handle_request(request)

    def _claim(self) -> None:
        name = f"claim {len(self._claims)}"

        def run() -> None:
            claim(self._other, name, {self._provider: {"VCPU": 1}})
            self.claimed.append(name)

        thread = threading.Thread(target=run)
        thread.start()
        self._claims.append(thread)
        # If claims are held, it waits until the agent is done.
        thread.join(WAIT_SECONDS)

    def finish(self) -> int:
        """Wait for all claims. Returns how many there were, each of which was granted."""
        for thread in self._claims:
            thread.join(30)
        assert len(self.claimed) == len(self._claims)
        return len(self.claimed)


class InterferingPlacement(Interfering, WithoutExtensions):
    """The same with a service that cannot hold claims."""


def refuse_holds(response: httpx.Response) -> Any:
    class Refusing(Interfering):
        """The same with a service that refuses to hold claims."""

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.path == "/holds":
                self.sent.append("POST /holds")
                return response
            return super().handle_request(request)

    return Refusing


def start_host(client: Client) -> str:
    """A flat host, of which two consumers hold graphics; its UUID."""
    Tracker(client, ShapeDriver(flat), "host").update(startup=True)
    [host] = client.providers()
    for name in ("one", "two"):
        claim(client, name, {host.uuid: {"VCPU": 1, "VGPU": 3}})
    return host.uuid


def assert_reshaped(client: Client, host: str) -> None:
    assert "VGPU" not in client.inventories(host).inventories
    assert sum(client.usages(uid(f"host_gpu{number}"))["VGPU"] for number in (0, 1)) == 6


def test_claims_wait_for_a_reshape_that_has_lost_often(
    client: Client, agent_server: RoostServer, caplog: pytest.LogCaptureFixture
) -> None:
    host = start_host(client)
    transport = Interfering(client, host, "POST", "/reshaper")
    with (
        Client(agent_server.url, transport=transport) as own,
        caplog.at_level(logging.INFO, logger="roost.agent"),
    ):
        assert Tracker(own, ShapeDriver(graphics), "host").update(startup=True) is not None
    # The last claim had to wait, and was granted afterwards.
    assert transport.finish() == ATTEMPTS_BEFORE_PAUSE + 1
    assert_reshaped(client, host)
    assert client.usages(host)["VCPU"] == 2 + ATTEMPTS_BEFORE_PAUSE + 1
    assert transport.sent.count("POST /reshaper") == ATTEMPTS_BEFORE_PAUSE + 1
    assert transport.sent.count("POST /holds") == 1
    # Each attempt after the first one reads the tree and the consumers of one provider.
    assert transport.sent.count("GET /allocations") == ATTEMPTS_BEFORE_PAUSE + 1
    last = caplog.messages[-1]
    assert last.startswith("reshaped host: 2 consumers give up 6 VGPU of host for ")
    assert "claims waited" in last


def test_without_holds_a_reshape_is_tried_ten_times(
    client: Client, agent_server: RoostServer
) -> None:
    host = start_host(client)
    transport = InterferingPlacement(client, host, "POST", "/reshaper")
    with Client(agent_server.url, transport=transport) as own:
        tracker = Tracker(own, ShapeDriver(graphics), "host")
        with pytest.raises(ReshapeConflict):
            tracker.update(startup=True)
        assert transport.finish() == transport.sent.count("POST /reshaper") == ATTEMPTS_MAX
        assert "VGPU" in client.inventories(host).inventories
        transport.interferes = False
        tracker.update(startup=True)
    assert_reshaped(client, host)


@pytest.mark.parametrize("status", [403, 409])
def test_a_hold_that_is_refused_does_not_stop_a_reshape(
    client: Client, agent_server: RoostServer, status: int
) -> None:
    host = start_host(client)
    refusal = httpx.Response(status, json={"errors": [{"detail": "not now"}]})
    transport = refuse_holds(refusal)(client, host, "POST", "/reshaper")
    with Client(agent_server.url, transport=transport) as own:
        with pytest.raises(ReshapeConflict):
            Tracker(own, ShapeDriver(graphics), "host").update(startup=True)
        assert transport.sent.count("POST /holds") == ATTEMPTS_MAX - ATTEMPTS_BEFORE_PAUSE
        transport.interferes = False
        Tracker(own, ShapeDriver(graphics), "host").update(startup=True)
    assert_reshaped(client, host)


def test_a_hold_ends_when_the_update_fails(client: Client, agent_server: RoostServer) -> None:
    host = start_host(client)
    transport = Interfering(client, host, "POST", "/reshaper")
    calls = []

    def failing(tree: ProviderTree, nodename: str, allocations: Allocations | None) -> None:
        if "POST /holds" in transport.sent:
            calls.append(len(calls))
            raise RuntimeError("the machine does not answer")
        graphics(tree, nodename, allocations)

    with (
        Client(agent_server.url, transport=transport) as own,
        pytest.raises(RuntimeError, match="does not answer"),
    ):
        Tracker(own, ShapeDriver(failing), "host").update(startup=True)
    assert calls == [0]
    assert transport.sent[-1].startswith("DELETE /holds/")
    # Nobody has to wait until its time is over.
    claim(client, "later", {host: {"VCPU": 1}})
    assert transport.finish() == ATTEMPTS_BEFORE_PAUSE


def test_claims_wait_for_a_write_that_has_lost_often(
    client: Client, agent_server: RoostServer
) -> None:
    host = start_host(client)
    transport = Interfering(client, host, "PUT", f"/resource_providers/{host}/traits")
    with Client(agent_server.url, transport=transport) as own:
        report = ReportClient(own)
        tree = report.get_provider_tree("host")
        tree.add_traits("host", "HW_CPU_X86_AVX")
        assert report.update_from_provider_tree(tree)
    assert "HW_CPU_X86_AVX" in client.provider_traits(host).traits
    # Each attempt that loses takes one request to see that the traits are as they were.
    assert transport.sent.count(f"GET /resource_providers/{host}/traits") <= GENERATION_ATTEMPTS + 1
    assert transport.sent.count("POST /holds") == 1
    assert transport.finish() >= GENERATION_ATTEMPTS + 1


# ---------------------------------------------------------------------------------------------
# One request for all inventories


def test_inventories_that_nobody_holds_change_in_one_request(
    client: Client, agent_server: RoostServer
) -> None:
    """Without consumers a reshape still is one request, and nothing is read after it."""
    Tracker(client, ShapeDriver(flat), "host").update(startup=True)
    [host] = client.providers()
    with counting_client_of(agent_server) as (own, transport):
        report = ReportClient(own)
        tree = report.get_provider_tree("host")
        graphics(tree, "host", {})
        transport.sent.clear()
        assert report.update_from_provider_tree(tree, {}) is True
        assert transport.sent == ["POST /resource_providers"] * 2 + ["POST /reshaper"]
        # The generations that it has are too old for the next write, which finds that out.
        tree.update_inventory("host", {"VCPU": inventory(8)})
        assert report.update_from_provider_tree(tree) is True
    assert client.inventories(host.uuid).inventories == {"VCPU": Inventory(total=8)}
    assert client.inventories(uid("host_gpu0")).inventories == {"VGPU": Inventory(total=4)}


def test_a_claim_in_between_makes_a_reshape_without_consumers_fail(client: Client) -> None:
    Tracker(client, ShapeDriver(flat), "host").update(startup=True)
    [host] = client.providers()
    report = ReportClient(client)
    tree = report.get_provider_tree("host")
    graphics(tree, "host", {})
    claim(client, "one", {host.uuid: {"VGPU": 3}})
    before = client.inventories(host.uuid)
    with pytest.raises(ReshapeConflict):
        report.update_from_provider_tree(tree, {})
    assert client.inventories(host.uuid) == before


# ---------------------------------------------------------------------------------------------
# Names that are gone


def named(trait: str, resource_class: str) -> Shape:
    def shape(tree: ProviderTree, nodename: str, _: Allocations | None) -> None:
        tree.update_inventory(nodename, {resource_class: inventory(1)})
        tree.update_traits(nodename, {trait})

    return shape


def empty(tree: ProviderTree, nodename: str, _: Allocations | None) -> None:
    tree.update_inventory(nodename, {})
    tree.update_traits(nodename, set())


def test_names_that_somebody_has_deleted_are_created_again(
    client: Client, agent_server: RoostServer
) -> None:
    marker = uuid.uuid4().hex.upper()
    trait, resource_class = f"CUSTOM_T{marker}", f"CUSTOM_C{marker}"
    with counting_client_of(agent_server) as (own, transport):
        driver = ShapeDriver(named(trait, resource_class))
        tracker = Tracker(own, driver, "host")
        tracker.update(startup=True)
        [host] = client.providers()
        driver.shape = empty
        tracker.update(startup=True)
        # What was created once is not created again.
        driver.shape = named(trait, resource_class)
        transport.sent.clear()
        tracker.update(startup=True)
        assert not any("CUSTOM" in line for line in transport.sent)
        driver.shape = empty
        tracker.update(startup=True)
        client.delete_trait(trait)
        client.delete_resource_class(resource_class)
        driver.shape = named(trait, resource_class)
        assert tracker.update(startup=True) is not None
    assert client.provider_traits(host.uuid).traits == {trait}
    assert client.inventories(host.uuid).inventories == {resource_class: Inventory(total=1)}


def test_classes_that_somebody_has_deleted_are_created_for_a_reshape(client: Client) -> None:
    resource_class = f"CUSTOM_{uuid.uuid4().hex.upper()}"
    report = ReportClient(client)
    tree = report.get_provider_tree_and_ensure_root("host")
    for amounts in ({resource_class: inventory(1)}, {}):
        tree.update_inventory("host", amounts)
        report.update_from_provider_tree(tree)
    client.delete_resource_class(resource_class)
    tree = report.get_provider_tree("host")
    tree.update_inventory("host", {resource_class: inventory(2)})
    report.update_from_provider_tree(tree, {})
    [host] = client.providers()
    assert client.inventories(host.uuid).inventories == {resource_class: Inventory(total=2)}


def test_a_refusal_that_has_nothing_to_do_with_names_is_reported(client: Client) -> None:
    report = ReportClient(client)
    tree = report.get_provider_tree_and_ensure_root("host")
    tree.update_traits("host", {"CUSTOM_GOLD"})
    tree.update_inventory("host", {"VCPU": inventory(1, reserved=-1)})
    with pytest.raises(UpdateFailed, match="host: inventories:"):
        report.update_from_provider_tree(tree)
