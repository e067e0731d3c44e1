"""Long requests leave their places to others, and share what they need by turns."""

import threading
import time
from contextlib import ExitStack
from contextvars import Context
from pathlib import Path

import pytest

from roost.errors import TooManyLongRequests
from roost.server import lanes as lanes_module
from roost.server.lanes import LATE_OF_SENDER_MAX, Lanes
from roost.server.turns import Sender
from roost.service.search_time import SearchTime, give_way
from tests.hostile.service import raw_http
from tests.hostile.service.fronted_server import FrontedServer

HARD = 64
SECONDS_MAX = 30


def wait_until(is_so) -> None:
    until = time.monotonic() + SECONDS_MAX
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize("threads", [1, 4])
def test_neighbours_are_answered_before_any_hard_search(threads: int, tmp_path: Path) -> None:
    hard = raw_http.head("GET", "/allocation_candidates?hard", "x-auth-token: hostile")
    with FrontedServer(tmp_path, threads=threads) as server, ExitStack() as stack:
        connections = [stack.enter_context(raw_http.connect(server.port)) for _ in range(HARD)]
        for connection in connections:
            connection.sendall(hard)
        # All of them run by turns, though there are but a few threads.
        wait_until(lambda: server.counts()["searches"] == HARD)
        before = server.counts()["questions"]
        for _ in range(20):
            assert server.get("/resource_providers/x")
            assert server.get("/allocation_candidates?small") == b"small"
        assert server.get("/livez")
        assert raw_http.answered(connections) == 0
        # They go on all the same; so many short requests may be over before the next turn.
        wait_until(lambda: server.counts()["questions"] > before)
        server.get("/release")
        answers = [raw_http.receive_answer(connection) for connection in connections]
        assert answers == [(200, b"found")] * HARD
        wait_until(lambda: server.threads == threads)


def test_a_search_that_is_too_much_is_refused(tmp_path: Path) -> None:
    hard = raw_http.head("GET", "/allocation_candidates?hard", "x-auth-token: hostile")
    with FrontedServer(tmp_path) as server, ExitStack() as stack:
        connections = [stack.enter_context(raw_http.connect(server.port)) for _ in range(140)]
        for connection in connections:
            connection.sendall(hard)
        wait_until(lambda: server.counts()["refused"] == 140 - 128)
        assert raw_http.answered(connections) == 140 - 128
        assert server.get("/allocation_candidates?small") == b"small"
        server.get("/release")
        answers = [raw_http.receive_answer(connection) for connection in connections]
        assert sorted({status for status, _ in answers}) == [200, 503]


@pytest.mark.parametrize("threads", [1, 4])
def test_neighbours_are_answered_before_requests_that_never_ask(
    threads: int, tmp_path: Path
) -> None:
    with FrontedServer(tmp_path, threads=threads) as server, ExitStack() as stack:
        connections = [stack.enter_context(raw_http.connect(server.port)) for _ in range(16)]
        for connection in connections:
            connection.sendall(raw_http.head("GET", "/wait", "x-auth-token: hostile"))
        wait_until(lambda: server.counts()["waiting"] == len(connections))
        for _ in range(20):
            assert server.get("/resource_providers/x")
            assert server.get("/allocation_candidates?small") == b"small"
        assert raw_http.answered(connections) == 0
        server.get("/release")
        answers = [raw_http.receive_answer(connection) for connection in connections]
        assert answers == [(200, b"waited")] * len(connections)
        wait_until(lambda: server.threads == threads)


def test_late_requests_of_one_sender_are_few(tmp_path: Path) -> None:
    """They could read a hundred thousand rows each, and take no turns."""
    with FrontedServer(tmp_path) as server, ExitStack() as stack:
        connections = [stack.enter_context(raw_http.connect(server.port)) for _ in range(16)]
        for connection in connections:
            connection.sendall(raw_http.head("GET", "/usages", "x-auth-token: hostile"))
        wait_until(lambda: server.counts()["waiting"] >= LATE_OF_SENDER_MAX)
        for _ in range(20):
            assert server.get("/allocation_candidates?small") == b"small"
            time.sleep(0.01)
        # Besides those that began before the first of them was late.
        assert server.counts()["waiting"] <= LATE_OF_SENDER_MAX + 3
        server.get("/release")
        answers = [raw_http.receive_answer(connection) for connection in connections]
        assert answers == [(200, b"waited")] * len(connections)


class Jobs:
    """Jobs of lanes that write down when they begin and end."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self.events: list[str] = []
        self.go = threading.Event()
        self._ended = threading.Semaphore(0)
        self._count = 0

    def add(
        self,
        name: str,
        *,
        address: str = "",
        sender: str = "",
        slow: bool = False,
        waits: bool = False,
    ) -> None:
        def work() -> None:
            self.events.append(f"{name} begins")
            try:
                if waits:
                    self.go.wait(SECONDS_MAX)
                elif slow:
                    search_time = SearchTime(SECONDS_MAX)
                    while search_time.may_go_on() and not self.go.is_set():
                        sum(range(10000))
                self.events.append(f"{name} ends")
            except TooManyLongRequests:
                self.events.append(f"{name} is refused")
            finally:
                self._ended.release()

        self._count += 1
        self.lanes.add(
            work, Context(), lambda: None, sender=Sender(address, sender), may_take_long=slow
        )

    def finish(self) -> list[str]:
        self.go.set()
        for _ in range(self._count):
            assert self._ended.acquire(timeout=SECONDS_MAX)
        return self.events


def test_senders_take_turns() -> None:
    jobs = Jobs(Lanes(1, "test"))
    jobs.add("first", waits=True)
    for number in range(3):
        jobs.add(f"hostile {number}", sender="hostile")
    jobs.add("honest", sender="honest")
    events = [event for event in jobs.finish() if event.endswith("ends")]
    assert events.index("honest ends") < events.index("hostile 1 ends")


def test_addresses_take_turns_whatever_tokens_they_invent() -> None:
    jobs = Jobs(Lanes(1, "test"))
    jobs.add("first", waits=True)
    for number in range(10):
        jobs.add(f"hostile {number}", address="10.0.0.1", sender=f"invented {number}")
    jobs.add("honest", address="10.0.0.2", sender="honest")
    events = [event for event in jobs.finish() if event.endswith("ends")]
    assert events.index("honest ends") < events.index("hostile 1 ends")


def test_one_place_is_kept_for_what_does_not_take_long() -> None:
    jobs = Jobs(Lanes(3, "test"))
    for number in range(5):
        jobs.add(f"search {number}", slow=True, waits=True)
    jobs.add("read")
    wait_until(lambda: "read ends" in jobs.events)
    assert len([event for event in jobs.events if event.startswith("search")]) == 2
    jobs.finish()


def test_more_long_requests_than_allowed_are_refused() -> None:
    jobs = Jobs(Lanes(2, "test", long_max=3))
    for number in range(5):
        jobs.add(f"search {number}", slow=True)
    wait_until(lambda: len(jobs.events) == 7)
    assert len([event for event in jobs.events if event.endswith("refused")]) == 2
    jobs.finish()
    wait_until(lambda: jobs.lanes.count_long == 0)


def test_a_late_request_takes_turns_as_soon_as_it_asks() -> None:
    lanes = Lanes(1, "test")
    begun, go, asked, over = (threading.Event() for _ in range(4))

    def work() -> None:
        begun.set()
        search_time = SearchTime(SECONDS_MAX)
        go.wait(SECONDS_MAX)
        search_time.may_go_on()
        asked.set()
        over.wait(SECONDS_MAX)

    lanes.add(work, Context(), lambda: None, may_take_long=True)
    assert begun.wait(SECONDS_MAX)
    lanes.add(lambda: None, Context(), lambda: None)
    wait_until(lambda: lanes.count_late == 1)
    go.set()
    assert asked.wait(SECONDS_MAX)
    assert (lanes.count_late, lanes.count_long) == (0, 1)
    over.set()
    wait_until(lambda: lanes.count_long == 0)


def test_an_answer_rests_only_beside_others(monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[str] = []
    monkeypatch.setattr(
        lanes_module.time, "sleep", lambda _: rests.append(threading.current_thread().name)
    )
    lanes = Lanes(2, "test")
    done, other_works, may_end = threading.Event(), threading.Event(), threading.Event()

    def other() -> None:
        other_works.set()
        may_end.wait(SECONDS_MAX)

    def nothing() -> None:
        pass

    lanes.add(give_way, Context(), done.set)
    assert done.wait(SECONDS_MAX)
    assert rests.count("test") == 0
    lanes.add(other, Context(), nothing)
    assert other_works.wait(SECONDS_MAX)
    done.clear()
    lanes.add(give_way, Context(), done.set)
    assert done.wait(SECONDS_MAX)
    may_end.set()
    assert rests.count("test") == 1


def test_a_guest_works_only_while_nobody_waits() -> None:
    sender = Sender("address", "token")
    jobs = Jobs(Lanes(3, "test", guests_max=2))
    guest, other = (jobs.lanes.enter(sender, may_take_long=False) for _ in range(2))
    assert guest is not None
    assert other is not None
    # No more than that: the server needs its other threads.
    assert jobs.lanes.enter(sender, may_take_long=False) is None
    jobs.lanes.leave(other)
    # With the guest, three are worked on at once, and the last one waits.
    for number in range(3):
        jobs.add(f"job {number}", waits=True)
    wait_until(lambda: len(jobs.events) == 2)
    assert jobs.lanes.enter(sender, may_take_long=False) is None
    jobs.lanes.leave(guest)
    wait_until(lambda: len(jobs.events) == 3)
    jobs.finish()
    wait_until(lambda: jobs.lanes.enter(sender, may_take_long=False) is not None)


def test_a_guest_lends_its_place() -> None:
    """As a claim does that waits for the transaction of others."""
    lanes = Lanes(1, "test", guests_max=1)
    guest = lanes.enter(Sender("address", "token"), may_take_long=False)
    assert guest is not None
    guest.lend()
    done = threading.Event()
    lanes.add(lambda: None, Context(), done.set)
    assert done.wait(SECONDS_MAX)
    assert lanes.count_late == 0
    lanes.leave(guest)
    assert len(lanes.places) == 1


def test_of_guests_too_few_may_take_long() -> None:
    sender = Sender("address", "token")
    lanes = Lanes(3, "test", guests_max=3)
    searches = [lanes.enter(sender, may_take_long=True) for _ in range(3)]
    assert [each is not None for each in searches] == [True, True, False]
    assert searches[0] is not None
    lanes.leave(searches[0])
    assert lanes.enter(sender, may_take_long=True) is not None


def test_a_late_guest_keeps_no_one_waiting() -> None:
    lanes = Lanes(1, "test", guests_max=1)
    guest = lanes.enter(Sender("address", "token"), may_take_long=True)
    assert guest is not None
    done = threading.Event()
    # It waits for the guest, since both may take long.
    lanes.add(lambda: None, Context(), done.set, may_take_long=True)
    assert done.wait(SECONDS_MAX)
    assert lanes.count_late == 1
    lanes.leave(guest)
    assert lanes.count_late == 0
    assert len(lanes.places) == 1


def test_a_guest_that_takes_long_takes_turns() -> None:
    lanes = Lanes(1, "test", guests_max=1)
    guest = lanes.enter(Sender("address", "token"), may_take_long=True)
    assert guest is not None

    def work() -> None:
        search_time = SearchTime(SECONDS_MAX)
        while search_time.may_go_on() and not lanes.count_long:
            sum(range(10000))

    lanes.work_as_guest(guest, work, Context())
    assert lanes.count_long == 1
    lanes.leave(guest)
    assert (lanes.count_long, len(lanes.places)) == (0, 1)


def test_without_a_front_a_long_request_just_goes_on() -> None:
    assert SearchTime(SECONDS_MAX).may_go_on()
    assert not SearchTime(0).may_go_on()
