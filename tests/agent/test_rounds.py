"""Updates of all nodes of a driver, once and periodically: each node by itself."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import pytest

from roost.agent import rounds
from roost.agent.guarded_driver import DriverFailed
from roost.agent.rounds import MakeTracker, Rounds, Update, run_once, update_at_start
from roost.agent.stopping import Stopped
from roost.agent.tracker import Plan, ReshapeForbidden, Tracker

SECONDS_MAX = 60


class CountingTracker:
    """A tracker that counts its updates, and does in each of them what a test says."""

    def __init__(self, nodename: str, act: Callable[[str, bool], None] = lambda *_: None) -> None:
        self.nodename = nodename
        self._act = act
        self.starts: list[bool] = []  # of each update, whether it was one at start

    def update(self, *, startup: bool) -> Plan | None:
        self.starts.append(startup)
        self._act(self.nodename, startup)
        return None


def failing(_: str, startup: bool) -> None:
    raise RuntimeError("the machine does not answer")


def makers(*trackers: CountingTracker) -> MakeTracker:
    known = {each.nodename: each for each in trackers}
    return cast(MakeTracker, known.__getitem__)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@contextmanager
def running(found: Rounds) -> Iterator[None]:
    thread = threading.Thread(target=found.run)
    thread.start()
    try:
        yield
    finally:
        found.stop()
        thread.join(SECONDS_MAX)
    assert not thread.is_alive()


# ---------------------------------------------------------------------------------------------
# Once


def test_one_node_that_fails_stops_no_other() -> None:
    def no_uuid(name: str) -> Tracker:
        if name == "strange":
            raise DriverFailed("driver own: strange: KeyError: 'strange'")
        fails = name == "broken"
        return cast(Tracker, CountingTracker(name, failing if fails else lambda *_: None))

    names = ["broken", "one", "strange", "two"]
    found = {each.nodename: each for each in run_once(names, no_uuid, update_at_start)}
    assert found.keys() == set(names)
    errors = {name: each.error for name, each in found.items() if each.error is not None}
    assert errors.keys() == {"broken", "strange"}
    assert rounds.describe(errors["broken"]) == "RuntimeError: the machine does not answer"
    assert rounds.describe(errors["strange"]) == "driver own: strange: KeyError: 'strange'"


def test_a_slow_node_delays_no_other() -> None:
    others_are_done = threading.Event()

    def wait_for_others(_: str, startup: bool) -> None:
        assert others_are_done.wait(SECONDS_MAX)

    trackers = [CountingTracker("slow", wait_for_others)]
    trackers += [CountingTracker(f"node{number}") for number in range(3 * rounds.WORKERS)]
    names = [each.nodename for each in trackers]
    found = []
    for update in run_once(names, makers(*trackers), update_at_start):
        found.append(update.nodename)
        if len(found) == len(names) - 1:
            others_are_done.set()
    assert found[-1] == "slow"


def test_results_come_in_the_order_of_nodes_if_that_is_asked_for() -> None:
    second = threading.Event()

    def wait_for_second(_: str, startup: bool) -> None:
        assert second.wait(SECONDS_MAX)

    trackers = (
        CountingTracker("first", wait_for_second),
        CountingTracker("second", lambda *_: second.set()),
    )
    updates = run_once(["first", "second"], makers(*trackers), update_at_start, in_order=True)
    assert [each.nodename for each in updates] == ["first", "second"]


def test_a_node_that_was_stopped_has_no_result() -> None:
    def stopped(_: str, startup: bool) -> None:
        raise Stopped

    trackers = (CountingTracker("one"), CountingTracker("two", stopped))
    updates = run_once(["one", "two"], makers(*trackers), update_at_start)
    assert [each.nodename for each in updates] == ["one"]


# ---------------------------------------------------------------------------------------------
# Periodically


def test_a_failed_update_is_logged_and_repeated(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "BACK_OFF_SECONDS_MAX", 0.01)
    is_broken = threading.Event()
    reported: list[Update] = []

    def act(name: str, startup: bool) -> None:
        if is_broken.is_set():
            failing(name, startup)

    found = Rounds(
        ["host"],
        makers(CountingTracker("host", act)),
        interval=0.01,
        report=reported.append,
        stop=threading.Event(),
    )
    with caplog.at_level(logging.WARNING), running(found):
        wait_until(lambda: len(reported) > 2)
        is_broken.set()
        wait_until(lambda: sum(each.error is not None for each in reported) > 2)
        is_broken.clear()
        wait_until(lambda: reported[-1].error is None)
    [line] = {each.getMessage() for each in caplog.records}
    assert line == "host could not be updated: RuntimeError: the machine does not answer"
    # A traceback is for those who ask for it.
    assert "Traceback" not in caplog.text


def test_a_failure_has_its_traceback_for_those_who_debug(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "roost.agent"):
        [_] = run_once(["host"], makers(CountingTracker("host", failing)), update_at_start)
    assert "Traceback" in caplog.text
    assert "in failing" in caplog.text


def test_a_failing_node_backs_off_alone() -> None:
    broken, healthy = CountingTracker("broken", failing), CountingTracker("healthy")
    found = Rounds(
        ["broken", "healthy"], makers(broken, healthy), interval=0.02, stop=threading.Event()
    )
    with running(found):
        # Fifty pauses of 0.02 seconds; with the pauses of the failing node they would take years.
        wait_until(lambda: len(healthy.starts) >= 50)
    assert 1 <= len(broken.starts) < len(healthy.starts) / 2


def test_a_slow_node_does_not_hold_up_the_rounds_of_others() -> None:
    is_over = threading.Event()

    def wait(_: str, startup: bool) -> None:
        assert is_over.wait(SECONDS_MAX)

    slow, quick = CountingTracker("slow", wait), CountingTracker("quick")
    found = Rounds(["slow", "quick"], makers(slow, quick), interval=0.01, stop=threading.Event())
    with running(found):
        wait_until(lambda: len(quick.starts) >= 5)
        assert len(slow.starts) == 1
        is_over.set()


def test_a_start_that_failed_is_tried_again_as_a_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may still reshape; once it has succeeded, updates may not."""
    monkeypatch.setattr(rounds, "BACK_OFF_SECONDS_MAX", 0.01)
    attempts: list[bool] = []

    def act(name: str, startup: bool) -> None:
        attempts.append(startup)
        if len(attempts) <= 2 or len(attempts) == 5:
            failing(name, startup)

    tracker = CountingTracker("host", act)
    found = Rounds(["host"], makers(tracker), interval=0.01, stop=threading.Event())
    with running(found):
        wait_until(lambda: len(attempts) >= 7)
    assert attempts[:7] == [True, True, True, False, False, False, False]


def test_a_refused_reshape_is_an_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def refuse(_: str, startup: bool) -> None:
        if not startup:
            raise ReshapeForbidden("they are moved at start only")

    tracker = CountingTracker("host", refuse)
    found = Rounds(["host"], makers(tracker), interval=0.01, stop=threading.Event())
    with running(found):
        wait_until(lambda: any(each.levelname == "ERROR" for each in caplog.records))


def test_nodes_come_and_go_while_the_agent_runs(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "BACK_OFF_SECONDS_MAX", 0.01)
    listed: list[str] | None = ["old", "stays"]
    trackers = {name: CountingTracker(name) for name in ("old", "stays", "new")}
    listings: Counter[str] = Counter()

    def find_nodenames() -> list[str]:
        listings["all"] += 1
        if listed is None:
            listings["failed"] += 1
            raise DriverFailed("driver own: OSError: the list is away")
        return list(listed)

    def updates(name: str) -> int:
        return len(trackers[name].starts)

    found = Rounds(
        ["old", "stays"],
        makers(*trackers.values()),
        find_nodenames=find_nodenames,
        interval=0.01,
        stop=threading.Event(),
    )
    with caplog.at_level(logging.INFO), running(found):
        wait_until(lambda: updates("old") > 1)
        listed = ["stays", "new"]
        wait_until(lambda: updates("new") > 1)
        # One round may have begun before the list was read.
        before = listings["all"]
        wait_until(lambda: listings["all"] > before + 1)
        count, others = updates("old"), updates("stays")
        wait_until(lambda: updates("stays") > others + 5)
        assert updates("old") == count
        listed = None
        wait_until(lambda: listings["failed"] > 1)
        others = updates("stays")
        wait_until(lambda: updates("stays") > others + 2)
        listed = ["old", "stays", "new"]
        wait_until(lambda: updates("old") > count + 1)
    # A node that comes, or comes back, starts.
    assert trackers["new"].starts[:2] == [True, False]
    assert trackers["old"].starts[count:][:2] == [True, False]
    assert "old is no longer among the nodes of the driver" in caplog.text
    assert "the nodes cannot be listed: driver own: OSError: the list is away" in caplog.text


def test_failures_make_the_pauses_longer() -> None:
    pauses = [rounds._pause(60, failures) for failures in (0, 1, 2, 10)]
    assert 54 <= pauses[0] <= 66
    assert 108 <= pauses[1] <= 132
    assert 216 <= pauses[2] <= 264
    assert 540 <= pauses[3] <= 660
