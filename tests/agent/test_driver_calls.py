"""Calls of a driver that hang: given up after a while, and holding up nobody else for longer."""

import gc
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from roost.agent import driver_calls, rounds
from roost.agent.driver import Allocations, Driver
from roost.agent.guarded_driver import DriverFailed, GuardedDriver
from roost.agent.provider_tree import ProviderTree
from roost.agent.rounds import Rounds, Update, run_once, update_at_start
from roost.agent.stopping import Stopped
from roost.agent.tracker import Tracker
from roost.client import Client
from tests.agent.hosts import flat
from tests.support.names import uid

# Of a call; far more than one needs that does not hang.
SECONDS_MAX = 0.5
# After which a test has failed.
PATIENCE_SECONDS = 60


class HangingDriver(Driver):
    """Calls for the node `stuck` hang until a test lets them go."""

    def __init__(self) -> None:
        super().__init__({})
        self.is_free = threading.Event()
        self.hangs_in: set[str] = set()
        self.calls: list[tuple[str, str]] = []  # of which method, for which node
        self.threads: set[threading.Thread] = set()

    def _enter(self, method: str, nodename: str) -> None:
        self.calls.append((method, nodename))
        self.threads.add(threading.current_thread())
        if method in self.hangs_in and nodename in ("stuck", ""):
            assert self.is_free.wait(PATIENCE_SECONDS)

    def nodenames(self) -> list[str]:
        self._enter("nodenames", "")
        return ["stuck", "well"]

    def root_uuid(self, nodename: str) -> str | None:
        self._enter("root_uuid", nodename)
        return uid(nodename)

    def where(self, nodename: str, consumer: str) -> dict[str, str]:
        self._enter("where", nodename)
        return {}

    def update_provider_tree(
        self,
        provider_tree: ProviderTree,
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        self._enter("update_provider_tree", nodename)
        flat(provider_tree, nodename, allocations)


@pytest.fixture
def driver() -> Iterator[HangingDriver]:
    found = HangingDriver()
    yield found
    found.is_free.set()


def guarded(driver: Driver, **options: Any) -> GuardedDriver:
    return GuardedDriver(driver, "own", seconds_max=SECONDS_MAX, **options)


def host(name: str) -> ProviderTree:
    tree = ProviderTree()
    tree.new_root(name, uid(name))
    return tree


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize(
    ("method", "call", "words"),
    [
        ("nodenames", lambda own: own.nodenames(), "driver own: nodenames()"),
        ("root_uuid", lambda own: own.root_uuid("stuck"), "driver own: stuck: root_uuid()"),
        (
            "where",
            lambda own: own.where("stuck", uid("consumer")),
            f"driver own: stuck: where({uid('consumer')})",
        ),
        (
            "update_provider_tree",
            lambda own: own.update_provider_tree(host("stuck"), "stuck"),
            "driver own: stuck: update_provider_tree()",
        ),
    ],
)
def test_a_call_that_hangs_is_a_failure_of_one_line(
    driver: HangingDriver, method: str, call: Callable[[GuardedDriver], object], words: str
) -> None:
    driver.hangs_in.add(method)
    own = guarded(driver)
    with pytest.raises(DriverFailed) as raised:
        call(own)
    assert str(raised.value) == f"{words} has not returned within 0.5 seconds"
    # Others go on.
    own.update_provider_tree(host("well"), "well")


def test_no_other_call_for_a_node_begins_while_one_hangs(
    driver: HangingDriver, caplog: pytest.LogCaptureFixture
) -> None:
    driver.hangs_in.add("update_provider_tree")
    own = guarded(driver)
    with pytest.raises(DriverFailed):
        own.update_provider_tree(host("stuck"), "stuck")
    with pytest.raises(DriverFailed, match=r"stuck: update_provider_tree\(\) has not returned for"):
        own.update_provider_tree(host("stuck"), "stuck")
    with pytest.raises(DriverFailed, match=r"stuck: update_provider_tree\(\) has not returned for"):
        own.root_uuid("stuck")
    assert driver.calls == [("update_provider_tree", "stuck")]
    with caplog.at_level(logging.INFO):
        driver.is_free.set()
        wait_until(lambda: "update_provider_tree() has ended after" in caplog.text)
    own.update_provider_tree(host("stuck"), "stuck")
    assert len(driver.calls) == 2


def test_calls_are_made_by_one_thread_until_one_is_given_up(driver: HangingDriver) -> None:
    own = guarded(driver)
    for number in range(5):
        own.where("well", uid(f"consumer {number}"))
    own.nodenames()
    [first] = driver.threads
    driver.hangs_in.add("root_uuid")
    with pytest.raises(DriverFailed):
        own.root_uuid("stuck")
    own.root_uuid("well")
    own.nodenames()
    [second] = driver.threads - {first}
    # What is left behind does not keep the process alive, and ends with its call.
    assert first.daemon
    assert second.daemon
    driver.is_free.set()
    first.join(PATIENCE_SECONDS)
    assert not first.is_alive()
    # Nor does a driver leave anything behind that nobody uses any more.
    del own
    gc.collect()
    second.join(PATIENCE_SECONDS)
    assert not second.is_alive()


def test_a_timeout_of_the_driver_itself_is_its_own_error(driver: HangingDriver) -> None:
    class Impatient(HangingDriver):
        def nodenames(self) -> list[str]:
            raise TimeoutError("no answer from the hypervisor")

    with pytest.raises(DriverFailed, match=r"driver own: TimeoutError: no answer from the hyp"):
        guarded(Impatient()).nodenames()


@pytest.mark.parametrize("waits", ["for its turn", "for its answer"])
def test_a_stop_waits_for_no_call(
    driver: HangingDriver, waits: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_calls, "STOP_SECONDS_MAX", 0.1)
    driver.hangs_in.add("update_provider_tree")
    stop, raised = threading.Event(), []
    own = GuardedDriver(driver, "own", stop, seconds_max=PATIENCE_SECONDS)

    def update(name: str) -> None:
        with pytest.raises(Stopped):
            own.update_provider_tree(host(name), name)
        raised.append(name)

    names = ["stuck", "well"] if waits == "for its turn" else ["stuck"]
    threads = [threading.Thread(target=update, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
        wait_until(lambda: bool(driver.calls))
    stop.set()
    for thread in threads:
        thread.join(PATIENCE_SECONDS / 2)
    assert sorted(raised) == names
    assert driver.calls == [("update_provider_tree", "stuck")]


def test_a_call_that_is_under_way_at_a_stop_may_end(driver: HangingDriver) -> None:
    driver.hangs_in.add("update_provider_tree")
    stop, tree = threading.Event(), host("stuck")
    own = GuardedDriver(driver, "own", stop)
    thread = threading.Thread(target=own.update_provider_tree, args=(tree, "stuck"))
    thread.start()
    wait_until(lambda: bool(driver.calls))
    stop.set()
    driver.is_free.set()
    thread.join(PATIENCE_SECONDS)
    assert tree.has_inventory("stuck")


# ---------------------------------------------------------------------------------------------
# Updates


def test_a_node_that_hangs_stops_no_other(driver: HangingDriver, client: Client) -> None:
    driver.hangs_in.add("update_provider_tree")
    own = guarded(driver)
    names = ["stuck", *(f"well{number}" for number in range(2 * rounds.WORKERS))]
    updates = run_once(names, lambda name: Tracker(client, own, name), update_at_start)
    errors = {each.nodename: each.error for each in updates}
    assert errors.keys() == set(names)
    assert [name for name in names if errors[name] is not None] == ["stuck"]
    [stuck] = client.providers({"name": "stuck"})
    assert client.inventories(stuck.uuid).inventories == {}


def test_a_node_that_hangs_is_tried_again_when_it_does_not(
    driver: HangingDriver, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "BACK_OFF_SECONDS_MAX", 0.02)
    driver.hangs_in.add("update_provider_tree")
    own, reported = guarded(driver), list[Update]()
    found = Rounds(
        ["stuck", "well"],
        lambda name: Tracker(client, own, name),
        interval=0.01,
        report=reported.append,
        stop=threading.Event(),
    )

    def ends(name: str) -> list[bool]:
        return [each.error is None for each in reported if each.nodename == name]

    thread = threading.Thread(target=found.run)
    thread.start()
    try:
        wait_until(lambda: len(ends("stuck")) > 2 and len(ends("well")) > 5)
        assert not any(ends("stuck"))
        assert all(ends("well"))
        assert driver.calls.count(("update_provider_tree", "stuck")) == 1
        driver.is_free.set()
        wait_until(lambda: any(ends("stuck")))
    finally:
        driver.is_free.set()
        found.stop()
        thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
