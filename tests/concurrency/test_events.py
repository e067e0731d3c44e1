"""Watchers get every event, in order, and none twice."""

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
from tests.concurrency.races import add_provider, claim, put, run_concurrently
from tests.support.names import uid

OpenRoost = Callable[[], Roost]
ALL = EventFilter()


def events_after(
    roost: Roost, position: FeedPosition, event_filter: EventFilter = ALL
) -> list[Event]:
    found = read_events(roost, position=position, event_filter=event_filter)
    return [event for each in found for event in each.events]


def rename(roost: Roost, name: str, other: str) -> None:
    update_provider(roost, uuid=uid(name), name=other, parent_uuid=msgspec.UNSET, may_reparent=True)


def inventory_change(name: str, generation: int, **totals: int) -> InventoryChange:
    return InventoryChange(
        provider_uuid=uid(name),
        inventories={key: Inventory(total=total) for key, total in totals.items()},
        expected_generation=generation,
    )


def reparent(roost: Roost, name: str, parent: str | None) -> None:
    """Move a provider below another one, or make it a root."""
    parent_uuid = None if parent is None else uid(parent)
    update_provider(roost, uuid=uid(name), name=name, parent_uuid=parent_uuid, may_reparent=True)


def kinds_names_and_roots(events: list[Event]) -> list[tuple[str, str, str]]:
    """The kind, the provider and its root, by name."""
    names = {uid(name): name for name in ("a", "b", "child", "leaf")}
    return [
        (each.kind, names[each.provider_uuid or ""], names[each.root_uuid or ""]) for each in events
    ]


def kinds_and_names(events: list[Event]) -> list[tuple[str, str | None]]:
    names = {uid(name): name for name in ("a", "b", "child")}
    return [(each.kind, names.get(each.provider_uuid or "")) for each in events]


def test_every_kind_of_change_is_an_event(open_roost: OpenRoost) -> None:
    writer, watcher = open_roost(), open_roost()
    begin = current_position(watcher)
    add_provider(writer, "a", VCPU=8)
    ensure_trait(writer, name="CUSTOM_GOLD")
    replace_traits(writer, provider_uuid=uid("a"), traits=["CUSTOM_GOLD"], expected_generation=1)
    replace_aggregates(
        writer, provider_uuid=uid("a"), aggregates=[uid("rack")], expected_generation=2
    )
    put(writer, claim("c", {"a": {"VCPU": 3}}))
    put(writer, claim("c", {"a": {"VCPU": 1}}, expected_generation=1))
    add_provider(writer, "child", "a")
    update_provider(writer, uuid=uid("child"), name="other", parent_uuid=None, may_reparent=True)
    delete_provider(writer, uuid=uid("child"))
    events = events_after(watcher, begin)
    assert kinds_and_names(events) == [
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


def test_events_of_a_provider_are_ordered_by_generation(open_roost: OpenRoost) -> None:
    """Twelve claims of three services race; a fourth service reports them in order."""
    services = [open_roost() for _ in range(3)]
    watcher = open_roost()
    add_provider(services[0], "a", VCPU=100)
    add_provider(services[0], "b", VCPU=100)
    begin = current_position(watcher)
    run_concurrently(
        [
            partial(put, service, claim(f"{n}-{m}", {"a": {"VCPU": 1}, "b": {"VCPU": 1}}))
            for n, service in enumerate(services)
            for m in range(4)
        ]
    )
    events = events_after(watcher, begin)
    for name in "ab":
        own = [each.generation for each in events if each.provider_uuid == uid(name)]
        assert own == list(range(2, 14))


@pytest.mark.parametrize("turn", range(3))
def test_events_without_a_generation_are_ordered_too(open_roost: OpenRoost, turn: int) -> None:
    """Writes that move no generation keep their place, whichever service wrote them."""
    services = [open_roost() for _ in range(3)]
    watcher = open_roost()
    services = services[turn:] + services[:turn]
    begin = current_position(watcher)
    one, two, three = services
    create_provider(one, uuid=uid("root"), name="root", parent_uuid=None)
    create_provider(two, uuid=uid("a"), name="a", parent_uuid=None)
    rename(three, "a", "first")
    replace_inventories(one, change=inventory_change("a", 0, VCPU=8))
    reparent(two, "a", "root")
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
    events = [each for each in events_after(watcher, begin) if each.provider_uuid == uid("a")]
    assert [(each.kind, each.generation, each.usage.get("VCPU")) for each in events] == [
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
    roots = [each.root_uuid for each in events]
    assert roots == [uid("a")] * 3 + [uid("root")] * 10
    assert events[-1].deleted


def test_usage_adds_up_after_every_event(open_roost: OpenRoost) -> None:
    """Claims race with releases, and no release is reported before its claim."""
    services = [open_roost() for _ in range(3)]
    watcher = open_roost()
    add_provider(services[0], "a", VCPU=100)
    begin = current_position(watcher)

    def claim_and_release(number: int) -> None:
        for turn in range(3):
            name = f"{number}-{turn}"
            put(services[number % 3], claim(name, {"a": {"VCPU": 1}}))
            delete_allocations(services[(number + turn) % 3], consumer_uuid=uid(name))

    run_concurrently([partial(claim_and_release, number) for number in range(6)])
    events = events_after(watcher, begin)
    assert len(events) == 36
    used = list(accumulate(each.usage["VCPU"] for each in events))
    assert min(used) == used[-1] == 0
    moved = [each.generation for each in events if each.generation is not None]
    assert moved == list(range(2, 20))


def test_a_watcher_resumes_at_any_position(open_roost: OpenRoost) -> None:
    """From any position, and through any service, the remaining events are the same."""
    writer, other = open_roost(), open_roost()
    position = current_position(writer)
    add_provider(writer, "a", VCPU=50)
    for number in range(5):
        put(writer, claim(f"w{number}", {"a": {"VCPU": 1}}))
        put(other, claim(f"o{number}", {"a": {"VCPU": 1}}))
    found = read_events(writer, position=position, event_filter=ALL)
    assert len(found) == 12
    for place, write in enumerate(found):
        assert read_events(other, position=write.position, event_filter=ALL) == found[place + 1 :]


def test_events_are_filtered_by_kind_and_tree(open_roost: OpenRoost) -> None:
    roost = open_roost()
    begin = current_position(roost)
    add_provider(roost, "a", VCPU=8)
    add_provider(roost, "b", VCPU=8)
    add_provider(roost, "child", "a", VCPU=8)
    put(roost, claim("c", {"child": {"VCPU": 1}, "b": {"VCPU": 1}}))
    claims = events_after(roost, begin, EventFilter(kinds={"allocations"}))
    assert sorted(kinds_and_names(claims)) == [("allocations", "b"), ("allocations", "child")]
    # A tree may be named by any of its providers.
    for name in ("a", "child"):
        tree = events_after(
            roost, begin, EventFilter(tree=uid(name), kinds={"allocations", "inventories"})
        )
        assert kinds_and_names(tree) == [
            ("inventories", "a"),
            ("inventories", "child"),
            ("allocations", "child"),
        ]
    assert events_after(roost, begin, EventFilter(tree=uid("nobody"))) == []


def test_a_move_between_trees_is_an_event_of_both(open_roost: OpenRoost) -> None:
    roost = open_roost()
    add_provider(roost, "a")
    add_provider(roost, "b")
    add_provider(roost, "child", "a", VCPU=4)
    add_provider(roost, "leaf", "child")
    begin = current_position(roost)
    put(roost, claim("c", {"child": {"VCPU": 3}}))
    reparent(roost, "child", "b")
    put(roost, claim("d", {"child": {"VCPU": 1}}))
    before = [("allocations", "child", "a")]
    move = [("provider", "child", "b"), ("provider", "leaf", "b")]
    later = [("allocations", "child", "b")]
    assert kinds_names_and_roots(events_after(roost, begin)) == before + move + later
    assert (
        kinds_names_and_roots(events_after(roost, begin, EventFilter(tree=uid("a"))))
        == before + move
    )
    assert (
        kinds_names_and_roots(events_after(roost, begin, EventFilter(tree=uid("b"))))
        == move + later
    )
    # A watcher that named a provider of the moved subtree follows it.
    assert (
        kinds_names_and_roots(events_after(roost, begin, EventFilter(tree=uid("leaf"))))
        == before + move + later
    )
    begin = current_position(roost)
    reparent(roost, "child", None)
    detached = [("provider", "child", "child"), ("provider", "leaf", "child")]
    for name in ("b", "child", "leaf"):
        assert (
            kinds_names_and_roots(events_after(roost, begin, EventFilter(tree=uid(name))))
            == detached
        )
    assert events_after(roost, begin, EventFilter(tree=uid("a"))) == []


def test_a_deleted_provider_names_its_tree_until_its_deletion(open_roost: OpenRoost) -> None:
    roost = open_roost()
    add_provider(roost, "a", VCPU=8)
    add_provider(roost, "child", "a")
    begin = current_position(roost)
    put(roost, claim("c", {"a": {"VCPU": 3}}))
    delete_provider(roost, uuid=uid("child"))
    put(roost, claim("d", {"a": {"VCPU": 3}}))
    by_child = events_after(roost, begin, EventFilter(tree=uid("child")))
    assert kinds_names_and_roots(by_child) == [
        ("allocations", "a", "a"),
        ("provider", "child", "a"),
    ]
    assert by_child[-1].deleted
    assert len(events_after(roost, begin, EventFilter(tree=uid("a")))) == 3
    # Once it is deleted, its UUID names no tree, until a provider with that UUID is created again.
    begin = current_position(roost)
    put(roost, claim("e", {"a": {"VCPU": 1}}))
    assert events_after(roost, begin, EventFilter(tree=uid("child"))) == []
    add_provider(roost, "child")
    assert ("provider", "child", "child") in kinds_names_and_roots(
        events_after(roost, begin, EventFilter(tree=uid("child")))
    )


def test_a_reused_id_does_not_mix_two_providers(open_roost: OpenRoost) -> None:
    """SQLite reuses ids: events of the old provider are not attributed to the new one."""
    one, other = open_roost(), open_roost()
    begin = current_position(one)
    add_provider(one, "a", VCPU=4)
    put(other, claim("c", {"a": {"VCPU": 3}}))
    delete_allocations(one, consumer_uuid=uid("c"))
    delete_provider(other, uuid=uid("a"))
    add_provider(one, "b", VCPU=8)
    put(other, claim("d", {"b": {"VCPU": 3}}))
    expected = [
        ("provider", "a", "a"),
        ("inventories", "a", "a"),
        ("allocations", "a", "a"),
        ("allocations", "a", "a"),
        ("provider", "a", "a"),
        ("provider", "b", "b"),
        ("inventories", "b", "b"),
        ("allocations", "b", "b"),
    ]
    events = kinds_names_and_roots(events_after(one, begin))
    for name in "ab":
        own = [each for each in expected if each[1] == name]
        assert [each for each in events if each[1] == name] == own
        assert kinds_names_and_roots(events_after(other, begin, EventFilter(tree=uid(name)))) == own


def test_events_have_the_names_of_their_own_time(
    open_roost: OpenRoost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the records are read, the index moves past them; the events do not show that."""
    watcher, writer = open_roost(), open_roost()
    add_provider(writer, "a", VCPU=4)
    add_provider(writer, "b")
    add_provider(writer, "child", "b", VCPU=4)
    begin = current_position(watcher)
    put(writer, claim("c", {"a": {"VCPU": 3}, "child": {"VCPU": 1}}))
    delete_allocations(writer, consumer_uuid=uid("c"))
    meanwhile = [
        partial(delete_provider, writer, uuid=uid("a")),
        partial(reparent, writer, "child", None),
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
    assert [sorted(kinds_names_and_roots(list(each.events))) for each in found] == [
        claimed,
        claimed,
    ]
    assert kinds_names_and_roots(events_after(watcher, found[-1].position)) == [
        ("provider", "child", "child"),
        ("provider", "a", "a"),
    ]


def test_usage_of_a_deleted_class_is_left_out(open_roost: OpenRoost) -> None:
    roost = open_roost()
    create_resource_class(roost, name="CUSTOM_X")
    add_provider(roost, "a", CUSTOM_X=4)
    put(roost, claim("c", {"a": {"CUSTOM_X": 2}}))
    begin = current_position(roost)
    delete_allocations(roost, consumer_uuid=uid("c"))
    (event,) = events_after(roost, begin)
    assert event.usage == {"CUSTOM_X": -2}
    replace_inventories(roost, change=inventory_change("a", 2))
    delete_resource_class(roost, name="CUSTOM_X")
    event, *rest = events_after(roost, begin)
    assert (event.kind, event.provider_uuid, event.usage) == ("allocations", uid("a"), {})
    assert kinds_and_names(rest) == [("inventories", "a"), ("catalog", None)]


def test_a_trimmed_position_is_gone(open_roost: OpenRoost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "KEPT_RECORDS", 4)
    monkeypatch.setattr(writer_module, "TRIM_INTERVAL", 8)
    roost = open_roost()
    begin = current_position(roost)
    for number in range(24):
        ensure_trait(roost, name=f"CUSTOM_{number}")
    with pytest.raises(PositionGone):
        read_events(roost, position=begin, event_filter=ALL)
    assert events_after(roost, current_position(roost)) == []


def test_records_are_kept_for_each_writer(
    open_roost: OpenRoost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(positions_module, "KEPT_RECORDS", 8)
    services = [open_roost() for _ in range(3)]
    begin = current_position(services[0])
    for number in range(24):
        ensure_trait(services[number % 3], name=f"CUSTOM_{number}")
    assert len(events_after(services[0], begin)) == 24
    ensure_trait(services[0], name="CUSTOM_LAST")
    with pytest.raises(PositionGone):
        read_events(services[1], position=begin, event_filter=ALL)


def test_a_position_of_another_history_is_gone(open_roost: OpenRoost) -> None:
    roost = open_roost()
    add_provider(roost, "a")
    ahead = {writer: number + 5 for writer, number in current_position(roost).items()}
    for position in (ahead, {**current_position(roost), 12345: 7}):
        with pytest.raises(PositionGone):
            read_events(roost, position=position, event_filter=ALL)


def test_events_continue_after_an_idle_writer_was_removed(open_roost: OpenRoost) -> None:
    idle, watcher, late = open_roost(), open_roost(), open_roost()
    add_provider(idle, "a", VCPU=2)
    position = current_position(watcher)
    with idle.store.engine.begin() as connection:
        connection.execute(text("UPDATE roost_writers SET updated_at = '2001-01-01 00:00:00'"))
    add_provider(late, "b")
    found = read_events(watcher, position=position, event_filter=ALL)
    assert [event.provider_uuid for each in found for event in each.events] == [uid("b")]
    put(idle, claim("c", {"a": {"VCPU": 1}}))
    assert kinds_and_names(events_after(watcher, found[-1].position)) == [("allocations", "a")]
