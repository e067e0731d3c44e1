"""Waiting watchers wake up in time, and cost next to nothing meanwhile."""

import threading
import time
from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy import text

from roost.errors import TooManyWatchers
from roost.operations import events
from roost.operations.events import current_position, read_events
from roost.operations.traits import ensure_trait
from roost.service.event_hub import POLL_SECONDS, WATCHERS_MAX, WATCHERS_WITH_THREAD_MAX
from roost.service.service import Roost
from roost.service.watcher import EventFilter
from roost.store.feed.positions import FeedPosition
from tests.concurrency.races import add_provider, claim, put, run_concurrently
from tests.support.watchers import ALL, await_events

OpenRoost = Callable[[], Roost]


def test_a_write_wakes_a_waiting_watcher(open_roost: OpenRoost) -> None:
    watcher, writer = open_roost(), open_roost()
    add_provider(writer, "a", VCPU=8)
    position = current_position(watcher)
    thread = threading.Timer(0.5, put, (writer, claim("c", {"a": {"VCPU": 1}})))
    thread.start()
    started_at = time.monotonic()
    _, found = await_events(watcher, position=position, event_filter=ALL, until=started_at + 20)
    assert 0.4 < time.monotonic() - started_at < 10
    assert [event["kind"] for event in found] == ["allocations"]
    thread.join()


def test_an_event_that_does_not_match_wakes_nobody(open_roost: OpenRoost) -> None:
    """The watcher's position advances nevertheless."""
    watcher, writer = open_roost(), open_roost()
    position = current_position(watcher)
    add_provider(writer, "a", VCPU=8)
    until = time.monotonic() + 0.5
    moved, found = await_events(
        watcher,
        position=position,
        event_filter=EventFilter(kinds=frozenset({"catalog"})),
        until=until,
    )
    assert time.monotonic() >= until
    assert found == []
    assert read_events(watcher, position=moved, event_filter=ALL) == []


class Reads:
    """Counts how often a service polls the positions of the writers, and reads their records."""

    def __init__(self, roost: Roost, monkeypatch: pytest.MonkeyPatch) -> None:
        self.polls = self.reads = 0
        position, records_between = roost.store.position, roost.store.records_between

        def poll() -> FeedPosition:
            self.polls += 1
            return position()

        def read(position: FeedPosition, until: FeedPosition) -> object:
            self.reads += 1
            return records_between(position, until)

        monkeypatch.setattr(roost.store, "position", poll)
        monkeypatch.setattr(roost.store, "records_between", read)


def test_waiting_costs_one_poll_per_interval(
    open_roost: OpenRoost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if others write, or a writer is removed."""
    watcher, writer, late = open_roost(), open_roost(), open_roost()
    add_provider(writer, "a", VCPU=1000)
    put(writer, claim("c", {"a": {"VCPU": 1}}))
    with writer.store.engine.begin() as connection:
        connection.execute(text("UPDATE roost_writers SET updated_at = '2001-01-01 00:00:00'"))
    ensure_trait(late, name="CUSTOM_LATE")
    position = current_position(late)
    counted = Reads(watcher, monkeypatch)
    turns = 5
    polls_max = turns + 2
    await_events(
        watcher, position=position, event_filter=ALL, until=time.monotonic() + turns * POLL_SECONDS
    )
    assert counted.reads == 0
    assert 1 < counted.polls <= polls_max

    stopping = threading.Event()

    def keep_writing() -> None:
        for number in range(1000):
            if not stopping.wait(0.01):
                put(writer, claim(f"c{number}", {"a": {"VCPU": 1}}))

    thread = threading.Thread(target=keep_writing)
    thread.start()
    nothing = EventFilter(kinds=frozenset({"catalog"}))
    counted.polls = counted.reads = 0
    waiting = partial(
        await_events,
        watcher,
        position=position,
        event_filter=nothing,
        until=time.monotonic() + turns * POLL_SECONDS,
    )
    run_concurrently([waiting, waiting])
    stopping.set()
    thread.join()
    # Both share the polls and the reads, unless one joins after the first.
    assert counted.polls <= polls_max
    assert 1 <= counted.reads <= counted.polls + 1


def test_a_watcher_far_behind_does_not_wait(
    open_roost: OpenRoost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events that do not match are skipped at once, however many there are."""
    monkeypatch.setattr(events, "WRITES_MAX", 2)
    roost = open_roost()
    begin = current_position(roost)
    for number in range(20):
        ensure_trait(roost, name=f"CUSTOM_{number}")
    add_provider(roost, "a")
    started_at = time.monotonic()
    _, found = await_events(
        roost,
        position=begin,
        event_filter=EventFilter(kinds=frozenset({"provider"})),
        until=started_at + 20,
    )
    assert time.monotonic() - started_at < 5 * POLL_SECONDS
    assert len(found) == 1


def test_a_waiting_watcher_holds_no_connection(open_roost: OpenRoost) -> None:
    watcher = open_roost()
    position = current_position(watcher)
    waiting = threading.Thread(
        target=await_events,
        args=(watcher,),
        kwargs={"position": position, "event_filter": ALL, "until": time.monotonic() + 30},
    )
    waiting.start()
    time.sleep(0.5)
    # The connection that polls the writers stays open, and all requests share it.
    assert watcher.store._database.reader.pool.checkedout() <= 2  # type: ignore[attr-defined]
    assert watcher.store.engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    started_at = time.monotonic()
    watcher.event_hub.stop()
    waiting.join(10)
    assert time.monotonic() - started_at < 5


@pytest.mark.parametrize(
    ("takes_thread", "most"), [(True, WATCHERS_WITH_THREAD_MAX), (False, WATCHERS_MAX)]
)
def test_the_number_of_watchers_is_limited(roost: Roost, takes_thread: bool, most: int) -> None:
    admit = partial(
        roost.event_hub.admit,
        None,  # type: ignore[arg-type]
        position={},
        event_filter=ALL,
        seconds=1,
        renderer=None,  # type: ignore[arg-type]
        takes_thread=takes_thread,
    )
    admitted = [admit() for _ in range(most)]
    with pytest.raises(TooManyWatchers):
        admit()
    # A place is free again when a watcher stops, and when it is dropped without a start.
    admitted.pop().stop()
    admitted.append(admit())
    with pytest.raises(TooManyWatchers):
        admit()
    admitted.pop()
    admitted.append(admit())
    with pytest.raises(TooManyWatchers):
        admit()


def test_a_configured_limit_holds_for_all(open_roost: OpenRoost) -> None:
    roost = open_roost()
    roost.event_hub._watchers_max = 0
    for takes_thread in (True, False):
        with pytest.raises(TooManyWatchers):
            roost.event_hub.admit(
                None,  # type: ignore[arg-type]
                position={},
                event_filter=ALL,
                seconds=1,
                renderer=None,  # type: ignore[arg-type]
                takes_thread=takes_thread,
            )
