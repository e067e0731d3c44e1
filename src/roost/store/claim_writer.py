"""Writes claims of new consumers in one step: a transaction, its COMMIT and its announcement."""

import threading
import time

from oslo_db import exception as driver  # type: ignore[import-untyped]
from sqlalchemy import Connection
from sqlalchemy import exc as sql

from roost.store.change_record import Announcement, ChangeRecord
from roost.store.connection.database import Database
from roost.store.connection.statements import send
from roost.store.feed.writer import Writer
from roost.store.tables.new_claims import BY_KEYS_ALONE, NewClaims, at_once_writes
from roost.store.tables.session import current_time


class ClaimWriter:
    """A writer of the change feed of its own, with a connection of its own.

    A claim is written while the writer is locked, and waits there for rows that other transactions
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
        return self._database.dialect != "sqlite"

    def write(self, claims: NewClaims, record: ChangeRecord) -> None:
        """Write and commit, or raise; nothing was written then. One thread at a time."""
        self.feed_writer.register()
        with self._lock:
            self.feed_writer.commit_at_once(
                record, lambda announcement: self._execute(claims, announcement)
            )

    def _execute(self, claims: NewClaims, announcement: Announcement) -> None:
        if self._connection is None or self._has_expired():
            self._disconnect()
            self._connect()
        connection = self._connection
        assert connection is not None
        now = current_time(self._database.dialect)
        try:
            send(connection, at_once_writes(connection.dialect, claims, announcement, now))
            _end(connection)
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
        connection = self._database.engine.connect()
        try:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        except connection.dialect.loaded_dbapi.Error as error:
            # It was dead in the pool. This is the one message that SQLAlchemy sends unguarded.
            connection.invalidate()
            connection.close()
            raise driver.DBConnectionError(error) from error
        if self._database.dialect == "postgresql":
            connection.exec_driver_sql(f"SET {BY_KEYS_ALONE}")
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
