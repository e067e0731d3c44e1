"""The processes of one service know the newest position without asking while nobody else writes."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import delete, func, select, text

from roost.errors import ConcurrentUpdate
from roost.operations.providers import read_provider
from roost.operations.usages import read_usages
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.connection.driver_errors import LostRace, OutcomeUnknown
from roost.store.feed import registration
from roost.store.feed.shared_positions import RELY_SECONDS, SharedPositions
from roost.store.feed.writer import Writer
from roost.store.schema import roost_changes, roost_writers
from roost.store.store import Store
from tests.concurrency.races import add_provider, claim, put
from tests.support.database_servers import SERVERS
from tests.support.names import uid

OpenRoost = Callable[[], Roost]

pytestmark = pytest.mark.parametrize("synchronised_url", SERVERS, indirect=True)


class Clock:
    """The clock of the shared memory. It stands still unless a test moves it."""

    def __init__(self) -> None:
        self.nanoseconds = time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    def pass_by(self, seconds: float) -> None:
        self.nanoseconds += int(seconds * 1e9)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(SharedPositions, "_now", staticmethod(lambda: clock.nanoseconds))
    return clock


class Service:
    """The processes of one service, as far as they share memory."""

    def __init__(self, url: str) -> None:
        self.shared = SharedPositions(3)
        self._url = url
        self.processes: list[Roost] = []

    def start_process(self) -> Roost:
        store = Store.open(self._url)
        store.share(self.shared)
        self.processes.append(Roost(store, Settings()))
        return self.processes[-1]


@pytest.fixture
def start_service(synchronised_url: str) -> Iterator[Callable[[], Service]]:
    started: list[Service] = []

    def start() -> Service:
        started.append(Service(synchronised_url))
        return started[-1]

    yield start
    for service in started:
        for process in service.processes:
            process.close()


@pytest.fixture
def siblings(start_service: Callable[[], Service], clock: Clock) -> tuple[Roost, Roost]:
    """Two processes of a service that has the database for itself, and knows it."""
    service = start_service()
    first, second = service.start_process(), service.start_process()
    add_provider(first, "host", VCPU=4)
    for each in (first, second, first, second):
        each.catch_up()
    assert not asks(first)
    assert not asks(second)
    return first, second


def asks(roost: Roost) -> bool:
    """Whether this process asks the database before it answers."""
    before = statements(roost)
    roost.catch_up()
    return statements(roost) > before


def statements(roost: Roost) -> int:
    return roost.store._feed._poll.statement_count


def settle(roost: Roost, clock: Clock) -> None:
    """Find out who else is there, and ask once more."""
    others = roost.store._feed._other_writers
    assert others is not None
    others.look()
    clock.pass_by(RELY_SECONDS)
    roost.catch_up()


def used_of(roost: Roost, name: str) -> int:
    return read_usages(roost, provider_uuid=uid(name)).usages["VCPU"]


# ---------------------------------------------------------------------------------------------
# Siblings


def test_an_answer_holds_for_all_siblings_and_for_a_moment(
    siblings: tuple[Roost, Roost], clock: Clock
) -> None:
    first, second = siblings
    clock.pass_by(0.9 * RELY_SECONDS)
    assert not asks(first)
    assert not asks(second)
    clock.pass_by(0.1 * RELY_SECONDS)
    assert asks(first)
    # The sibling relies on that answer.
    assert not asks(second)
    assert not asks(first)


def test_a_sibling_sees_each_claim_without_the_database(siblings: tuple[Roost, Roost]) -> None:
    first, second = siblings
    for number in range(4):
        writer, reader = (first, second) if number % 2 else (second, first)
        put(writer, claim(f"consumer{number}", {"host": {"VCPU": 1}}))
        before = statements(reader)
        assert used_of(reader, "host") == number + 1
        assert statements(reader) == before


def test_a_sibling_sees_what_has_to_be_read_from_the_tables(siblings: tuple[Roost, Roost]) -> None:
    first, second = siblings
    add_provider(first, "other", VCPU=1)
    assert read_provider(second, uuid=uid("other")).name == "other"
    add_provider(second, "third", VCPU=1)
    assert read_provider(first, uuid=uid("third")).name == "third"


def test_a_record_that_is_too_long_for_the_memory_is_read_from_the_database(
    siblings: tuple[Roost, Roost],
) -> None:
    first, second = siblings
    count = 300
    for number in range(count):
        add_provider(first, f"member{number}", VCPU=1)
    second.catch_up()
    before = statements(second)
    everywhere = {f"member{number}": {"VCPU": 1} for number in range(count)}
    put(first, claim("consumer", everywhere))
    assert used_of(second, f"member{count - 1}") == 1
    assert statements(second) == before + 1


def test_records_that_have_made_room_for_others_are_read_from_the_database(
    siblings: tuple[Roost, Roost], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = siblings
    monkeypatch.setattr("roost.store.feed.shared_records.SLOTS", 2)
    for number in range(3):
        put(first, claim(f"consumer{number}", {"host": {"VCPU": 1}}))
    assert used_of(second, "host") == 3


def test_once_somebody_has_read_what_a_sibling_commits_everybody_asks(
    siblings: tuple[Roost, Roost], monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    """Until then nobody was told of it. Whoever has read it may read elsewhere next."""
    first, second = siblings
    committed, go_on = threading.Event(), threading.Event()
    commit = Writer._commit

    def commit_and_wait(self: Writer, *arguments: object) -> None:
        commit(self, *arguments)  # type: ignore[arg-type]
        committed.set()
        assert go_on.wait(30)

    monkeypatch.setattr(Writer, "_commit", commit_and_wait)
    thread = threading.Thread(target=add_provider, args=(first, "new"))
    thread.start()
    assert committed.wait(30)
    assert not asks(second)
    clock.pass_by(RELY_SECONDS)
    assert asks(second)
    assert read_provider(second, uuid=uid("new")).name == "new"
    assert asks(second)
    go_on.set()
    thread.join()
    clock.pass_by(0.001)
    assert asks(second)
    assert not asks(second)


def test_while_a_sibling_commits_whoever_learns_of_something_newer_asks(
    start_service: Callable[[], Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is newer may rest on what is being committed, and does not say so."""
    service = start_service()
    first, second, third = (service.start_process() for _ in range(3))
    add_provider(first, "host", VCPU=4)
    for each in (first, second, third) * 2:
        each.catch_up()
    committed, go_on = threading.Event(), threading.Event()
    commit = Writer._commit

    def commit_and_wait(self: Writer, *arguments: object) -> None:
        commit(self, *arguments)  # type: ignore[arg-type]
        if self is first.store._writer:
            committed.set()
            assert go_on.wait(30)

    monkeypatch.setattr(Writer, "_commit", commit_and_wait)
    thread = threading.Thread(target=add_provider, args=(first, "new"))
    thread.start()
    try:
        assert committed.wait(30)
        add_provider(second, "newer")
        assert asks(third)
        for name in ("new", "newer"):
            assert read_provider(third, uuid=uid(name)).name == name
    finally:
        go_on.set()
        thread.join()


def test_a_refused_write_makes_nobody_ask(
    siblings: tuple[Roost, Roost], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = siblings

    def fail(self: Writer, *_: object) -> None:
        raise LostRace("another writer was first")

    with monkeypatch.context() as patch:
        patch.setattr(Writer, "_commit", fail)
        patch.setattr("roost.store.store._PAUSE_SECONDS_MAX", 0.001)
        with pytest.raises(ConcurrentUpdate):
            add_provider(first, "new")
    assert not asks(second)


def test_after_a_commit_with_an_unknown_outcome_everybody_asks(
    siblings: tuple[Roost, Roost], monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    """It may take place at any time. The writer of that process is another one from then on."""
    first, second = siblings

    def fail(self: Writer, *_: object) -> None:
        self.forget()
        raise OutcomeUnknown

    with monkeypatch.context() as patch:
        patch.setattr(Writer, "_commit", fail)
        with pytest.raises(OutcomeUnknown):
            add_provider(first, "new")
    assert asks(second)
    assert asks(second)
    add_provider(first, "newer")
    # The row of the lost writer is still there, and is not known to have ended.
    assert asks(second)
    assert asks(second)
    # Its process ends it.
    settle(first, clock)
    second.catch_up()
    assert not asks(second)


def test_who_replaces_a_process_that_was_killed_ends_its_writers(
    siblings: tuple[Roost, Roost], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = siblings
    shared = first.store._writer._shared
    assert shared is not None
    # The lock of a process that is gone is free, and its place is taken again.
    monkeypatch.setattr(shared, "_places", [0])
    other = Store.open(str(first.store.engine.url.render_as_string(hide_password=False)))
    other.share(shared)
    replacement = Roost(other, Settings())
    try:
        add_provider(replacement, "new")
        settle(replacement, clock)
        settle(second, clock)
        assert not asks(second)
        assert read_provider(second, uuid=uid("new")).name == "new"
    finally:
        replacement.close()


def test_an_answer_is_good_for_nothing_that_was_read_before_it(
    siblings: tuple[Roost, Roost],
    open_roost: OpenRoost,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A process is stopped while it reads the memory, and a sibling asks meanwhile."""
    first, second = siblings
    other = open_roost()
    settle(second, clock)
    clock.pass_by(RELY_SECONDS)
    add_provider(other, "elsewhere")
    other.store.end()
    for each in first, second:
        others = each.store._feed._other_writers
        assert others is not None
        others.look()
    seen = SharedPositions._seen

    def be_stopped(self: SharedPositions) -> bytes:
        found = seen(self)
        monkeypatch.setattr(SharedPositions, "_seen", seen)
        second.catch_up()
        return found

    monkeypatch.setattr(SharedPositions, "_seen", be_stopped)
    assert read_provider(first, uuid=uid("elsewhere")).name == "elsewhere"


def test_while_a_sibling_is_stopped_nobody_waits_for_it(
    siblings: tuple[Roost, Roost], clock: Clock
) -> None:
    first, second = siblings
    shared = first.store._writer._shared
    assert shared is not None
    clock.pass_by(RELY_SECONDS)
    with shared._changes.hold():
        assert asks(second)
        assert asks(second)
    assert asks(second)
    assert not asks(first)


# ---------------------------------------------------------------------------------------------
# Other services


def test_beside_another_service_everybody_asks(
    siblings: tuple[Roost, Roost], open_roost: OpenRoost, clock: Clock
) -> None:
    first, _ = siblings
    other = open_roost()
    clock.pass_by(RELY_SECONDS)
    add_provider(other, "elsewhere")
    settle(first, clock)
    for _ in range(3):
        assert asks(first)
    add_provider(other, "elsewhere too")
    assert read_provider(first, uuid=uid("elsewhere too")).name == "elsewhere too"


@pytest.mark.parametrize("shares", [True, False])
def test_a_new_service_does_not_write_before_others_know_it(
    siblings: tuple[Roost, Roost],
    open_roost: OpenRoost,
    start_service: Callable[[], Service],
    monkeypatch: pytest.MonkeyPatch,
    *,
    shares: bool,
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("roost.store.feed.writer.time.sleep", waits.append)
    other = start_service().start_process() if shares else open_roost()
    other.store._writer.prepare()
    assert [each > 0.8 * registration.REGISTERED_SECONDS for each in waits] == [True]
    assert registration.REGISTERED_SECONDS >= 4 * RELY_SECONDS
    # Nobody has waited, so it may not write yet.
    with pytest.raises(LostRace), other.store.write() as transaction:
        transaction.providers.insert(uuid=uid("early"), name="early", parent=None)


def test_alone_on_a_database_nobody_waits(
    start_service: Callable[[], Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: float) -> None:
        raise AssertionError("it waits")

    monkeypatch.setattr("roost.store.feed.writer.time.sleep", fail)
    service = start_service()
    add_provider(service.start_process(), "host")
    add_provider(service.start_process(), "another")


def test_a_service_that_has_ended_is_out_of_the_way(
    siblings: tuple[Roost, Roost], start_service: Callable[[], Service], clock: Clock
) -> None:
    first, second = siblings
    other = start_service().start_process()
    add_provider(other, "elsewhere")
    settle(first, clock)
    assert asks(first)
    other.store.end()
    settle(first, clock)
    assert not asks(first)
    # The sibling lacks what the other one wrote, so that answer is not good enough for it.
    assert asks(second)
    assert read_provider(second, uuid=uid("elsewhere")).name == "elsewhere"
    settle(second, clock)
    assert not asks(second)


def test_a_service_that_was_silent_for_long_is_ended_and_may_go_on(
    siblings: tuple[Roost, Roost], open_roost: OpenRoost, clock: Clock
) -> None:
    first, _ = siblings
    other = open_roost()
    add_provider(other, "elsewhere")
    with first.store.engine.begin() as connection:
        connection.execute(
            text("UPDATE roost_writers SET updated_at = '2001-01-01' WHERE id = :id"),
            [{"id": each.id} for each in other.store._writers if each.id is not None],
        )
    settle(first, clock)
    assert not asks(first)
    former = other.store._writer.id
    add_provider(other, "still there")
    assert other.store._writer.id != former
    clock.pass_by(RELY_SECONDS)
    assert read_provider(first, uuid=uid("still there")).name == "still there"
    assert asks(first)


def test_a_service_that_was_ended_by_mistake_asks(
    siblings: tuple[Roost, Roost], clock: Clock
) -> None:
    """Another one may do without asking, and write."""
    first, second = siblings
    end_by_mistake(first.store)
    settle(second, clock)
    assert asks(second)
    assert asks(first)
    end_by_mistake(second.store)
    settle(second, clock)
    # A new one would not wait for a service without writers.
    for _ in range(3):
        assert asks(second)
        assert asks(first)
    # It goes on as somebody else, and they know each other.
    add_provider(first, "new")
    assert read_provider(second, uuid=uid("new")).name == "new"
    settle(second, clock)
    assert not asks(second)


def end_by_mistake(store: Store) -> None:
    with store.engine.connect() as connection:
        sequences = dict(
            connection.execute(select(roost_writers.c.id, roost_writers.c.sequence)).all()
        )
    with store._database.write() as connection:
        for writer_id in [each.id for each in store._writers if each.id is not None]:
            registration.end_writer(connection, writer_id, sequences[writer_id])
        connection.commit()


def test_ending_a_writer_that_writes_at_this_moment_fails(siblings: tuple[Roost, Roost]) -> None:
    first, second = siblings
    writer = first.store._writer
    assert writer.id is not None
    with (
        pytest.raises(LostRace),
        second.store._database.write() as connection,
    ):
        registration.end_writer(connection, writer.id, writer.sequence - 1)
    add_provider(first, "new")


def test_a_service_that_ends_leaves_its_records(
    start_service: Callable[[], Service], open_roost: OpenRoost
) -> None:
    """Those who have not read them need not load everything."""
    follower = open_roost()
    follower.catch_up()
    process = start_service().start_process()
    process.catch_up()
    add_provider(process, "host", VCPU=4)
    process.store.end()
    position = follower._index.live
    assert position is not None
    assert follower.store.changes_since(position.position) is not None
    assert read_provider(follower, uuid=uid("host")).name == "host"
    with follower.store.engine.connect() as connection:
        ended = select(func.count()).where(roost_writers.c.token.startswith(registration.ENDED))
        assert connection.scalar(ended) == 2


def test_tables_that_were_emptied_are_noticed(siblings: tuple[Roost, Roost], clock: Clock) -> None:
    """As after a restore from a backup."""
    first, _ = siblings
    with first.store.engine.begin() as connection:
        connection.execute(delete(roost_changes))
        connection.execute(delete(roost_writers))
    clock.pass_by(RELY_SECONDS)
    before = first._index.live
    first.catch_up()
    assert first._index.live is not before


# ---------------------------------------------------------------------------------------------
# Places


def test_there_is_a_place_for_each_process(synchronised_url: str) -> None:
    shared = SharedPositions(2)
    assert shared.join(lambda: None) is not None
    assert shared.join(lambda: None) is not None
    assert shared.join(lambda: None) is None


def test_a_process_that_finds_no_place_asks(
    start_service: Callable[[], Service], clock: Clock
) -> None:
    service = start_service()
    for _ in range(4):
        process = service.start_process()
    add_provider(process, "host")
    process.catch_up()
    assert asks(process)
