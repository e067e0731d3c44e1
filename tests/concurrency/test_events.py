"""Those who watch are told of everything, in order, and of nothing twice."""

from collections.abc import Callable
from functools import partial
from itertools import accumulate

import msgspec
import pytest
from sqlalchemy import text

from roost.errors import PositionGone
from roost.model import Event, Inventory, InventoryChange
from roost.operations.aggregates import replace_aggregates
from roost.operations.allocations import delete_allocations
from roost.operations.events import EventFilter, current_position, read_events
from roost.operations.inventories import replace_inventories
from roost.operations.providers import create_provider, delete_provider, update_provider
from roost.operations.resource_classes import create_resource_class, delete_resource_class
from roost.operations.traits import ensure_trait, replace_traits
from roost.service.service import Roost
from roost.store.feed import positions as positions_module
from roost.store.feed import writer as writer_module
from roost.store.feed.positions import FeedPosition
from tests.concurrency.races import at_once, claim, provider, put
from tests.support.names import uid

OpenRoost = Callable[[], Roost]
ALL = EventFilter()


def after(roost: Roost, position: FeedPosition, interest: EventFilter = ALL) -> list[Event]:
    found = read_events(roost, position=position, event_filter=interest)
    return [event for each in found for event in each.events]


def rename(roost: Roost, name: str, other: str) -> None:
    update_provider(roost, uuid=uid(name), name=other, parent_uuid=msgspec.UNSET, may_reparent=True)


def stock(name: str, generation: int, **totals: int) -> InventoryChange:
    return InventoryChange(
        provider_uuid=uid(name),
        inventories={key: Inventory(total=total) for key, total in totals.items()},
        expected_generation=generation,
    )


def hang(roost: Roost, name: str, parent: str | None) -> None:
    """Move a provider below another one, or below none."""
    parent_uuid = None if parent is None else uid(parent)
    update_provider(roost, uuid=uid(name), name=name, parent_uuid=parent_uuid, may_reparent=True)


def trees(events: list[Event]) -> list[tuple[str, str, str]]:
    """The kind, the provider and its root, by name."""
    names = {uid(name): name for name in ("a", "b", "child", "leaf")}
    return [
        (each.kind, names[each.provider_uuid or ""], names[each.root_uuid or ""]) for each in events
    ]


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


@pytest.mark.parametrize("turn", range(3))
def test_every_event_of_a_provider_comes_in_order(open_roost: OpenRoost, turn: int) -> None:
    """Also those of writes that move no generation, whoever of several writers wrote them."""
    services = [open_roost() for _ in range(3)]
    watcher = open_roost()
    services = services[turn:] + services[:turn]
    begin = current_position(watcher)
    one, two, three = services
    create_provider(one, uuid=uid("root"), name="root", parent_uuid=None)
    create_provider(two, uuid=uid("a"), name="a", parent_uuid=None)
    rename(three, "a", "first")
    replace_inventories(one, change=stock("a", 0, VCPU=8))
    hang(two, "a", "root")
    put(three, claim("c", {"a": {"VCPU": 3}}))
    delete_allocations(one, consumer_uuid=uid("c"))
    put(two, claim("d", {"a": {"VCPU": 2}}))
    replace_aggregates(
        three, provider_uuid=uid("a"), aggregates=[uid("rack")], expected_generation=None
    )
    replace_traits(one, provider_uuid=uid("a"), traits=["HW_CPU_X86_AVX"], expected_generation=3)
    delete_allocations(two, consumer_uuid=uid("d"))
    put(three, claim("e", {"a": {"VCPU": 1}}))
    delete_allocations(one, consumer_uuid=uid("e"))
    delete_provider(two, uuid=uid("a"))
    told = [each for each in after(watcher, begin) if each.provider_uuid == uid("a")]
    assert [(each.kind, each.generation, each.usage.get("VCPU")) for each in told] == [
        ("provider", None, None),
        ("provider", None, None),
        ("inventories", 1, None),
        ("provider", None, None),
        ("allocations", 2, 3),
        ("allocations", None, -3),
        ("allocations", 3, 2),
        ("aggregates", None, None),
        ("traits", 4, None),
        ("allocations", None, -2),
        ("allocations", 5, 1),
        ("allocations", None, -1),
        ("provider", None, None),
    ]
    roots = [each.root_uuid for each in told]
    assert roots == [uid("a")] * 3 + [uid("root")] * 10
    assert told[-1].deleted


def test_what_is_used_adds_up_at_any_time(open_roost: OpenRoost) -> None:
    """Claims race with those who give back; nobody gives back before it has taken."""
    services = [open_roost() for _ in range(3)]
    watcher = open_roost()
    provider(services[0], "a", VCPU=100)
    begin = current_position(watcher)

    def come_and_go(number: int) -> None:
        for turn in range(3):
            name = f"{number}-{turn}"
            put(services[number % 3], claim(name, {"a": {"VCPU": 1}}))
            delete_allocations(services[(number + turn) % 3], consumer_uuid=uid(name))

    at_once([partial(come_and_go, number) for number in range(6)])
    events = after(watcher, begin)
    assert len(events) == 36
    used = list(accumulate(each.usage["VCPU"] for each in events))
    assert min(used) == used[-1] == 0
    moved = [each.generation for each in events if each.generation is not None]
    assert moved == list(range(2, 20))


def test_a_watcher_goes_on_where_it_was(open_roost: OpenRoost) -> None:
    """From any place, with any service, the rest is the same."""
    writer, other = open_roost(), open_roost()
    position = current_position(writer)
    provider(writer, "a", VCPU=50)
    for number in range(5):
        put(writer, claim(f"w{number}", {"a": {"VCPU": 1}}))
        put(other, claim(f"o{number}", {"a": {"VCPU": 1}}))
    found = read_events(writer, position=position, event_filter=ALL)
    assert len(found) == 12
    for place, happening in enumerate(found):
        assert (
            read_events(other, position=happening.position, event_filter=ALL) == found[place + 1 :]
        )


def test_interests(open_roost: OpenRoost) -> None:
    roost = open_roost()
    begin = current_position(roost)
    provider(roost, "a", VCPU=8)
    provider(roost, "b", VCPU=8)
    provider(roost, "child", "a", VCPU=8)
    put(roost, claim("c", {"child": {"VCPU": 1}, "b": {"VCPU": 1}}))
    claims = after(roost, begin, EventFilter(kinds={"allocations"}))
    assert sorted(kinds(claims)) == [("allocations", "b"), ("allocations", "child")]
    # Of a tree by any of its providers.
    for name in ("a", "child"):
        tree = after(
            roost, begin, EventFilter(tree=uid(name), kinds={"allocations", "inventories"})
        )
        assert kinds(tree) == [
            ("inventories", "a"),
            ("inventories", "child"),
            ("allocations", "child"),
        ]
    assert after(roost, begin, EventFilter(tree=uid("nobody"))) == []


def test_who_leaves_a_tree_is_told_in_both(open_roost: OpenRoost) -> None:
    roost = open_roost()
    provider(roost, "a")
    provider(roost, "b")
    provider(roost, "child", "a", VCPU=4)
    provider(roost, "leaf", "child")
    begin = current_position(roost)
    put(roost, claim("c", {"child": {"VCPU": 3}}))
    hang(roost, "child", "b")
    put(roost, claim("d", {"child": {"VCPU": 1}}))
    before = [("allocations", "child", "a")]
    move = [("provider", "child", "b"), ("provider", "leaf", "b")]
    later = [("allocations", "child", "b")]
    assert trees(after(roost, begin)) == before + move + later
    assert trees(after(roost, begin, EventFilter(tree=uid("a")))) == before + move
    assert trees(after(roost, begin, EventFilter(tree=uid("b")))) == move + later
    # Who watches by the one that moves goes with it.
    assert trees(after(roost, begin, EventFilter(tree=uid("leaf")))) == before + move + later
    begin = current_position(roost)
    hang(roost, "child", None)
    away = [("provider", "child", "child"), ("provider", "leaf", "child")]
    for name in ("b", "child", "leaf"):
        assert trees(after(roost, begin, EventFilter(tree=uid(name)))) == away
    assert after(roost, begin, EventFilter(tree=uid("a"))) == []


def test_a_tree_is_known_by_a_provider_that_is_deleted(open_roost: OpenRoost) -> None:
    roost = open_roost()
    provider(roost, "a", VCPU=8)
    provider(roost, "child", "a")
    begin = current_position(roost)
    put(roost, claim("c", {"a": {"VCPU": 3}}))
    delete_provider(roost, uuid=uid("child"))
    put(roost, claim("d", {"a": {"VCPU": 3}}))
    by_child = after(roost, begin, EventFilter(tree=uid("child")))
    assert trees(by_child) == [("allocations", "a", "a"), ("provider", "child", "a")]
    assert by_child[-1].deleted
    assert len(after(roost, begin, EventFilter(tree=uid("a")))) == 3
    # Once it is no more, nobody knows which tree was meant, until there is one of that UUID again.
    begin = current_position(roost)
    put(roost, claim("e", {"a": {"VCPU": 1}}))
    assert after(roost, begin, EventFilter(tree=uid("child"))) == []
    provider(roost, "child")
    assert ("provider", "child", "child") in trees(
        after(roost, begin, EventFilter(tree=uid("child")))
    )


def test_an_id_that_is_given_away_again(open_roost: OpenRoost) -> None:
    """SQLite does so: the new provider did not do what the old one did."""
    one, other = open_roost(), open_roost()
    begin = current_position(one)
    provider(one, "a", VCPU=4)
    put(other, claim("c", {"a": {"VCPU": 3}}))
    delete_allocations(one, consumer_uuid=uid("c"))
    delete_provider(other, uuid=uid("a"))
    provider(one, "b", VCPU=8)
    put(other, claim("d", {"b": {"VCPU": 3}}))
    lives = [
        ("provider", "a", "a"),
        ("inventories", "a", "a"),
        ("allocations", "a", "a"),
        ("allocations", "a", "a"),
        ("provider", "a", "a"),
        ("provider", "b", "b"),
        ("inventories", "b", "b"),
        ("allocations", "b", "b"),
    ]
    told = trees(after(one, begin))
    for name in "ab":
        mine = [each for each in lives if each[1] == name]
        assert [each for each in told if each[1] == name] == mine
        assert trees(after(other, begin, EventFilter(tree=uid(name)))) == mine


def test_what_happens_while_the_records_are_read(
    open_roost: OpenRoost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index is newer than the records: they are told as of their own time."""
    watcher, writer = open_roost(), open_roost()
    provider(writer, "a", VCPU=4)
    provider(writer, "b")
    provider(writer, "child", "b", VCPU=4)
    begin = current_position(watcher)
    put(writer, claim("c", {"a": {"VCPU": 3}, "child": {"VCPU": 1}}))
    delete_allocations(writer, consumer_uuid=uid("c"))
    meanwhile = [
        partial(delete_provider, writer, uuid=uid("a")),
        partial(hang, writer, "child", None),
    ]
    read = watcher.store.records_since

    def read_late(position: FeedPosition) -> object:
        found = read(position)
        while meanwhile:
            meanwhile.pop()()
        return found

    monkeypatch.setattr(watcher.store, "records_since", read_late)
    found = read_events(watcher, position=begin, event_filter=ALL)
    claimed = [("allocations", "a", "a"), ("allocations", "child", "b")]
    assert [sorted(trees(list(each.events))) for each in found] == [claimed, claimed]
    assert trees(after(watcher, found[-1].position)) == [
        ("provider", "child", "child"),
        ("provider", "a", "a"),
    ]


def test_usage_of_a_class_that_is_gone(open_roost: OpenRoost) -> None:
    roost = open_roost()
    create_resource_class(roost, name="CUSTOM_X")
    provider(roost, "a", CUSTOM_X=4)
    put(roost, claim("c", {"a": {"CUSTOM_X": 2}}))
    begin = current_position(roost)
    delete_allocations(roost, consumer_uuid=uid("c"))
    (told,) = after(roost, begin)
    assert told.usage == {"CUSTOM_X": -2}
    replace_inventories(roost, change=stock("a", 2))
    delete_resource_class(roost, name="CUSTOM_X")
    told, *rest = after(roost, begin)
    assert (told.kind, told.provider_uuid, told.usage) == ("allocations", uid("a"), {})
    assert kinds(rest) == [("inventories", "a"), ("catalog", None)]


def test_a_position_that_is_too_old(open_roost: OpenRoost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "KEPT_RECORDS", 4)
    monkeypatch.setattr(writer_module, "TRIM_INTERVAL", 8)
    roost = open_roost()
    begin = current_position(roost)
    for number in range(24):
        ensure_trait(roost, name=f"CUSTOM_{number}")
    with pytest.raises(PositionGone):
        read_events(roost, position=begin, event_filter=ALL)
    assert after(roost, current_position(roost)) == []


def test_what_is_kept_is_kept_of_each_writer(
    open_roost: OpenRoost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(positions_module, "KEPT_RECORDS", 8)
    services = [open_roost() for _ in range(3)]
    begin = current_position(services[0])
    for number in range(24):
        ensure_trait(services[number % 3], name=f"CUSTOM_{number}")
    assert len(after(services[0], begin)) == 24
    ensure_trait(services[0], name="CUSTOM_LAST")
    with pytest.raises(PositionGone):
        read_events(services[1], position=begin, event_filter=ALL)


def test_a_position_of_another_history(open_roost: OpenRoost) -> None:
    roost = open_roost()
    provider(roost, "a")
    ahead = {writer: number + 5 for writer, number in current_position(roost).items()}
    for position in (ahead, {**current_position(roost), 12345: 7}):
        with pytest.raises(PositionGone):
            read_events(roost, position=position, event_filter=ALL)


def test_a_writer_that_left_does_not_break_the_thread(open_roost: OpenRoost) -> None:
    idle, watcher, late = open_roost(), open_roost(), open_roost()
    provider(idle, "a", VCPU=2)
    position = current_position(watcher)
    with idle.store.engine.begin() as connection:
        connection.execute(text("UPDATE roost_writers SET updated_at = '2001-01-01 00:00:00'"))
    provider(late, "b")
    found = read_events(watcher, position=position, event_filter=ALL)
    assert [event.provider_uuid for each in found for event in each.events] == [uid("b")]
    put(idle, claim("c", {"a": {"VCPU": 1}}))
    assert kinds(after(watcher, found[-1].position)) == [("allocations", "a")]
