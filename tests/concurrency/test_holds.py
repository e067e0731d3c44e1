"""Holds between processes: what waits, what does not, and what ends them."""

import threading
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from roost.errors import HoldNotFound, HoldTooSoon, ProviderGenerationConflict
from roost.model import Inventory, InventoryChange, NewConsumer
from roost.operations.allocations import delete_allocations
from roost.operations.events import current_position, read_events
from roost.operations.holds import hold_tree, release_hold
from roost.operations.inventories import read_inventories, replace_inventories
from roost.operations.placing.candidates import PlacementRequest
from roost.operations.placing.placements import place
from roost.operations.reshaper import reshape
from roost.query import CandidateQuery, RequestGroup
from roost.service import holds as holds_module
from roost.service.holds import TreeHeld
from roost.service.service import Roost
from roost.service.watcher import EventFilter
from tests.concurrency.races import add_provider, claim, put, run_concurrently, used
from tests.support.names import uid

OpenRoost = Callable[[], Roost]
Pair = tuple[Roost, Roost]


@pytest.fixture
def cloud(open_roost: OpenRoost) -> Pair:
    """Two services that know a tree, and another host."""
    first, second = open_roost(), open_roost()
    add_provider(first, "host", VCPU=10)
    add_provider(first, "child", parent="host", VCPU=10)
    add_provider(first, "other", VCPU=10)
    put(first, claim("held", {"child": {"VCPU": 1}}))
    put(first, claim("elsewhere", {"other": {"VCPU": 1}}))
    for roost in (first, second):
        roost.catch_up()
    return first, second


def hold(roost: Roost, name: str = "child", seconds: float = 10.0) -> str:
    return hold_tree(roost, provider_uuid=uid(name), seconds=seconds, sender="somebody").id


def place_one(roost: Roost, amount: int) -> None:
    group = RequestGroup(resources={"VCPU": amount})
    query = CandidateQuery(groups=(group,))
    consumer = NewConsumer(
        uuid=uid("placed"), project_id="p", user_id="u", consumer_type="INSTANCE"
    )
    place(roost, request=PlacementRequest(query=query, consumers=(consumer,)))


def generation(roost: Roost, name: str) -> int:
    return read_inventories(roost, provider_uuid=uid(name)).generation


def reshape_tree(roost: Roost, **consumers: int) -> None:
    """Move everything to the root."""
    change = InventoryChange(
        provider_uuid=uid("child"),
        inventories={},
        expected_generation=generation(roost, "child"),
    )
    moved = [
        claim(name, {"host": {"VCPU": 1}}, expected_generation=number)
        for name, number in consumers.items()
    ]
    reshape(roost, inventories=[change], consumers=moved)


HELD: dict[str, Callable[[Roost], None]] = {
    "a claim of the root": lambda roost: put(roost, claim("new", {"host": {"VCPU": 1}})),
    "a claim of a child": lambda roost: put(roost, claim("new", {"child": {"VCPU": 1}})),
    "one of several claims": lambda roost: put(
        roost, claim("new", {"other": {"VCPU": 1}}), claim("newer", {"child": {"VCPU": 1}})
    ),
    "a consumer that leaves": lambda roost: put(
        roost, claim("held", {"other": {"VCPU": 1}}, expected_generation=1)
    ),
    "a consumer that gives up all": lambda roost: put(
        roost, claim("held", {}, expected_generation=1)
    ),
    "a release": lambda roost: delete_allocations(roost, consumer_uuid=uid("held")),
    # Only the root has so much left.
    "a placement": lambda roost: place_one(roost, 10),
}


@pytest.mark.parametrize("action", HELD.values(), ids=HELD)
def test_what_would_change_the_tree_waits_in_every_process(
    cloud: Pair, action: Callable[[Roost], None]
) -> None:
    first, second = cloud
    before = used(first, "child", "VCPU"), used(first, "host", "VCPU")
    id = hold(first)
    for roost in (second, first):
        with pytest.raises(TreeHeld) as held:
            action(roost)
        assert held.value.hold.root_uuid == uid("host")
    assert (used(first, "child", "VCPU"), used(first, "host", "VCPU")) == before
    release_hold(first, id=id)
    second.catch_up()
    # What has waited runs again, and now nothing is in its way.
    action(second)


def test_what_concerns_other_trees_goes_on(cloud: Pair) -> None:
    first, second = cloud
    hold(first)
    for roost, name in ((first, "one"), (second, "two")):
        put(roost, claim(name, {"other": {"VCPU": 1}}))
    delete_allocations(second, consumer_uuid=uid("elsewhere"))
    # Inventories are the business of whoever holds the tree.
    change = InventoryChange(
        provider_uuid=uid("host"),
        inventories={"VCPU": Inventory(total=20)},
        expected_generation=generation(second, "host"),
    )
    replace_inventories(second, change=change)
    assert used(first, "other", "VCPU") == 2


def test_a_reshape_in_any_process_ends_the_hold(cloud: Pair) -> None:
    first, second = cloud
    hold(first)
    reshape_tree(second, held=1)
    for roost in (first, second):
        roost.catch_up()
        put(roost, claim(f"after{id(roost)}", {"host": {"VCPU": 1}}))
    assert used(first, "host", "VCPU") == 3


def test_a_reshape_that_is_refused_ends_nothing(cloud: Pair) -> None:
    first, second = cloud
    hold(first)
    change = InventoryChange(provider_uuid=uid("child"), inventories={}, expected_generation=77)
    with pytest.raises(ProviderGenerationConflict):
        reshape(second, inventories=[change], consumers=[])
    second.catch_up()
    with pytest.raises(TreeHeld):
        put(second, claim("new", {"host": {"VCPU": 1}}))


def test_a_reshape_of_another_tree_ends_nothing(cloud: Pair) -> None:
    first, second = cloud
    hold(first)
    change = InventoryChange(
        provider_uuid=uid("other"),
        inventories={"VCPU": Inventory(total=5)},
        expected_generation=generation(second, "other"),
    )
    reshape(second, inventories=[change], consumers=[])
    second.catch_up()
    with pytest.raises(TreeHeld):
        put(second, claim("new", {"host": {"VCPU": 1}}))


def test_a_tree_is_held_once_and_then_rests(cloud: Pair) -> None:
    first, second = cloud
    id = hold(first)
    with pytest.raises(HoldTooSoon):
        hold(second, "host")
    hold(second, "other")
    release_hold(second, id=id)
    for roost in (first, second):
        with pytest.raises(HoldTooSoon):
            hold(roost)
        with pytest.raises(HoldNotFound):
            release_hold(roost, id=id)


def test_of_two_that_hold_at_the_same_time_one_wins(cloud: Pair) -> None:
    first, second = cloud
    results = run_concurrently([lambda: hold(first), lambda: hold(second)])
    refused = [each for each in results if isinstance(each, HoldTooSoon)]
    assert len(refused) == 1
    (granted,) = [each for each in results if isinstance(each, str)]
    for roost in cloud:
        roost.catch_up()
        assert [each.id for each in roost.holds.of([uid("host")])] == [granted]


def test_a_hold_that_is_announced_late_finds_the_one_that_came_first(
    cloud: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process reads the feed, stalls, and announces when the other has long been answered."""
    first, second = cloud
    ids = iter(uuid.UUID(int=number) for number in range(2))
    monkeypatch.setattr("roost.operations.holds.uuid_module.uuid4", lambda: next(ids))
    check_rest, granted = second.holds.check_rest, []

    def stall(root_uuid: str) -> None:
        check_rest(root_uuid)
        granted.append(hold(first))

    monkeypatch.setattr(second.holds, "check_rest", stall)
    with pytest.raises(HoldTooSoon):
        hold(second)
    second.catch_up()
    assert [each.id for each in second.holds.of([uid("host")])] == granted


def test_the_longest_hold_is_configured(cloud: Pair) -> None:
    granted = hold_tree(cloud[0], provider_uuid=uid("host"), seconds=3600, sender=None)
    assert granted.seconds == 10


def test_a_claim_under_way_when_the_hold_begins_waits_too(cloud: Pair) -> None:
    """It has passed the first check, and asks again in its transaction."""
    first, second = cloud
    checked = holds_module.Holds.check
    calls: list[Any] = []

    def check(self: Any, *arguments: Any, **named: Any) -> None:
        calls.append(named)
        if len(calls) == 1:
            hold(first)
            second.catch_up()
            return
        checked(self, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(holds_module.Holds, "check", check)
        with pytest.raises(TreeHeld):
            put(second, claim("new", {"host": {"VCPU": 1}}))
    assert len(calls) == 2
    assert used(first, "host", "VCPU") == 0


def test_holds_are_no_events(cloud: Pair) -> None:
    first, second = cloud
    before = current_position(second)
    release_hold(first, id=hold(first))
    found = read_events(second, position=before, event_filter=EventFilter())
    assert [event for write in found for event in write.events] == []


def test_at_rest_a_claim_reads_the_feed_as_before(
    cloud: Pair, monkeypatch: pytest.MonkeyPatch, stale_index: None
) -> None:
    """A process that has just read it does not read it again, whatever it claims or releases."""
    first, _ = cloud
    reads: list[None] = []
    read_feed = first._read_feed

    def counted() -> None:
        reads.append(None)
        read_feed()

    monkeypatch.setattr(first, "_read_feed", counted)
    for number in range(5):
        put(first, claim(f"new{number}", {"host": {"VCPU": 1}}))
        delete_allocations(first, consumer_uuid=uid(f"new{number}"))
    assert reads == []
    monkeypatch.setattr("roost.service.service.NOTICE_SECONDS", 0.0)
    delete_allocations(first, consumer_uuid=uid("held"))
    assert reads == [None]


def test_a_process_without_an_index_does_not_load_one_for_a_claim(open_roost: OpenRoost) -> None:
    first, second = open_roost(), open_roost()
    add_provider(first, "host", VCPU=10)
    put(second, claim("new", {"host": {"VCPU": 1}}))
    assert second._index.live is None


def test_waiting_requests_learn_of_the_end_from_another_process(cloud: Pair) -> None:
    first, second = cloud
    id = hold(first)
    with pytest.raises(TreeHeld) as held:
        put(second, claim("new", {"host": {"VCPU": 1}}))
    over = threading.Event()
    second.holds.admit(held.value.hold, takes_thread=False).start(over.set)
    release_hold(first, id=id)
    assert over.wait(20)
    put(second, claim("new", {"host": {"VCPU": 1}}))
