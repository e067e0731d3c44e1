"""A thousand watchers cost one look at the feed, and whoever does not read costs nobody else."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import event

from roost.api.handlers import events as handler
from roost.api.handlers.events import StreamRenderer
from roost.api.http.exchange import UNREAD_BYTES_MAX
from roost.api.http.watch_pieces import WatchPieces
from roost.operations.events import current_position, read_events
from roost.operations.traits import ensure_trait
from roost.operations.watching import watch_events
from roost.service import event_hub
from roost.service.event_hub import POLL_SECONDS, WATCHERS_MAX, Audiences
from roost.service.service import Roost
from roost.service.watcher import EventFilter, Watcher
from roost.settings import Settings
from roost.store import standard_names
from roost.store.feed.positions import FeedPosition
from roost.store.migrations import migrate
from roost.store.store import Store
from tests.concurrency.races import add_provider, claim, put
from tests.support.names import uid
from tests.support.watchers import ALL, Recorder, wait_until

HOSTS = [f"host{number}" for number in range(200)]
# Each with a filter of its own, except that some want everything.
FILTERS = [
    *(
        EventFilter(tree=uid(host), kinds=frozenset(kinds))
        for host in HOSTS
        for kinds in ([], ["allocations"], ["traits", "provider"], ["allocations", "traits"])
    ),
    *[ALL] * (WATCHERS_MAX - 4 * len(HOSTS)),
]


@pytest.fixture(scope="module")
def roost(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roost]:
    path = tmp_path_factory.mktemp("watchers") / Path("roost.db")
    store = Store.open(f"sqlite:///{path}", max_pool_size=5, sqlite_synchronous=False)
    migrate.sync(store.engine)
    standard_names.synchronise(store)
    roost = Roost(store, Settings())
    for host in HOSTS:
        add_provider(roost, host, VCPU=1_000_000)
    roost.catch_up()
    yield roost
    roost.close()


@pytest.fixture
def writer(roost: Roost) -> Iterator[Roost]:
    """Another process, which writes."""
    store = Store.open(str(roost.store.engine.url), max_pool_size=5, sqlite_synchronous=False)
    other = Roost(store, Settings())
    yield other
    other.close()


class Statements:
    """Counts what the thread of the hub asks the database."""

    def __init__(self, roost: Roost) -> None:
        self.count = 0
        self._poll = roost.store._feed._poll
        self._polls_before = self._poll.statement_count
        for engine in (roost.store.engine, roost.store._database.reader):
            event.listen(engine, "before_cursor_execute", self._executed)

    def _executed(self, *_: object) -> None:
        if threading.current_thread().name == "roost-events":
            self.count += 1

    @property
    def polls(self) -> int:
        """Statements of the connection that polls, which the engine does not see."""
        return self._poll.statement_count - self._polls_before

    def take(self) -> tuple[int, int]:
        found = self.count, self.polls
        self.count, self._polls_before = 0, self._poll.statement_count
        return found


@pytest.fixture
def start(roost: Roost) -> Iterator[Callable[[Sequence[EventFilter]], list[Recorder]]]:
    started: list[Recorder] = []

    def start_all(filters: Sequence[EventFilter]) -> list[Recorder]:
        position = current_position(roost)
        some = [Recorder(roost, position, each).start() for each in filters]
        started.extend(some)
        return some

    yield start_all
    for recorder in started:
        recorder.watch.stop()
    wait_until(lambda: roost.event_hub._thread is None)


Start = Callable[[Sequence[EventFilter]], list[Recorder]]


def expected_events(roost: Roost, position: FeedPosition, each: EventFilter) -> list[Any]:
    found = read_events(roost, position=position, event_filter=each)
    return [msgspec.json.decode(_encode(one)) for write in found for one in write.events]


def _encode(one: Any) -> bytes:
    return msgspec.json.encode(handler.render(one))


def test_a_thousand_watchers_get_what_each_wants(roost: Roost, start: Start, writer: Roost) -> None:
    assert len(FILTERS) == WATCHERS_MAX
    position = current_position(roost)
    threads = threading.active_count()
    watchers = start(FILTERS)
    assert threading.active_count() == threads + 1
    for number, host in enumerate(HOSTS[::10]):
        put(writer, claim(f"first-{number}", {host: {"VCPU": 1}, HOSTS[number]: {"VCPU": 2}}))
    ensure_trait(writer, name="CUSTOM_FIRST")
    assert threading.active_count() == threads + 1
    expected = {each: expected_events(roost, position, each) for each in set(FILTERS)}
    wait_until(lambda: len(watchers[-1].events()) == len(expected[ALL]))
    time.sleep(2 * POLL_SECONDS)
    assert Counter(len(each.events()) for each in watchers).keys() >= {0, 1, 2, len(expected[ALL])}
    for each in watchers:
        assert each.events() == expected[each.event_filter]


def test_a_thousand_watchers_cost_one_look(
    roost: Roost, start: Start, writer: Roost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statements are those of one watcher, and the bytes of an event are made once."""
    rendered: list[object] = []
    encoded: list[object] = []
    render, encode_position = handler.render, handler.encode_position
    monkeypatch.setattr(handler, "render", lambda one: rendered.append(one) or render(one))
    monkeypatch.setattr(
        handler, "encode_position", lambda one: encoded.append(one) or encode_position(one)
    )
    statements = Statements(roost)
    costs = {}
    for count in (1, WATCHERS_MAX):
        watchers = start(FILTERS[-count:])
        begin = current_position(roost)
        time.sleep(2 * POLL_SECONDS)
        statements.take()
        turns = 5
        time.sleep(turns * POLL_SECONDS)
        # Nothing is written: there are only polls.
        asked, polls = statements.take()
        assert asked == 0
        assert 1 <= polls <= turns + 1
        del rendered[:], encoded[:]
        put(writer, claim(f"cost-{count}", {HOSTS[3]: {"VCPU": 1}, HOSTS[4]: {"VCPU": 1}}))
        wait_until(lambda: len(watchers[-1].events()) == 2)  # noqa: B023
        time.sleep(2 * POLL_SECONDS)
        asked, _ = statements.take()
        costs[count] = asked
        # Two events, and the position behind them.
        assert (len(rendered), len(encoded)) == (2, 1)
        # All who want everything share one object.
        assert len({id(each.pieces[0]) for each in watchers if each.event_filter == ALL}) == 1
        assert len(expected_events(roost, begin, ALL)) == 2
        for each in watchers:
            each.watch.stop()
        wait_until(lambda: roost.event_hub._thread is None)
    # The records, and the index that catches up.
    assert costs[WATCHERS_MAX] == costs[1] <= 3


def test_stopped_watchers_hear_nothing_more(roost: Roost, start: Start, writer: Roost) -> None:
    watchers = start([ALL] * 100)
    for each in watchers[::2]:
        each.watch.stop()
        each.watch.stop()
    assert roost.event_hub._count == 50
    ensure_trait(writer, name="CUSTOM_STOPPED")
    wait_until(lambda: all(each.names() == ["catalog"] for each in watchers[1::2]))
    assert not any(each.pieces for each in watchers[::2])


def watch_with_thread(roost: Roost) -> Watcher:
    """A watcher of everything, as plain WSGI has it."""
    return watch_events(
        roost,
        position=current_position(roost),
        event_filter=ALL,
        seconds=60,
        renderer=StreamRenderer,
        greeting=b"hello",
        takes_thread=True,
    )


def test_a_thread_that_does_not_read_is_left_behind(
    roost: Roost, start: Start, writer: Roost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under plain WSGI, where the server blocks on a client that does not read."""
    (other,) = start([ALL])
    big = b"x" * (UNREAD_BYTES_MAX // 3)
    monkeypatch.setattr(StreamRenderer, "events", lambda *_: big)
    watch = watch_with_thread(roost)
    pieces = WatchPieces(watch)
    assert next(pieces) == b"hello"
    for number in range(8):
        ensure_trait(writer, name=f"CUSTOM_BIG_{number}")
        wait_until(lambda: len(other.pieces) == number + 1)  # noqa: B023
    assert watch.is_over
    assert roost.event_hub._count == 1
    assert list(pieces) == [big] * 3


def test_an_abandoned_response_gives_its_place_back(roost: Roost) -> None:
    """Some servers neither read a response to its end nor close it."""
    watch = watch_with_thread(roost)
    pieces = WatchPieces(watch)
    next(pieces)
    assert roost.event_hub._count == 1
    del watch, pieces
    assert roost.event_hub._count == 0
    wait_until(lambda: roost.event_hub._thread is None)


def test_watchers_at_old_positions_do_not_delay_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those who are up to date come first, whatever the others take."""
    order: list[tuple[int, int]] = []

    def tell(watchers: Sequence[Watcher], position: FeedPosition, newest: FeedPosition) -> Any:
        order.append((len(watchers), position[1]))
        return newest

    def watcher(position: FeedPosition) -> Watcher:
        made = Watcher(
            position=position,
            event_filter=ALL,
            seconds=60,
            renderer=StreamRenderer,
            greeting=None,
            join=lambda _: None,
            leave=lambda: None,
        )
        made.start(lambda _: None)
        return made

    audiences = Audiences(tell)
    audiences.add(watcher({1: number}) for number in range(1, 101))
    audiences.add([watcher({1: 500}) for _ in range(10)])
    # Each look has time for one audience.
    monkeypatch.setattr(event_hub, "CATCH_UP_SECONDS_MAX", 0)
    assert audiences.advance({1: 501})
    assert order == [(10, 500)]
    assert audiences.advance({1: 501})
    assert order == [(10, 500), (1, 1)]
    # Again there is news for the many.
    assert audiences.advance({1: 502})
    assert order[2:] == [(11, 501)]
    # With the usual time, all are up to date after one look.
    monkeypatch.undo()
    assert not audiences.advance({1: 502})
    assert len(order) == 3 + 99
    assert len(audiences) == 1
