"""Updates at start and periodically, and a reshape during claims of other clients."""

import logging
import threading
import time
from typing import cast

import pytest

from roost.agent import tracker as tracker_module
from roost.agent.driver import Allocations, ReshapeNeeded
from roost.agent.provider_tree import ProviderTree
from roost.agent.tracker import ReshapeForbidden, Tracker, run_periodically
from roost.agent.tree_update import UpdateFailed
from roost.client import ApiError, Client
from tests.agent.hosts import Shape, ShapeDriver, claim, flat, graphics, inventory, uid
from tests.support.roost_server import RoostServer


def tracker_of(client: Client, shape: Shape) -> tuple[Tracker, ShapeDriver]:
    driver = ShapeDriver(shape)
    return Tracker(client, driver, "host"), driver


def test_only_an_update_at_startup_reshapes(client: Client) -> None:
    tracker, driver = tracker_of(client, flat)
    assert tracker.update(startup=True) is True
    assert tracker.update(startup=False) is False
    [host] = client.providers()
    claim(client, "one", {host.uuid: {"VGPU": 2}})
    driver.shape = graphics
    # A running agent must not reshape.
    with pytest.raises(ReshapeForbidden, match="roost agent reshape"):
        tracker.update(startup=False)
    assert len(client.providers()) == 1
    assert tracker.update(startup=True) is True
    assert client.usages(uid("host_gpu0")) == {"VGPU": 2}
    assert tracker.update(startup=False) is False


def test_a_new_host_without_resources_is_an_update(client: Client) -> None:
    tracker, _ = tracker_of(client, lambda tree, nodename, allocations: None)
    assert tracker.update(startup=True) is True
    assert tracker.update(startup=True) is False


def test_a_plan_writes_nothing(client: Client) -> None:
    tracker, driver = tracker_of(client, flat)
    plan = tracker.plan()
    assert plan.held_before is None
    assert plan.after.data("host").inventory["VCPU"]["total"] == 16
    # The service does not have the host yet.
    assert not plan.before.exists("host")
    assert client.providers() == []
    tracker.update(startup=True)
    [host] = client.providers()
    claim(client, "one", {host.uuid: {"VGPU": 2}})
    driver.shape = graphics
    plan = tracker.plan()
    assert plan.held_before is not None
    assert plan.held_before[uid("one")]["allocations"] == {host.uuid: {"resources": {"VGPU": 2}}}
    assert plan.held_after is not None
    assert uid("host_gpu0") in plan.held_after[uid("one")]["allocations"]
    assert len(client.providers()) == 1


def test_a_failed_start_is_fatal(client: Client) -> None:
    def impossible(tree: ProviderTree, nodename: str, _: Allocations | None) -> None:
        tree.update_inventory(nodename, {"NO_SUCH_CLASS": inventory(1)})

    tracker, _ = tracker_of(client, impossible)
    with pytest.raises(UpdateFailed, match="NO_SUCH_CLASS"):
        tracker.update(startup=True)


def test_a_failed_periodic_update_is_logged_and_repeated(
    client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracker_module, "BACK_OFF_SECONDS_MAX", 0.01)
    runs = threading.Semaphore(0)

    def failing(tree: ProviderTree, nodename: str, _: Allocations | None) -> None:
        runs.release()
        raise RuntimeError("the machine does not answer")

    def growing(tree: ProviderTree, nodename: str, _: Allocations | None) -> None:
        tree.update_inventory(nodename, {"VCPU": inventory(99)})
        runs.release()

    tracker, driver = tracker_of(client, flat)
    tracker.update(startup=True)
    driver.shape = failing
    stop = threading.Event()
    with caplog.at_level(logging.WARNING):
        thread = threading.Thread(
            target=run_periodically, args=([tracker], stop), kwargs={"interval": 0.01}
        )
        thread.start()
        for _ in range(3):
            assert runs.acquire(timeout=10)
        driver.shape = growing
        [host] = client.providers()
        deadline = time.monotonic() + 10
        while client.inventories(host.uuid).inventories["VCPU"].total != 99:
            assert time.monotonic() < deadline
        stop.set()
        thread.join(10)
    assert not thread.is_alive()
    assert "the machine does not answer" in caplog.text


class CountingTracker:
    """A tracker that counts its updates, and fails every time or never."""

    def __init__(self, nodename: str, *, fails: bool) -> None:
        self.nodename = nodename
        self.fails = fails
        self.updates = 0

    def update(self, *, startup: bool) -> bool:
        self.updates += 1
        if self.fails:
            raise RuntimeError("the machine does not answer")
        return False


def test_a_failing_node_backs_off_alone() -> None:
    broken, healthy = CountingTracker("broken", fails=True), CountingTracker("healthy", fails=False)
    stop = threading.Event()
    trackers = cast("list[Tracker]", [broken, healthy])
    thread = threading.Thread(
        target=run_periodically, args=(trackers, stop), kwargs={"interval": 0.02}
    )
    thread.start()
    deadline = time.monotonic() + 20
    # Fifty pauses of 0.02 seconds; with the pauses of the failing node they would take years.
    while healthy.updates < 50 and time.monotonic() < deadline:
        time.sleep(0.01)
    stop.set()
    thread.join(20)
    assert not thread.is_alive()
    assert healthy.updates >= 50
    assert 1 <= broken.updates < healthy.updates / 2


def test_failures_make_the_pauses_longer() -> None:
    pauses = [tracker_module._pause(60, failures) for failures in (0, 1, 2, 10)]
    assert 54 <= pauses[0] <= 66
    assert 108 <= pauses[1] <= 132
    assert 216 <= pauses[2] <= 264
    assert 540 <= pauses[3] <= 660


def test_changes_before_reshape_needed_are_discarded(client: Client) -> None:
    """Changes that a driver made before it raised ReshapeNeeded are discarded."""

    def careless(tree: ProviderTree, nodename: str, allocations: Allocations | None) -> None:
        if allocations is None:
            tree.new_child("half done", nodename)
            raise ReshapeNeeded("now")
        flat(tree, nodename, allocations)

    tracker, _ = tracker_of(client, careless)
    tracker.update(startup=True)
    assert [each.name for each in client.providers()] == ["host"]


def test_a_reshape_during_claims(client: Client, agent_server: RoostServer) -> None:
    """No claim is lost or doubled, and no search sees both the old and the new inventories."""
    tracker, driver = tracker_of(client, flat)
    tracker.update(startup=True)
    root = client.providers()[0].uuid
    stop = threading.Event()
    held: dict[str, int] = {}
    problems: list[str] = []

    def keep_claiming(number: int) -> None:
        with Client(agent_server.url) as own:
            count = 0
            while not stop.is_set():
                count += 1
                found = own.candidates({"resources": "VGPU:1", "limit": 20}).candidates
                if not found:
                    return
                name = f"claim {number} {count}"
                try:
                    claim(own, name, found[number % len(found)].allocations)
                    held[uid(name)] = 1
                except ApiError as error:
                    if error.status != 409:
                        problems.append(str(error))

    def keep_watching() -> None:
        with Client(agent_server.url) as own:
            while not stop.is_set():
                query = {"resources": "VCPU:1", "in_tree": root}
                summaries = own.candidates(query).summaries
                total = sum(each.capacity.get("VGPU", 0) for each in summaries.values())
                if summaries and total != 8:
                    problems.append(f"{total} VGPUs")

    threads = [threading.Thread(target=keep_claiming, args=[number]) for number in range(2)]
    threads.append(threading.Thread(target=keep_watching))
    for thread in threads:
        thread.start()
    driver.shape = graphics
    tracker.update(startup=True)
    time.sleep(0.3)
    stop.set()
    for thread in threads:
        thread.join(30)
    assert problems == []
    cards = [uid("host_gpu0"), uid("host_gpu1")]
    found = {
        consumer: resources["VGPU"]
        for card in cards
        for consumer, resources in client.provider_consumers(card).items()
    }
    assert found == held
    assert all(client.usages(card)["VGPU"] <= 4 for card in cards)
    assert "VGPU" not in client.inventories(root).inventories
