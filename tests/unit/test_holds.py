"""Trees that are held: who waits, until when, and who goes on."""

import contextvars
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from roost.errors import HoldTooSoon
from roost.service import holds as holds_module
from roost.service.holds import Holds, TreeHeld
from roost.store.change_record import decode

SECONDS = 30.0
ROOT, CHILD, OTHER = "root", "child", "other"


@pytest.fixture
def stopping() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def holds(stopping: threading.Event) -> Holds:
    return Holds(lambda: None, stopping)


def begin(holds: Holds, id: str = "a", *, seconds: float = SECONDS, root: str = ROOT) -> None:
    members = [(1, ROOT), (2, CHILD)] if root == ROOT else [(3, root)]
    holds.begin(id, seconds=seconds, root_uuid=root, providers=members)


def is_held(holds: Holds, **claimed: Any) -> bool:
    try:
        holds.check(**claimed)
    except TreeHeld:
        return True
    return False


def alone(action: Callable[[], Any]) -> Any:
    """The result of an action in the context of a request of its own."""
    return contextvars.Context().run(action)


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_claims_in_the_tree_wait_and_others_do_not(holds: Holds) -> None:
    assert not is_held(holds, uuids=[ROOT])
    begin(holds)
    assert is_held(holds, uuids=[OTHER, CHILD])
    assert is_held(holds, ids=[2])
    assert not is_held(holds, uuids=[OTHER], ids=[3])
    assert not is_held(holds)
    holds.end(["a"])
    assert not is_held(holds, uuids=[ROOT], ids=[1])


def test_a_hold_ends_by_itself(holds: Holds) -> None:
    begin(holds, seconds=0.05)
    waiting = alone(lambda: holds.admit(caught(holds), takes_thread=False))
    over = threading.Event()
    waiting.start(over.set)
    assert over.wait(20)
    assert not is_held(holds, uuids=[ROOT])
    # Nobody has to wait for it any more, so its thread ends.
    wait_until(lambda: holds._thread is None)


def caught(holds: Holds) -> Any:
    with pytest.raises(TreeHeld) as held:
        holds.check(uuids=[ROOT])
    return held.value.hold


def test_the_end_may_arrive_before_the_beginning(holds: Holds) -> None:
    """Records of two writers come in any order."""
    holds.end(["a"])
    begin(holds)
    assert not is_held(holds, uuids=[ROOT])


def test_a_hold_that_is_read_twice_begins_once(holds: Holds) -> None:
    begin(holds)
    begin(holds)
    assert len(holds.of([CHILD])) == 1


def test_requests_go_on_in_the_order_in_which_they_came(holds: Holds) -> None:
    begin(holds)
    begin(holds, "b", root=OTHER)
    hold = caught(holds)
    woken: list[int] = []
    for number in range(5):
        waiting = alone(lambda: holds.admit(hold, takes_thread=False))
        waiting.start(lambda number=number: woken.append(number))
        if number == 2:
            # The client is gone.
            waiting.stop()
    holds.end(["b"])
    assert woken == []
    holds.end(["a"])
    assert woken == [0, 1, 3, 4]


def test_who_comes_when_the_hold_has_just_ended_does_not_wait(holds: Holds) -> None:
    begin(holds)
    hold = caught(holds)
    holds.end(["a"])
    waiting = alone(lambda: holds.admit(hold, takes_thread=False))
    woken: list[None] = []
    waiting.start(lambda: woken.append(None))
    assert woken == [None]


def test_a_process_that_stops_lets_everybody_go_on(holds: Holds, stopping: threading.Event) -> None:
    begin(holds)
    waiting = alone(lambda: holds.admit(caught(holds), takes_thread=False))
    over = threading.Event()
    waiting.start(over.set)
    stopping.set()
    assert over.wait(20)
    assert not is_held(holds, uuids=[ROOT])


@pytest.mark.parametrize("takes_thread", [True, False])
def test_one_too_many_goes_on_at_once(
    holds: Holds, takes_thread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holds_module, "WAITING_MAX", 2)
    begin(holds)
    hold = caught(holds)
    for _ in range(2):
        alone(lambda: holds.admit(hold, takes_thread=takes_thread))

    def one_more() -> None:
        holds.admit(hold, takes_thread=takes_thread).wait()
        # It is not asked to wait again.
        assert not is_held(holds, uuids=[ROOT])

    alone(one_more)
    assert is_held(holds, uuids=[ROOT])


def test_a_request_waits_for_two_holds_at_most(holds: Holds) -> None:
    begin(holds, seconds=0.1)

    def request() -> int:
        count = 0
        while is_held(holds, uuids=[ROOT, OTHER]):
            (hold,) = holds.of([ROOT, OTHER])
            waiting = holds.admit(hold, takes_thread=True)
            # Before this one ends, another one begins.
            name = f"{count}"
            begin(holds, name, seconds=0.1, root=f"{OTHER}")
            holds.end([hold.id])
            waiting.wait()
            time.sleep(0.03)
            count += 1
            assert count < 100
        return count

    assert alone(request) >= 1
    # Another request has its own patience.
    assert is_held(holds, uuids=[OTHER])


def test_a_tree_rests_for_as_long_as_it_was_held(
    holds: Holds, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(holds_module.time, "monotonic", lambda: now[0])
    holds.check_rest(ROOT)
    begin(holds, seconds=10)
    with pytest.raises(HoldTooSoon, match=r"20\.0 s"):
        holds.check_rest(ROOT)
    holds.check_rest(OTHER)
    now[0] += 4
    holds.end(["a"])
    now[0] += 3
    with pytest.raises(HoldTooSoon, match=r"1\.0 s"):
        holds.check_rest(ROOT)
    now[0] += 1.5
    holds.check_rest(ROOT)


def test_the_log_says_how_long_and_how_many_waited(
    holds: Holds, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    begin(holds)
    alone(lambda: holds.admit(caught(holds), takes_thread=False))
    holds.end(["a"])
    begin(holds, "b", root=OTHER)
    holds.end(["b"])
    # Processes that nobody asked for a hold, and in which nobody waited, are silent.
    (line,) = caplog.messages
    assert line.startswith("hold a of tree root ended after 0.0")
    assert line.endswith("1 requests have waited in this process")


def test_the_feed_is_read_while_somebody_waits(stopping: threading.Event) -> None:
    """Nobody else may read it, and it says when another process ends the hold."""
    reads: list[None] = []
    holds = Holds(lambda: reads.append(None), stopping)
    begin(holds)
    time.sleep(3 * holds_module.POLL_SECONDS)
    assert reads == []
    alone(lambda: holds.admit(caught(holds), takes_thread=False))
    wait_until(lambda: len(reads) > 2)


def test_an_error_of_the_feed_ends_nothing(stopping: threading.Event) -> None:
    def fail() -> None:
        raise RuntimeError("the database is away")

    holds = Holds(fail, stopping)
    begin(holds, seconds=0.2)
    waiting = alone(lambda: holds.admit(caught(holds), takes_thread=True))
    waiting.wait()
    assert not is_held(holds, uuids=[ROOT])


def test_processes_of_another_release_ignore_what_they_do_not_know() -> None:
    """In a rolling upgrade, old processes read records with holds, and new ones without."""
    record = decode('{"holds":[["a",1,2.5]],"ended_holds":["b"],"something_newer":[1]}')
    assert record.holds == [("a", 1, 2.5)]
    assert record.is_self_contained
    assert decode('{"usage":[[1,2,3]]}').holds == []
