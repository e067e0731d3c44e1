"""Those who watch are told of everything, in order, and of nothing twice."""

import threading
import time
from collections.abc import Callable
from functools import partial

import pytest
from races import at_once, claim, provider, put, uid
from sqlalchemy import text

from roost.errors import PositionGone, TooManyWatchers
from roost.model import Event
from roost.operations.catalog import ensure_trait
from roost.operations.delete_provider import delete_provider
from roost.operations.replace_aggregates import replace_aggregates
from roost.operations.replace_traits import replace_traits
from roost.operations.update_provider import update_provider
from roost.operations.watch_events import (
    Interest,
    await_events,
    current_position,
    read_events,
)
from roost.service import Roost
from roost.store import writer as writer_module
from roost.store.feed import Position

OpenRoost = Callable[[], Roost]
ALL = Interest()


def after(roost: Roost, position: Position, interest: Interest = ALL) -> list[Event]:
    found = read_events(roost, position=position, interest=interest)
    return [event for each in found for event in each.events]


def kinds(events: list[Event]) -> list[tuple[str, str | None]]:
    names = {uid(name): name for name in ("a", "b", "child")}
    return [(each.kind, names.get(each.provider_uuid or "")) for each in events]


def test_every_kind_of_change(open_roost: OpenRoost) -> None:
    writer, watcher = open_roost(), open_roost()
    begin = current_position(watcher)
    provider(writer, "a", VCPU=8)
    ensure_trait(writer, name="CUSTOM_GOLD")
    replace_traits(writer, provider_uuid=uid("a"), traits=["CUSTOM_GOLD"], expected_generation=1)
    replace_aggregates(
        writer, provider_uuid=uid("a"), aggregates=[uid("rack")], expected_generation=2
    )
    put(writer, claim("c", {"a": {"VCPU": 3}}))
    put(writer, claim("c", {"a": {"VCPU": 1}}, expected_generation=1))
    provider(writer, "child", "a")
    update_provider(writer, uuid=uid("child"), name="other", parent_uuid=None, may_reparent=True)
    delete_provider(writer, uuid=uid("child"))
    events = after(watcher, begin)
    assert kinds(events) == [
        ("provider", "a"),
        ("inventories", "a"),
        ("catalog", None),
        ("traits", "a"),
        ("aggregates", "a"),
        ("allocations", "a"),
        ("allocations", "a"),
        ("provider", "child"),
        ("provider", "child"),
        ("provider", "child"),
    ]
    assert [each.generation for each in events[:7]] == [None, 1, None, 2, 3, 4, 5]
    assert [each.usage for each in events[5:7]] == [{"VCPU": 3}, {"VCPU": -2}]
    assert [each.deleted for each in events[-3:]] == [False, False, True]
    assert events[0].root_uuid == uid("a")


def test_events_of_a_provider_come_by_generation(open_roost: OpenRoost) -> None:
    """Twelve claims of three services race for one provider; the fourth tells in which order."""
    services = [open_roost() for _ in range(3)]
    watcher = open_roost()
    provider(services[0], "a", VCPU=100)
    provider(services[0], "b", VCPU=100)
    begin = current_position(watcher)
    at_once(
        [
            partial(put, service, claim(f"{n}-{m}", {"a": {"VCPU": 1}, "b": {"VCPU": 1}}))
            for n, service in enumerate(services)
            for m in range(4)
        ]
    )
    events = after(watcher, begin)
    for name in "ab":
        mine = [each.generation for each in events if each.provider_uuid == uid(name)]
        assert mine == list(range(2, 14))


def test_a_watcher_goes_on_where_it_was(open_roost: OpenRoost) -> None:
    """From any place, with any service, the rest is the same."""
    writer, other = open_roost(), open_roost()
    position = current_position(writer)
    provider(writer, "a", VCPU=50)
    for number in range(5):
        put(writer, claim(f"w{number}", {"a": {"VCPU": 1}}))
        put(other, claim(f"o{number}", {"a": {"VCPU": 1}}))
    found = read_events(writer, position=position, interest=ALL)
    assert len(found) == 12
    for place, happening in enumerate(found):
        assert read_events(other, position=happening.position, interest=ALL) == found[place + 1 :]


def test_interests(open_roost: OpenRoost) -> None:
    roost = open_roost()
    begin = current_position(roost)
    provider(roost, "a", VCPU=8)
    provider(roost, "b", VCPU=8)
    provider(roost, "child", "a", VCPU=8)
    put(roost, claim("c", {"child": {"VCPU": 1}, "b": {"VCPU": 1}}))
    claims = after(roost, begin, Interest(kinds={"allocations"}))
    assert sorted(kinds(claims)) == [("allocations", "b"), ("allocations", "child")]
    # Of a tree by any of its providers.
    for name in ("a", "child"):
        tree = after(roost, begin, Interest(tree=uid(name), kinds={"allocations", "inventories"}))
        assert kinds(tree) == [
            ("inventories", "a"),
            ("inventories", "child"),
            ("allocations", "child"),
        ]
    assert after(roost, begin, Interest(tree=uid("nobody"))) == []


def test_a_position_that_is_too_old(open_roost: OpenRoost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "KEPT_RECORDS", 4)
    monkeypatch.setattr(writer_module, "TRIM_INTERVAL", 8)
    roost = open_roost()
    begin = current_position(roost)
    for number in range(24):
        ensure_trait(roost, name=f"CUSTOM_{number}")
    with pytest.raises(PositionGone):
        read_events(roost, position=begin, interest=ALL)
    assert after(roost, current_position(roost)) == []


def test_a_position_of_another_history(open_roost: OpenRoost) -> None:
    roost = open_roost()
    provider(roost, "a")
    ahead = {writer: number + 5 for writer, number in current_position(roost).items()}
    for position in (ahead, {**current_position(roost), 12345: 7}):
        with pytest.raises(PositionGone):
            read_events(roost, position=position, interest=ALL)


def test_a_writer_that_left_does_not_break_the_thread(open_roost: OpenRoost) -> None:
    idle, watcher, late = open_roost(), open_roost(), open_roost()
    provider(idle, "a", VCPU=2)
    position = current_position(watcher)
    with idle.store.engine.begin() as connection:
        connection.execute(text("UPDATE roost_writers SET updated_at = '2001-01-01 00:00:00'"))
    provider(late, "b")
    found = read_events(watcher, position=position, interest=ALL)
    assert [event.provider_uuid for each in found for event in each.events] == [uid("b")]
    put(idle, claim("c", {"a": {"VCPU": 1}}))
    assert kinds(after(watcher, found[-1].position)) == [("allocations", "a")]


def test_who_waits_is_woken(open_roost: OpenRoost) -> None:
    watcher, writer = open_roost(), open_roost()
    provider(writer, "a", VCPU=8)
    position = current_position(watcher)
    thread = threading.Timer(0.5, put, (writer, claim("c", {"a": {"VCPU": 1}})))
    thread.start()
    begun = time.monotonic()
    _, found = await_events(watcher, position=position, interest=ALL, until=begun + 20)
    assert 0.4 < time.monotonic() - begun < 10
    assert kinds([event for each in found for event in each.events]) == [("allocations", "a")]
    thread.join()


def test_who_waits_for_something_else_waits_on(open_roost: OpenRoost) -> None:
    """And its position moves on meanwhile."""
    watcher, writer = open_roost(), open_roost()
    position = current_position(watcher)
    provider(writer, "a", VCPU=8)
    until = time.monotonic() + 0.5
    moved, found = await_events(
        watcher, position=position, interest=Interest(kinds={"catalog"}), until=until
    )
    assert time.monotonic() >= until
    assert found == []
    assert after(watcher, moved) == []


def test_who_waits_holds_no_connection(open_roost: OpenRoost) -> None:
    watcher = open_roost()
    position = current_position(watcher)
    waiting = threading.Thread(
        target=await_events,
        args=(watcher,),
        kwargs={"position": position, "interest": ALL, "until": time.monotonic() + 30},
    )
    waiting.start()
    time.sleep(0.5)
    # The one that asks where writers are is kept for that, and shared by all requests.
    assert watcher.store._database.reader.pool.checkedout() <= 2  # type: ignore[attr-defined]
    assert watcher.store.engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    begun = time.monotonic()
    watcher.watch.stop()
    waiting.join(10)
    assert time.monotonic() - begun < 5


def test_not_everybody_may_wait(roost: Roost) -> None:
    for _ in range(roost.settings.event_streams_max):
        roost.watch.enter()
    with pytest.raises(TooManyWatchers):
        roost.watch.enter()
    roost.watch.leave()
    with roost.watch.place():
        pass
