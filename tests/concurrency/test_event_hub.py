"""Watchers that join while others write see every event once; what ends them, and what does not."""

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from roost.api.handlers.events import render
from roost.errors import Unavailable
from roost.operations import events
from roost.operations.allocations import delete_allocations
from roost.operations.events import current_position, read_events
from roost.operations.providers import update_provider
from roost.operations.traits import ensure_trait
from roost.service import watcher as watcher_module
from roost.service.service import Roost
from roost.service.watcher import EventFilter
from roost.store.feed.positions import FeedPosition
from tests.concurrency.races import add_provider, claim, put, run_concurrently
from tests.support.long_form import choose
from tests.support.names import uid
from tests.support.watchers import ALL, Recorder, await_events, wait_until

OpenRoost = Callable[[], Roost]
NAMES = ["a", "b", "child"]
FILTERS = [
    ALL,
    EventFilter(kinds=frozenset({"allocations"})),
    EventFilter(kinds=frozenset({"provider", "catalog"})),
    *(EventFilter(tree=uid(name)) for name in NAMES),
    EventFilter(tree=uid("b"), kinds=frozenset({"provider"})),
]


def read_all(roost: Roost, position: FeedPosition, event_filter: EventFilter) -> list[Any]:
    """All events after a position, in as many reads as that takes."""
    found: list[Any] = []
    while more := read_events(roost, position=position, event_filter=event_filter):
        position = more[-1].position
        found += [render(event) for each in more for event in each.events]
    return found


def by_provider(shown: list[Any]) -> dict[str | None, tuple[list[int], Counter[bytes]]]:
    """What happened to each provider: its generations in order, and how often each event came."""
    generations: defaultdict[Any, list[int]] = defaultdict(list)
    counts: defaultdict[Any, Counter[bytes]] = defaultdict(Counter)
    for each in shown:
        provider = each.get("resource_provider")
        # A deletion of allocations advances no generation, and others may overtake it.
        if "generation" in each:
            generations[provider].append(each["generation"])
        counts[provider][msgspec.json.encode(each, order="sorted")] += 1
    return {provider: (generations[provider], told) for provider, told in counts.items()}


# Of each of two processes; and how many begin to watch meanwhile.
WRITES = choose(short=20, long=40)
WATCHERS = choose(short=30, long=60)


def test_watchers_that_join_meanwhile_see_each_event_once(
    open_roost: OpenRoost, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So few at a time that watchers at old positions take many steps.
    monkeypatch.setattr(events, "WRITES_MAX", 5)
    choice = random.Random(0)
    watching, *writers = [open_roost() for _ in range(3)]
    for name in NAMES:
        add_provider(writers[0], name, VCPU=1000)
    positions = [current_position(watching)]
    recorders: list[tuple[FeedPosition, Recorder]] = []

    def keep_writing(number: int, writer: Roost) -> None:
        for turn in range(WRITES):
            name = f"{number}-{turn}"
            held = {"ab"[turn % 2]: {"VCPU": 1}}
            if turn % 3 == 0:
                put(writer, claim(name, held))
                # Not of the child: the moment of a release is not known, so the tree of a provider
                # that others move meanwhile is not known either.
                delete_allocations(writer, consumer_uuid=uid(name))
            else:
                put(writer, claim(name, {**held, "child": {"VCPU": 1}}))
            if turn % 7 == 0:
                ensure_trait(writer, name=f"CUSTOM_{number}_{turn}")
            if number == 0 and turn % 5 == 0:
                parent = choice.choice([uid("a"), uid("b"), None])
                update_provider(
                    writer, uuid=uid("child"), name="child", parent_uuid=parent, may_reparent=True
                )

    def keep_joining() -> None:
        for turn in range(WATCHERS):
            positions.append(current_position(watching))
            position = choice.choice(positions)
            recorder = Recorder(watching, position, FILTERS[turn % len(FILTERS)])
            recorders.append((position, recorder.start()))
            if turn % 10 == 9:
                choice.choice(recorders)[1].watch.stop()
            time.sleep(0.02)

    run_concurrently([*(partial(keep_writing, *pair) for pair in enumerate(writers)), keep_joining])
    for position, recorder in recorders:
        expected = read_all(watching, position, recorder.event_filter)
        if recorder.watch.is_over:
            told = Counter(map(msgspec.json.encode, recorder.events()))
            assert not told - Counter(map(msgspec.json.encode, expected))
            continue
        wait_until(lambda: len(recorder.events()) >= len(expected))  # noqa: B023
        # Between writes of different processes about different providers, there is no order.
        assert by_provider(recorder.events()) == by_provider(expected)


@pytest.mark.parametrize("synchronised_url", ["sqlite"], indirect=True)
class TestEnds:
    @pytest.fixture(autouse=True)
    def quick_heartbeats(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(watcher_module, "HEARTBEAT_SECONDS", 0.3)

    def test_heartbeats_carry_the_position(self, roost: Roost) -> None:
        """The position moves with writes that do not pass the filter."""
        nothing = EventFilter(tree=uid("nobody"))
        recorder = Recorder(roost, current_position(roost), nothing, seconds=1.5).start()
        ensure_trait(roost, name="CUSTOM_X")
        assert recorder.has_ended.wait(10)
        ids = [block["id"] for block in recorder.blocks()]
        assert 2 <= len(ids) <= 5
        assert len(set(ids[-2:])) == 1
        assert recorder.names() == []

    def test_a_position_that_is_gone_is_a_reset(self, roost: Roost) -> None:
        recorder = Recorder(roost, {12345: 7}).start()
        other = Recorder(roost, current_position(roost)).start()
        wait_until(lambda: recorder.names() == ["reset"])
        ensure_trait(roost, name="CUSTOM_X")
        wait_until(lambda: recorder.names() == ["reset", "catalog"])
        wait_until(lambda: other.names() == ["catalog"])

    def test_an_answer_whose_position_is_gone_has_no_events(self, roost: Roost) -> None:
        until = time.monotonic() + 20
        assert await_events(roost, position={12345: 7}, event_filter=ALL, until=until) == (
            {12345: 7},
            [],
        )
        assert time.monotonic() < until - 10

    @pytest.mark.parametrize("method", ["position", "records_between"])
    def test_a_failing_database_ends_all(
        self, roost: Roost, monkeypatch: pytest.MonkeyPatch, method: str
    ) -> None:
        position = current_position(roost)
        recorder = Recorder(roost, position).start()
        answers: list[Any] = []
        until = time.monotonic() + 30
        waiting = threading.Thread(
            target=lambda: answers.append(
                await_events(roost, position=position, event_filter=ALL, until=until)
            )
        )
        waiting.start()
        wait_until(lambda: len(recorder.pieces) > 0)  # a heartbeat

        def fail(*_: object) -> None:
            raise Unavailable("gone")

        monkeypatch.setattr(roost.store, method, fail)
        if method == "records_between":
            ensure_trait(roost, name="CUSTOM_X")
        assert recorder.has_ended.wait(10)
        waiting.join(10)
        assert answers == [(position, [])]
        # They have given their places back, and the next ones are served.
        monkeypatch.undo()
        assert roost.event_hub._count == 0
        assert await_events(
            roost, position=position, event_filter=ALL, until=time.monotonic() + 1
        ) == (current_position(roost), read_all(roost, position, ALL))

    def test_an_error_of_the_program_ends_them_too(
        self, roost: Roost, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        recorder = Recorder(roost, current_position(roost)).start()
        monkeypatch.setattr(roost.store, "records_between", lambda *_: [None])
        ensure_trait(roost, name="CUSTOM_X")
        assert recorder.has_ended.wait(10)

    def test_the_thread_ends_with_the_last_watcher(self, roost: Roost) -> None:
        def threads() -> int:
            return sum(each.name == "roost-events" for each in threading.enumerate())

        for _ in range(2):
            assert threads() == 0
            recorders = [Recorder(roost, current_position(roost)).start() for _ in range(3)]
            assert threads() == 1
            for recorder in recorders:
                recorder.watch.stop()
            wait_until(lambda: threads() == 0)
            assert roost.event_hub._count == 0
        assert not any(recorder.has_ended.is_set() for recorder in recorders)

    def test_a_service_that_stops_ends_all(self, roost: Roost) -> None:
        recorder = Recorder(roost, current_position(roost)).start()
        roost.event_hub.stop()
        assert recorder.has_ended.is_set()
        late = Recorder(roost, current_position(roost)).start()
        assert late.has_ended.wait(5)
