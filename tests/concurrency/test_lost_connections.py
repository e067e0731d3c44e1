"""Connections that break before or during COMMIT, and databases that cannot be used at all."""

import os
import socket
from collections.abc import Callable
from typing import Any

import pytest

from roost.errors import Unavailable
from roost.operations.allocations import read_consumer
from roost.service.service import Roost
from roost.store.feed import lost_commits
from roost.store.feed.registration import end_writer
from roost.store.store import Store
from tests.concurrency.races import add_provider, claim, put, used
from tests.support.answering_server import answering_server
from tests.support.database_servers import SERVERS
from tests.support.names import uid

OpenRoost = Callable[[], Roost]


# SQLite has no connection that could be lost.
on_servers = pytest.mark.parametrize("synchronised_url", SERVERS, indirect=True)


def break_connection(dbapi_connection: Any) -> None:
    """Shut the socket down, as a failing network would."""
    connection = dbapi_connection.driver_connection
    number = (
        connection.pgconn.socket if hasattr(connection, "pgconn") else connection._sock.fileno()
    )
    with socket.socket(fileno=os.dup(number)) as connected:
        connected.shutdown(socket.SHUT_RDWR)


class BreakAtCommit:
    """Breaks the connection at the next COMMIT, before or after it reaches the server."""

    def __init__(self, roost: Roost, *, after: bool) -> None:
        self.dialect = roost.store.engine.dialect
        self.original = self.dialect.do_commit
        self.after = after
        self.break_count = 0

    def __enter__(self) -> "BreakAtCommit":
        self.dialect.do_commit = self.commit  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        self.dialect.do_commit = self.original  # type: ignore[method-assign]

    def commit(self, dbapi_connection: Any) -> None:
        if self.break_count:
            self.original(dbapi_connection)
            return
        self.break_count += 1
        if self.after:
            self.original(dbapi_connection)
        break_connection(dbapi_connection)
        if self.after:
            # What a driver raises when the answer does not arrive.
            raise self.dialect.loaded_dbapi.OperationalError(2013, "Lost connection")
        self.original(dbapi_connection)


@on_servers
@pytest.mark.parametrize("after", [False, True])
def test_a_commit_without_an_answer_is_resolved(open_roost: OpenRoost, after: bool) -> None:
    """Whether or not COMMIT took place, the claim is stored once, and its writer succeeds."""
    roost = open_roost()
    add_provider(roost, "host", VCPU=10)
    with BreakAtCommit(roost, after=after) as breaking:
        put(roost, claim("consumer", {"host": {"VCPU": 2}}))
    assert breaking.break_count == 1
    held = read_consumer(roost, consumer_uuid=uid("consumer"))
    assert held is not None
    assert held.generation == 1
    assert used(roost, "host", "VCPU") == 2
    # The sequence numbers continue without a gap.
    follower = roost.store.load()[0]
    put(roost, claim("next", {"host": {"VCPU": 1}}))
    assert roost.store.changes_since(follower) is not None


class EndAtCommit(BreakAtCommit):
    """Another service ends the writer as soon as its connection is broken before COMMIT."""

    def __init__(self, roost: Roost, other: Roost) -> None:
        super().__init__(roost, after=False)
        self.writer = roost.store._writer
        self.other = other

    def commit(self, dbapi_connection: Any) -> None:
        try:
            super().commit(dbapi_connection)
        except Exception:
            assert self.writer.id is not None
            with self.other.store._database.write() as connection:
                end_writer(connection, self.writer.id, self.writer.sequence)
                self.dialect.do_commit = self.original  # type: ignore[method-assign]
                connection.commit()
            raise


@on_servers
def test_the_end_of_a_writer_is_not_taken_for_its_commit(open_roost: OpenRoost) -> None:
    """It takes the number that the lost transaction would have had."""
    roost, other = open_roost(), open_roost()
    add_provider(roost, "host", VCPU=10)
    with EndAtCommit(roost, other) as breaking:
        put(roost, claim("consumer", {"host": {"VCPU": 2}}))
    assert breaking.break_count == 1
    assert read_consumer(other, consumer_uuid=uid("consumer")) is not None
    assert used(other, "host", "VCPU") == 2


@on_servers
def test_a_restarted_server_costs_a_retry(open_roost: OpenRoost) -> None:
    """Every pooled connection is dead, and no client notices."""
    roost, other = open_roost(), open_roost()
    add_provider(roost, "host", VCPU=10)
    roost.store.load()
    with other.store.engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        else:
            ids = connection.exec_driver_sql(
                "SELECT id FROM information_schema.processlist "
                "WHERE db = DATABASE() AND id <> CONNECTION_ID()"
            ).scalars()
            for id in ids.all():
                connection.exec_driver_sql(f"KILL {id}")
    put(roost, claim("consumer", {"host": {"VCPU": 2}}))
    assert read_consumer(roost, consumer_uuid=uid("consumer")) is not None
    assert roost.store.changes_since(roost.store.load()[0]) is not None


def assert_unavailable(store: Store, why: str | None = None) -> None:
    """Whatever is asked of it."""
    with pytest.raises(Unavailable, match=why):
        store.load()
    with pytest.raises(Unavailable, match=why):
        store.run(lambda tx: None)
    with pytest.raises(Unavailable, match=why):
        store.reads.consumer([uid("consumer")])


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_server_that_does_not_listen_is_unavailable(scheme: str) -> None:
    store = Store.open(f"{scheme}://nobody@127.0.0.1:1/nothing")
    assert_unavailable(store)


@pytest.mark.parametrize("answer", [b"", b"x", b"Nonsense!" * 20, b"E\0\0\0\x08Sx\0\0"])
@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_whatever_answers_a_connection_the_database_is_unavailable(
    scheme: str, answer: bytes
) -> None:
    """A wire that breaks while a connection is made, or a port of something else."""
    reads_first = scheme == "postgresql" and bool(answer)
    with answering_server(answer, reads_first=reads_first) as port:
        assert_unavailable(Store.open(f"{scheme}://nobody@127.0.0.1:{port}/nothing"))


@on_servers
def test_a_connection_that_breaks_while_it_is_prepared_is_unavailable(
    synchronised_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLAlchemy asks a server for its version over the first one, and passes on what is raised."""
    store = Store.open(synchronised_url)

    def fail(connection: Any) -> None:
        raise store.engine.dialect.loaded_dbapi.OperationalError("the connection is lost")

    for engine in (store.engine, store._database.reader):
        monkeypatch.setattr(engine.dialect, "initialize", fail)
    assert_unavailable(store)
    store.dispose()


def test_a_database_without_tables_is_unavailable(database_url: str) -> None:
    store = Store.open(database_url)
    assert_unavailable(store, "roost db sync")
    store.dispose()


@on_servers
def test_an_unknown_outcome_is_reported(
    open_roost: OpenRoost, monkeypatch: pytest.MonkeyPatch
) -> None:
    roost = open_roost()
    add_provider(roost, "host", VCPU=10)
    monkeypatch.setattr(lost_commits, "ATTEMPTS", 0)
    with (
        BreakAtCommit(roost, after=True),
        pytest.raises(Unavailable, match="could not be found out"),
    ):
        put(roost, claim("consumer", {"host": {"VCPU": 2}}))
    # The process continues with a new row in roost_writers.
    put(roost, claim("next", {"host": {"VCPU": 1}}))
    assert used(roost, "host", "VCPU") == 3
