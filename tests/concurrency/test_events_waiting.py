"""Those who wait are told in time, and cost next to nothing meanwhile."""

import threading
import time
from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy import text

from roost.errors import TooManyWatchers
from roost.operations import events
from roost.operations.events import EventFilter, await_events, current_position, read_events
from roost.operations.traits import ensure_trait
from roost.service.event_waiters import POLL_SECONDS
from roost.service.service import Roost
from roost.store.feed.positions import FeedPosition
from tests.concurrency.races import at_once, claim, provider, put

OpenRoost = Callable[[], Roost]
ALL = EventFilter()


def test_who_waits_is_woken(open_roost: OpenRoost) -> None:
    watcher, writer = open_roost(), open_roost()
    provider(writer, "a", VCPU=8)
    position = current_position(watcher)
    thread = threading.Timer(0.5, put, (writer, claim("c", {"a": {"VCPU": 1}})))
    thread.start()
    begun = time.monotonic()
    _, found = await_events(watcher, position=position, event_filter=ALL, until=begun + 20)
    assert 0.4 < time.monotonic() - begun < 10
    assert [event.kind for each in found for event in each.events] == ["allocations"]
    thread.join()


def test_who_waits_for_something_else_waits_on(open_roost: OpenRoost) -> None:
    """And its position moves on meanwhile."""
    watcher, writer = open_roost(), open_roost()
    position = current_position(watcher)
    provider(writer, "a", VCPU=8)
    until = time.monotonic() + 0.5
    moved, found = await_events(
        watcher, position=position, event_filter=EventFilter(kinds={"catalog"}), until=until
    )
    assert time.monotonic() >= until
    assert found == []
    assert read_events(watcher, position=moved, event_filter=ALL) == []


class Costs:
    """How often a service asked where the writers are, and for their records."""

    def __init__(self, roost: Roost, monkeypatch: pytest.MonkeyPatch) -> None:
        self.looks = self.reads = 0
        position, records_since = roost.store.position, roost.store.records_since

        def look() -> FeedPosition:
            self.looks += 1
            return position()

        def read(position: FeedPosition) -> object:
            self.reads += 1
            return records_since(position)

        monkeypatch.setattr(roost.store, "position", look)
        monkeypatch.setattr(roost.store, "records_since", read)


def test_waiting_costs_a_look_at_a_time(
    open_roost: OpenRoost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For one who is further than the last look, while others write, and when a writer leaves."""
    watcher, writer, late = open_roost(), open_roost(), open_roost()
    provider(writer, "a", VCPU=1000)
    position = current_position(watcher)
    watcher.waiters.wait(position, time.monotonic())  # the last look
    put(writer, claim("c", {"a": {"VCPU": 1}}))
    with writer.store.engine.begin() as connection:
        connection.execute(text("UPDATE roost_writers SET updated_at = '2001-01-01 00:00:00'"))
    ensure_trait(late, name="CUSTOM_LATE")
    position = current_position(late)
    costs = Costs(watcher, monkeypatch)
    turns = 5
    bound = turns + 2
    await_events(
        watcher, position=position, event_filter=ALL, until=time.monotonic() + turns * POLL_SECONDS
    )
    # In the beginning and in the end.
    assert costs.reads == 2
    assert costs.looks <= bound

    stopping = threading.Event()

    def keep_writing() -> None:
        for number in range(1000):
            if not stopping.wait(0.01):
                put(writer, claim(f"c{number}", {"a": {"VCPU": 1}}))

    thread = threading.Thread(target=keep_writing)
    thread.start()
    nothing = EventFilter(kinds={"catalog"})
    costs.looks = costs.reads = 0
    waiting = partial(
        await_events,
        watcher,
        position=position,
        event_filter=nothing,
        until=time.monotonic() + turns * POLL_SECONDS,
    )
    at_once([waiting, waiting])
    stopping.set()
    thread.join()
    # One look is for both. A read may need another one, of what happened meanwhile.
    assert costs.looks <= bound
    assert 2 * turns - 4 <= costs.reads <= 2 * 2 * bound


def test_a_watcher_far_behind_need_not_wait(
    open_roost: OpenRoost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is of no interest is passed by at once, however much it is."""
    monkeypatch.setattr(events, "WRITES_MAX", 2)
    roost = open_roost()
    begin = current_position(roost)
    for number in range(20):
        ensure_trait(roost, name=f"CUSTOM_{number}")
    provider(roost, "a")
    begun = time.monotonic()
    _, found = await_events(
        roost, position=begin, event_filter=EventFilter(kinds={"provider"}), until=begun + 20
    )
    assert time.monotonic() - begun < 5 * POLL_SECONDS
    assert len(found) == 1


def test_who_waits_holds_no_connection(open_roost: OpenRoost) -> None:
    watcher = open_roost()
    position = current_position(watcher)
    waiting = threading.Thread(
        target=await_events,
        args=(watcher,),
        kwargs={"position": position, "event_filter": ALL, "until": time.monotonic() + 30},
    )
    waiting.start()
    time.sleep(0.5)
    # The one that asks where writers are is kept for that, and shared by all requests.
    assert watcher.store._database.reader.pool.checkedout() <= 2  # type: ignore[attr-defined]
    assert watcher.store.engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    begun = time.monotonic()
    watcher.waiters.stop()
    waiting.join(10)
    assert time.monotonic() - begun < 5


def test_not_everybody_may_wait(roost: Roost) -> None:
    for _ in range(roost.settings.event_streams_max):
        roost.waiters.enter()
    with pytest.raises(TooManyWatchers):
        roost.waiters.enter()
    roost.waiters.leave()
    with roost.waiters.entered():
        pass
