"""Polling the change feed at the lowest possible cost: it happens before every answer."""

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Connection, PoolProxiedConnection

from roost.store.change_record import ChangeRecord, decode_known
from roost.store.connection.database import Database
from roost.store.feed.position_question import POSITION_TEXT, Question, prepare_question
from roost.store.feed.positions import FeedPosition, SequenceRanges, read_position, read_ranges

# The records of at most this many writers are read with one statement for each writer.
STATEMENTS_MAX = 2

# A writer that is further behind than this reads its providers from the tables.
NEW_RECORDS_MAX = 1024

_Found = TypeVar("_Found")

_RECORDS_TEXT = (
    "SELECT record FROM roost_changes WHERE writer_id = ? AND sequence > ? AND sequence <= ?"
)


def _placeholder(dialect: str) -> str:
    """How the driver of a database marks a parameter."""
    return "?" if dialect == "sqlite" else "%s"


def read_new_records(connection: Connection, position: FeedPosition) -> list[ChangeRecord]:
    """The records that the writers of a position have added after it.

    One statement without the cost of building it, because contended claims depend on it.
    """
    if not position:
        return []
    mark = _placeholder(connection.dialect.name)
    after = " OR ".join([f"(writer_id = {mark} AND sequence > {mark})"] * len(position))
    rows = connection.exec_driver_sql(
        f"SELECT record FROM roost_changes WHERE {after} LIMIT {NEW_RECORDS_MAX}",
        tuple(number for pair in position.items() for number in pair),
    )
    return decode_known(text for (text,) in rows)


class WriterPoll:
    """Reads the position of every writer, and their records.

    It uses a connection that it holds permanently, and the driver without SQLAlchemy: the
    statement is so small that everything around it would cost more than the statement.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.statement_count = 0  # statements that listeners of the engine do not see
        self._placeholder = _placeholder(database.dialect)
        self.reset()

    def reset(self) -> None:
        self._lock = threading.Lock()
        self._connection: PoolProxiedConnection | None = None
        self._cursor: Any = None
        self._question: Question | None = None
        # The last answer to it, and what it says. Most answers are the same as the last one.
        self._answer = b""
        self._position: dict[int, int] = {}
        self._connected_at = 0.0
        self._must_reconnect = False

    def reconnect(self) -> None:
        """Poll through a new connection from now on."""
        self._must_reconnect = True

    def close(self) -> None:
        with self._lock:
            self._disconnect()

    def position(self) -> dict[int, int]:
        """The newest position of the feed."""
        found = self._polled(self._read_position)
        return self._database.read(read_position) if found is None else found

    def records(self, ranges: SequenceRanges) -> list[ChangeRecord]:
        """The records in these ranges, as far as this release can read them."""
        rows = None
        if len(ranges) <= STATEMENTS_MAX:
            rows = self._polled(lambda: self._read_records(ranges))
        if rows is None:
            found = self._database.read(lambda connection: read_ranges(connection, ranges))
            return [each.record for each in found]
        return decode_known(text for (text,) in rows)

    def _read_position(self) -> dict[int, int]:
        self.statement_count += 1
        if self._question is None:
            self._cursor.execute(POSITION_TEXT)
            return dict(self._cursor.fetchall())
        answer = self._question.ask(self._answer)
        if answer != self._answer:
            # Another dictionary: the one before may be somebody's position.
            self._position = dict(self._question.read(answer))
            self._answer = answer
        return self._position

    def _read_records(self, ranges: SequenceRanges) -> list[tuple[str]]:
        text = _RECORDS_TEXT.replace("?", self._placeholder)
        found: list[tuple[str]] = []
        for writer, bounds in ranges.items():
            self.statement_count += 1
            self._cursor.execute(text, (writer, *bounds))
            found += self._cursor.fetchall()
        return found

    def _polled(self, read: Callable[[], _Found]) -> _Found | None:
        """What was read; None where the caller must read through `Database`.

        That is the case if another thread polls at this moment, or if anything failed: `Database`
        reconnects, or raises the right error.
        """
        if not self._lock.acquire(blocking=False):
            return None
        try:
            if self._connection is None or self._has_expired():
                self._disconnect()
                self._connect()
            return read()
        except Exception:
            if self._connection is not None:
                self._connection.invalidate()
                self._connection = None
            return None
        finally:
            self._lock.release()

    def _has_expired(self) -> bool:
        recycle = self._database.options.connection_recycle_time
        return self._must_reconnect or 0 <= recycle < time.monotonic() - self._connected_at

    def _connect(self) -> None:
        self._must_reconnect = False
        self._connection = self._database.reader.raw_connection()
        self._cursor = self._connection.cursor()
        self._question = prepare_question(
            self._database.reader.dialect.driver, self._connection.driver_connection
        )
        self._answer, self._position = b"", {}
        self._connected_at = time.monotonic()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._cursor.close()
            # Its pool may have been disposed of, so the connection must not return there.
            self._connection.invalidate()
            self._connection = None


class SqliteDataVersion:
    """Tells without a read transaction whether anything was committed to the SQLite file.

    `PRAGMA data_version` changes on a connection whenever another connection, of any process,
    commits. So this holds a connection of its own, which never writes.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.reset()

    def reset(self) -> None:
        self._lock = threading.Lock()
        self._connection: PoolProxiedConnection | None = None
        self._known: tuple[int, FeedPosition] | None = None

    def read(self) -> int:
        with self._lock:
            if self._connection is None:
                self._connection = self._database.reader.raw_connection()
            connection: Any = self._connection.driver_connection
            return int(connection.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def remember(self, version: int, position: FeedPosition) -> None:
        """`position` was the newest one when this version was read, or later."""
        self._known = version, position

    def is_newest(self, version: int, position: FeedPosition) -> bool:
        """Whether nothing was committed after `position`, given the version just read."""
        return self._known is not None and self._known == (version, position)
