"""The change feed misses nothing, and demands a reload where it cannot tell."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import delete, event, select, text, update

from roost.changes import Changes
from roost.operations.providers import create_provider
from roost.operations.traits import ensure_trait
from roost.service.service import Roost
from roost.store.feed import writer as writer_module
from roost.store.schema import metadata, roost_changes, roost_writers
from tests.concurrency.follower import Follower, tables
from tests.concurrency.races import add_provider, claim, put
from tests.support.database_servers import SERVERS
from tests.support.names import uid

OpenRoost = Callable[[], Roost]


def equals_fresh_load(follower: Follower) -> bool:
    return follower.rows == tables(follower.store.load()[1])


@contextmanager
def paused_before_commit(roost: Roost) -> Iterator[tuple[threading.Event, threading.Event]]:
    """The next transaction of this service stops right before COMMIT."""
    reached, may_continue = threading.Event(), threading.Event()

    def pause(_connection: object) -> None:
        if not reached.is_set():
            reached.set()
            assert may_continue.wait(30)

    event.listen(roost.store.engine, "commit", pause)
    try:
        yield reached, may_continue
    finally:
        may_continue.set()


# On SQLite no transaction overtakes one that writes.
@pytest.mark.parametrize("synchronised_url", SERVERS, indirect=True)
def test_an_overtaken_transaction_is_not_missed(open_roost: OpenRoost) -> None:
    """The slow writer takes its number first and commits last; readers catch up in between."""
    slow, fast, reader = open_roost(), open_roost(), open_roost()
    for name in ("a", "b"):
        add_provider(slow, name, VCPU=20)
    put(slow, claim("warm-up", {"a": {"VCPU": 1}}))
    follower = Follower(reader.store)
    with paused_before_commit(slow) as (reached, may_continue):
        thread = threading.Thread(target=put, args=(slow, claim("slow", {"a": {"VCPU": 2}})))
        thread.start()
        assert reached.wait(30)
        for number in range(3):
            put(fast, claim(f"fast{number}", {"b": {"VCPU": 1}}))
            follower.catch_up()
        assert equals_fresh_load(follower)
        may_continue.set()
        thread.join()
    follower.catch_up()
    assert equals_fresh_load(follower)
    assert follower.reloads == 1


# SQLite has one writing transaction at a time anyway.
@pytest.mark.parametrize("synchronised_url", SERVERS, indirect=True)
def test_threads_of_one_process_become_visible_in_order(open_roost: OpenRoost) -> None:
    """A thread that is slow at COMMIT delays the threads whose numbers come after its own."""
    roost, reader = open_roost(), open_roost()
    for name in ("a", "b"):
        add_provider(roost, name, VCPU=20)
    put(roost, claim("warm-up", {"a": {"VCPU": 1}}))
    follower = Follower(reader.store)
    with paused_before_commit(roost) as (reached, may_continue):
        slow = threading.Thread(target=put, args=(roost, claim("slow", {"a": {"VCPU": 2}})))
        slow.start()
        assert reached.wait(30)
        fast = threading.Thread(target=put, args=(roost, claim("fast", {"b": {"VCPU": 1}})))
        fast.start()
        fast.join(0.5)
        assert fast.is_alive()
        follower.catch_up()
        may_continue.set()
        slow.join()
        fast.join()
    follower.catch_up()
    assert equals_fresh_load(follower)
    assert follower.reloads == 1


def test_without_writes_there_are_no_changes(open_roost: OpenRoost) -> None:
    roost = open_roost()
    add_provider(roost, "a", VCPU=2)
    position, _ = roost.store.load()
    for _ in range(3):
        assert roost.store.changes_since(position) == (position, Changes())


def test_own_writes_are_read_back(open_roost: OpenRoost) -> None:
    roost = open_roost()
    add_provider(roost, "a", VCPU=2)
    follower = Follower(roost.store)
    follower.catch_up()
    for number in range(2):
        put(roost, claim(f"c{number}", {"a": {"VCPU": 1}}))
        follower.catch_up()
        assert equals_fresh_load(follower)
    assert follower.reloads == 1


def test_claims_arrive_as_sums(open_roost: OpenRoost) -> None:
    """The most frequent change must be cheap: no row of a provider is read for a claim."""
    writer, reader = open_roost(), open_roost()
    add_provider(writer, "a", VCPU=20)
    position, rows = reader.store.load()
    put(writer, claim("c1", {"a": {"VCPU": 2}}))
    put(writer, claim("c2", {"a": {"VCPU": 3}}))
    put(writer, claim("c1", {"a": {"VCPU": 1}}, expected_generation=1))
    news = reader.store.changes_since(position)
    assert news is not None
    provider_id = rows.providers[0][0]
    changes = news[1]
    assert changes.usage == {(provider_id, 0): 4}
    assert changes.generations == {provider_id: 4}
    assert not changes.provider_ids
    assert not changes.rows.providers


def test_emptied_tables_demand_a_reload(open_roost: OpenRoost) -> None:
    """As after an empty backup was restored under a running service."""
    roost, other = open_roost(), open_roost()
    add_provider(roost, "a", VCPU=2)
    follower = Follower(other.store)
    with roost.store.engine.begin() as connection:
        for table in reversed(metadata.sorted_tables):
            if table.name == "resource_providers":
                connection.execute(update(table).values(root_provider_id=None))
            connection.execute(delete(table))
    assert other.store.changes_since(follower.position) is None
    follower.catch_up()
    assert follower.rows["providers"] == set()
    # The writer whose row was deleted registers again, and readers get its changes.
    create_provider(roost, uuid=uid("b"), name="b", parent_uuid=None)
    follower.catch_up()
    assert {row[2] for row in follower.rows["providers"]} == {"b"}
    assert follower.reloads == 2


def test_a_sequence_number_that_went_back_demands_a_reload(open_roost: OpenRoost) -> None:
    roost, other = open_roost(), open_roost()
    add_provider(roost, "a", VCPU=2)
    position, _ = other.store.load()
    with roost.store.engine.begin() as connection:
        connection.execute(
            update(roost_writers)
            .where(roost_writers.c.sequence > 1)
            .values(sequence=roost_writers.c.sequence - 1)
        )
    assert other.store.changes_since(position) is None
    # The writer finds another number than its own in its row, and registers a new one.
    ensure_trait(roost, name="CUSTOM_A")
    assert other.store.changes_since(other.store.load()[0]) is not None


def test_a_missing_record_demands_a_reload(open_roost: OpenRoost) -> None:
    roost, other = open_roost(), open_roost()
    position, _ = other.store.load()
    for name in "abc":
        add_provider(roost, name)
    with roost.store.engine.begin() as connection:
        newest = connection.scalar(
            select(roost_changes.c.sequence).order_by(roost_changes.c.sequence.desc()).limit(1)
        )
        connection.execute(delete(roost_changes).where(roost_changes.c.sequence == newest - 1))
    assert other.store.changes_since(position) is None


def test_old_records_are_trimmed(open_roost: OpenRoost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "KEPT_RECORDS", 4)
    monkeypatch.setattr(writer_module, "TRIM_INTERVAL", 8)
    roost, other = open_roost(), open_roost()
    position, _ = other.store.load()
    follower = Follower(other.store)
    for number in range(24):
        ensure_trait(roost, name=f"CUSTOM_{number}")
        follower.catch_up()
    assert follower.reloads == 1
    assert equals_fresh_load(follower)
    with roost.store.engine.connect() as connection:
        sequences = connection.scalars(select(roost_changes.c.sequence)).all()
    assert len(sequences) < 14
    # A reader whose position was trimmed must reload.
    assert other.store.changes_since(position) is None


def age_writers(roost: Roost) -> None:
    with roost.store.engine.begin() as connection:
        connection.execute(text("UPDATE roost_writers SET updated_at = '2001-01-01 00:00:00'"))


def test_idle_writers_are_removed_without_a_reload(open_roost: OpenRoost) -> None:
    idle, reader, late = open_roost(), open_roost(), open_roost()
    add_provider(idle, "a", VCPU=2)
    follower = Follower(reader.store)
    age_writers(idle)
    # Registering removes the rows of writers that wrote nothing for a day.
    late.store.load()
    follower.catch_up()
    assert follower.reloads == 1
    # On a server, a process has a second one for batches of claims.
    assert len(follower.position) == (2 if late.store.writes_at_once else 1)
    # A writer whose row was removed registers again with its next write.
    ensure_trait(idle, name="CUSTOM_A")
    follower.catch_up()
    assert equals_fresh_load(follower)
    assert follower.reloads == 1


def test_a_writer_removed_with_unread_records_demands_a_reload(open_roost: OpenRoost) -> None:
    idle, reader, late = open_roost(), open_roost(), open_roost()
    follower = Follower(reader.store)
    add_provider(idle, "a", VCPU=2)
    age_writers(idle)
    late.store.load()
    follower.catch_up()
    assert follower.reloads == 2
    assert equals_fresh_load(follower)
