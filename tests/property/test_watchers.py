"""Whatever is written, and whenever and wherever watchers join, each is told what a read gives."""

import contextlib
import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.api.handlers.events import StreamRenderer
from roost.errors import RoostError
from roost.operations import events
from roost.operations.allocations import delete_allocations
from roost.operations.events import current_position, read_events
from roost.operations.providers import delete_provider, update_provider
from roost.operations.traits import ensure_trait
from roost.operations.watching import tell
from roost.service.event_hub import Audiences
from roost.service.service import Roost
from roost.service.watcher import EventFilter, Watcher
from roost.settings import Settings
from roost.store import standard_names
from roost.store.feed.positions import FeedPosition
from roost.store.migrations import migrate
from roost.store.store import Store
from tests.concurrency.races import add_provider, claim, put
from tests.property.strategies import EXAMPLE_COUNT
from tests.support.names import uid

NAMES = ["a", "b", "child", "leaf", "nobody"]
NUMBERS = itertools.count()

writes = st.tuples(
    st.just("write"),
    st.sampled_from([0, 1]),  # through which of two services
    st.sampled_from(["claim", "release", "move", "rename", "trait", "delete", "create"]),
    st.sampled_from(NAMES[:-1]),
    st.sampled_from(NAMES[:-1]),
)
joins = st.tuples(
    st.just("join"),
    st.integers(0, 40),  # at how old a position
    st.frozensets(st.sampled_from(["allocations", "provider", "catalog"]), max_size=2),
    st.none() | st.sampled_from(NAMES),
)
looks = st.just(("look",))


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Roost]]:
    """Two services on one database, with two trees."""
    url = f"sqlite:///{tmp_path_factory.mktemp('watchers') / Path('roost.db')}"
    stores = [Store.open(url, max_pool_size=5, sqlite_synchronous=False) for _ in range(2)]
    migrate.sync(stores[0].engine)
    standard_names.synchronise(stores[0])
    opened = [Roost(store, Settings()) for store in stores]
    yield opened
    for roost in opened:
        roost.close()


def write(roost: Roost, action: str, name: str, other: str) -> None:
    number = next(NUMBERS)
    match action:
        case "claim":
            put(roost, claim(f"consumer-{name}", {name: {"VCPU": 1}}, expected_generation=None))
        case "release":
            delete_allocations(roost, consumer_uuid=uid(f"consumer-{name}"))
        case "move" | "rename":
            moved = {"parent_uuid": None if name == other else uid(other)}
            parent = moved if action == "move" else {"parent_uuid": msgspec.UNSET}
            update_provider(
                roost, uuid=uid(name), name=f"{name}{number}", may_reparent=True, **parent
            )
        case "trait":
            ensure_trait(roost, name=f"CUSTOM_{number}")
        case "delete":
            delete_provider(roost, uuid=uid(name))
        case "create":
            add_provider(roost, name, None if name == other else other, VCPU=1000)


class Member:
    """A watcher, what it was told, and what reads gave from the same position."""

    def __init__(self, position: FeedPosition, event_filter: EventFilter) -> None:
        self.event_filter = event_filter
        self.position = position
        self.told = self.expected = b""
        self.watcher = Watcher(
            position=position,
            event_filter=event_filter,
            seconds=1000,
            renderer=StreamRenderer,
            greeting=None,
            join=lambda _: None,
            leave=lambda: None,
        )
        self.watcher.start(self.deliver)

    def deliver(self, piece: bytes | None) -> None:
        assert piece is not None
        self.told += piece

    def read(self, roost: Roost) -> bool:
        """Read once; whether that was all there is."""
        found = read_events(roost, position=self.position, event_filter=self.event_filter)
        with_events = [each for each in found if each.events]
        self.expected += StreamRenderer().events(with_events, {})
        if found:
            self.position = found[-1].position
        return len(found) < events.WRITES_MAX


# A step is a transaction on a file, which takes longer than most tests here.
@settings(max_examples=EXAMPLE_COUNT // 4)
@given(steps=st.lists(writes | writes | joins | looks, max_size=30))
def test_watchers_are_told_what_reads_give(services: list[Roost], steps: list[tuple]) -> None:
    watching = services[0]
    # So few at a time that watchers which start at old positions take several looks.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events, "WRITES_MAX", 3)
        positions = [current_position(watching)]
        audiences, members = Audiences(partial(tell, watching)), []
        for kind, *step in [*steps, ("look",)]:
            match kind:
                case "write":
                    service, *action = step
                    with contextlib.suppress(RoostError):
                        write(services[service], *action)
                    positions.append(current_position(watching))
                case "join":
                    age, kinds, tree = step
                    position = positions[max(0, len(positions) - 1 - age)]
                    event_filter = EventFilter(
                        kinds=kinds, tree=None if tree is None else uid(tree)
                    )
                    members.append(Member(position, event_filter))
                    audiences.add([members[-1].watcher])
                case "look":
                    is_behind = audiences.advance(current_position(watching))
                    are_done = [member.read(watching) for member in members]
                    assert [each.told for each in members] == [each.expected for each in members]
                    assert is_behind or all(
                        done or each.position == positions[-1]
                        for done, each in zip(are_done, members, strict=True)
                    )
        while audiences.advance(current_position(watching)):
            pass
        for member in members:
            while not member.read(watching):
                pass
        assert [each.told for each in members] == [each.expected for each in members]
        # All of them have met.
        assert len(audiences) == bool(members)
