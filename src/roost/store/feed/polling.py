"""Polling the change feed at the lowest possible cost: it happens before every answer."""

import struct
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, PoolProxiedConnection

from roost.store.change_record import ChangeRecord, decode_known
from roost.store.connection.database import Database
from roost.store.feed.positions import FeedPosition, SequenceRanges, read_position, read_ranges

# The records of at most this many writers are read with one statement for each writer.
STATEMENTS_MAX = 2

# A writer that is further behind than this reads its providers from the tables.
NEW_RECORDS_MAX = 1024

# Of what a server sends at once. The position of some hundred writers is shorter.
RECEIVE_BYTES = 16 * 1024

_Found = TypeVar("_Found")

_POSITION_TEXT = "SELECT id, sequence FROM roost_writers"
# The same as one value, of eight bytes for each number: PostgreSQL makes it in less time than a
# client takes to read the rows one by one.
_POSITION_BYTES_TEXT = (
    b"SELECT string_agg(int8send(id) || int8send(sequence), ''::bytea) FROM roost_writers"
)
# Its name among the prepared statements of the connection. psycopg gives its own another prefix.
_POSITION_NAME = b"roost_position"
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
        self._question: _Question | None = None
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
            self._cursor.execute(_POSITION_TEXT)
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
        prepare = _PREPARE_POSITION.get(self._database.reader.dialect.driver)
        self._question = prepare and prepare(self._connection.driver_connection)
        self._answer, self._position = b"", {}
        self._connected_at = time.monotonic()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._cursor.close()
            # Its pool may have been disposed of, so the connection must not return there.
            self._connection.invalidate()
            self._connection = None


class _Question(NamedTuple):
    """Asks a server for the position, past the cursors of its driver."""

    # Takes the last answer, and gives the new one; raises if it is none.
    ask: Callable[[bytes], bytes]
    # The sequence number of each writer that an answer names.
    read: Callable[[bytes], list[tuple[int, int]]]


def _prepare_postgresql(connection: Any) -> _Question:
    """Asks PostgreSQL for the position through libpq itself.

    A cursor of psycopg takes several times as long as the server, since it waits in Python. Here
    one call in C sends the question and waits, without the interpreter.
    """
    # An optional dependency, which the connection was made with.
    from psycopg.pq import ExecStatus, Format

    libpq = connection.pgconn
    is_prepared = (
        connection.prepare_threshold is not None
        and libpq.prepare(_POSITION_NAME, _POSITION_BYTES_TEXT).status == ExecStatus.COMMAND_OK
    )

    def ask(_known: bytes) -> bytes:
        if is_prepared:
            result = libpq.exec_prepared(_POSITION_NAME, None, None, Format.BINARY)
        else:
            # Through a proxy that cannot prepare statements.
            result = libpq.exec_params(_POSITION_BYTES_TEXT, None, None, None, Format.BINARY)
        if result.status != ExecStatus.TUPLES_OK:
            raise ConnectionError(result.error_message)
        # None if there are no writers.
        return result.get_value(0, 0) or b""

    return _Question(ask, lambda answer: list(struct.iter_unpack(">qq", answer)))


def _prepare_mysql(connection: Any) -> _Question:
    """Asks MySQL for the position, and takes what it sends as it is.

    PyMySQL reads packet by packet, describes the columns of a result, converts rows and keeps them.
    That takes several times as long as the server. test_polling.py pins what this relies on of
    PyMySQL.
    """
    from pymysql.constants import COMMAND  # type: ignore[import-untyped]

    command = bytes([COMMAND.COM_QUERY]) + _POSITION_TEXT.encode()
    packet = struct.pack("<I", len(command)) + command
    has_two_timeouts = connection._read_timeout != connection._write_timeout

    def ask(known: bytes) -> bytes:
        connection._write_bytes(packet)
        if has_two_timeouts:
            connection._sock.settimeout(connection._read_timeout)
            connection._current_timeout = connection._read_timeout
        received = receive()
        while received != known and not _is_whole(received):
            received += receive()
        return received

    def receive() -> bytes:
        received: bytes = connection._rfile.read1(RECEIVE_BYTES)
        if not received:
            raise ConnectionError("The server closed the connection.")
        return received

    return _Question(ask, _read_rows)


# The packets of an answer: how many columns there are, a packet for each of them, their end, the
# rows, the end of the rows. A packet begins with its length and its number.
_PACKET_HEAD = 4
_FIRST_ROW_PACKET = 1 + 2 + 1
# The first byte of a packet that says what went wrong, and of one that is an end.
_ERROR, _END = 0xFF, 0xFE


def _packets(received: bytes) -> list[bytes]:
    """The packets that have arrived, without their heads; raises if one is an error."""
    found = []
    begin = 0
    while begin + _PACKET_HEAD <= len(received):
        end = begin + _PACKET_HEAD + int.from_bytes(received[begin : begin + 3], "little")
        if end > len(received):
            break
        found.append(received[begin + _PACKET_HEAD : end])
        if found[-1][0] == _ERROR:
            raise ConnectionError(found[-1].decode(errors="replace"))
        begin = end
    return found


def _is_whole(received: bytes) -> bool:
    packets = _packets(received)
    return len(packets) > _FIRST_ROW_PACKET and packets[-1][0] == _END


def _read_rows(received: bytes) -> list[tuple[int, int]]:
    """The rows of two numbers, which are texts after their lengths."""
    found = []
    for row in _packets(received)[_FIRST_ROW_PACKET:-1]:
        end = 1 + row[0]
        found.append((int(row[1:end]), int(row[end + 1 :])))
    return found


_PREPARE_POSITION: dict[str, Callable[[Any], _Question]] = {
    "psycopg": _prepare_postgresql,
    "pymysql": _prepare_mysql,
}


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
