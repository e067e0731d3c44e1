"""Writes in one step: a transaction, its COMMIT and its announcement, in one round trip."""

import threading
import time
from collections.abc import Callable, Sequence

from oslo_db import exception as driver  # type: ignore[import-untyped]
from sqlalchemy import Connection, Dialect
from sqlalchemy import exc as sql

from roost.store.change_record import Announcement, ChangeRecord
from roost.store.connection.database import Database, connect
from roost.store.connection.past_engine import can_send_past_engine, send_past_engine
from roost.store.connection.statements import Write
from roost.store.feed.writer import Writer
from roost.store.tables.new_claims import BY_KEYS_ALONE, PLANNED_ONCE

# What to send, for a dialect, with this announcement.
MakeWrites = Callable[[Dialect, Announcement], Sequence[Write]]

# How long a write waits for one before it that is on its way. A transaction of its own would wait
# as long for the disk. More means that somebody keeps a row locked.
TURN_SECONDS_MAX = 0.05


class AtOnceWriter:
    """A writer of the change feed of its own, with a connection of its own.

    A batch is sent while the writer is locked, and waits there for rows that other transactions
    of this process hold, who announce themselves by the other writer.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.feed_writer = Writer(database)
        self.reset()

    def reset(self) -> None:
        """Begin anew, in a process that was just forked."""
        self.feed_writer.reset()
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._connected_at = 0.0
        self._must_reconnect = False

    def reconnect(self) -> None:
        """Write through a new connection from now on."""
        self._must_reconnect = True

    def close(self) -> None:
        with self._lock:
            self._disconnect()

    @property
    def is_possible(self) -> bool:
        return can_send_past_engine(self._database.engine.dialect.driver)

    def write(self, record: ChangeRecord, make_writes: MakeWrites) -> None:
        """Write and commit, or raise; nothing was written then. One thread at a time."""
        self.feed_writer.prepare()
        with self._lock:
            self._commit(record, make_writes)

    def write_in_turn(self, record: ChangeRecord, make_writes: MakeWrites) -> bool:
        """Like `write`; False if others took too long, and nothing was done."""
        self.feed_writer.prepare()
        if not self._lock.acquire(timeout=TURN_SECONDS_MAX):
            return False
        try:
            self._commit(record, make_writes)
        finally:
            self._lock.release()
        return True

    def _commit(self, record: ChangeRecord, make_writes: MakeWrites) -> None:
        self.feed_writer.commit_at_once(
            record, lambda announcement: self._execute(make_writes, announcement)
        )

    def _execute(self, make_writes: MakeWrites, announcement: Announcement) -> None:
        if self._connection is None or self._has_expired():
            self._disconnect()
            self._connect()
        connection = self._connection
        assert connection is not None
        writes = make_writes(connection.dialect, announcement)
        try:
            send_past_engine(connection, writes)
        except (driver.DBDeadlock, driver.DBDuplicateEntry):
            # A guard has failed, another transaction was preferred, or a consumer exists. The
            # connection is fine.
            self._roll_back(connection)
            raise
        except BaseException:
            # Its state is unknown.
            self._disconnect()
            raise

    def _roll_back(self, connection: Connection) -> None:
        try:
            _end(connection)
            if self._database.dialect == "mysql":
                # It was begun by a statement, of which the driver knows nothing.
                connection.exec_driver_sql("ROLLBACK")
                _end(connection)
        except (driver.DBError, sql.DBAPIError):
            self._disconnect()

    def _has_expired(self) -> bool:
        recycle = self._database.options.connection_recycle_time
        return self._must_reconnect or 0 <= recycle < time.monotonic() - self._connected_at

    def _connect(self) -> None:
        self._must_reconnect = False
        connection = connect(self._database.engine)
        try:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        except connection.dialect.loaded_dbapi.Error as error:
            # It was dead in the pool. This is the one message that SQLAlchemy sends unguarded.
            connection.invalidate()
            connection.close()
            raise driver.DBConnectionError(error) from error
        if self._database.dialect == "postgresql":
            connection.exec_driver_sql(f"SET {BY_KEYS_ALONE}")
            connection.exec_driver_sql(f"SET {PLANNED_ONCE}")
            _end(connection)
        self._connection = connection
        self._connected_at = time.monotonic()

    def _disconnect(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            # Its pool may have been disposed of, and its state may be unknown.
            connection.invalidate()
            connection.close()


def _end(connection: Connection) -> None:
    """Tell SQLAlchemy that the transaction is over, of which the database is not told."""
    connection.rollback()
