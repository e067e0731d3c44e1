"""The writing side of the change feed: this process's row in `roost_writers`.

Each write transaction takes the process's next number, records its change under it, and moves
the process's own row, all in the transaction itself. A lock covers "take the number, record,
commit", so one writer's numbers become visible in order, and two writers never touch a common
row. A reader that knows every writer's number therefore knows what it has not seen.
"""

import logging
import secrets
import threading
import time
import uuid
from datetime import datetime

from oslo_db import exception as driver  # type: ignore[import-untyped]
from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    delete,
    insert,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy import exc as sql

from roost.errors import Unavailable
from roost.store.change_record import ChangeRecord, encode
from roost.store.connection.database import Database
from roost.store.connection.driver_errors import RETRYABLE, LostRace
from roost.store.connection.prepared import Prepared, PreparedInsert, Write, send
from roost.store.schema import roost_changes, roost_writers

LOG = logging.getLogger(__name__)

# Readers further behind than this load everything anew.
KEPT_RECORDS = 8192
TRIM_INTERVAL = 1024

# A writer that did not move for so long is taken for gone. Being wrong is harmless: a process
# that finds its row missing registers again.
IDLE_SECONDS_MAX = 24 * 60 * 60

# How many of its own records a process remembers, so that it need not read them back.
REMEMBERED_RECORDS = 1024

# An id must survive JSON readers that know only doubles.
_ID_BITS = 53

_REGISTER_ATTEMPTS = 10
_RESOLVE_ATTEMPTS = 6
_RESOLVE_PAUSE_SECONDS = 0.5

# The database's clock in UTC: the clocks of processes may differ.
_NOW = {
    "sqlite": "CURRENT_TIMESTAMP",
    "postgresql": "timezone('utc', now())",
    "mysql": "UTC_TIMESTAMP()",
}
_IDLE_SINCE = {
    "sqlite": f"datetime(CURRENT_TIMESTAMP, '-{IDLE_SECONDS_MAX} seconds')",
    "postgresql": f"timezone('utc', now()) - interval '{IDLE_SECONDS_MAX} seconds'",
    "mysql": f"UTC_TIMESTAMP() - INTERVAL {IDLE_SECONDS_MAX} SECOND",
}

_INSERT_RECORD = PreparedInsert(roost_changes, ["writer_id", "sequence", "record"])


def _inserted(connection: Connection, writer_id: int, number: int, record: ChangeRecord) -> Write:
    values = {"writer_id": writer_id, "sequence": number, "record": encode(record)}
    [write] = _INSERT_RECORD.writes(connection.dialect, [values])
    return write


class Writer:
    """This process, as the change feed knows it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._now: ColumnElement[datetime] = literal_column(_NOW[database.dialect])
        # Built once: building a statement costs as much as running it.
        self._move_row = Prepared(
            update(roost_writers)
            .where(
                roost_writers.c.id == bindparam("writer"),
                roost_writers.c.sequence == bindparam("before"),
            )
            .values(sequence=bindparam("after"), updated_at=self._now)
        )
        self._idle_since: ColumnElement[datetime] = literal_column(_IDLE_SINCE[database.dialect])
        self.reset()

    def reset(self) -> None:
        """Start from nothing: in a store just opened, or a process just forked."""
        self._registering = threading.Lock()
        self._feed = threading.Lock()
        self._sequence = 0
        self.id: int | None = None  # None while not registered
        self._own: dict[tuple[int, int], ChangeRecord] = {}  # by writer id and number

    def forget(self) -> None:
        """The row is gone, or its number is not known: the next write registers anew."""
        self.id = None

    # -----------------------------------------------------------------------------------------
    # Registration

    def register(self) -> None:
        """Make sure that this process has a row. Not inside a transaction."""
        if self.id is not None:
            return
        with self._registering:
            for attempt in range(_REGISTER_ATTEMPTS):
                if self.id is not None:
                    return
                try:
                    self._register()
                except RETRYABLE:
                    if attempt == _REGISTER_ATTEMPTS - 1:
                        raise
                    time.sleep(secrets.randbelow(50) / 1000)

    def _register(self) -> None:
        writer_id = secrets.randbits(_ID_BITS)
        with self._database.write() as connection:
            idle = [
                (row.id, row.sequence)
                for row in connection.execute(
                    select(roost_writers.c.id, roost_writers.c.sequence)
                    .where(roost_writers.c.updated_at < self._idle_since)
                    # The rest has its turn at the next registration.
                    .limit(500)
                )
            ]
            sequence = 1 if idle else 0
            connection.execute(
                insert(roost_writers).values(
                    id=writer_id,
                    token=str(uuid.uuid4()),
                    sequence=sequence,
                    updated_at=self._now,
                )
            )
            if idle:
                self._remove(connection, idle)
                removal = ChangeRecord(removed=idle)
                send(connection, [_inserted(connection, writer_id, sequence, removal)])
            connection.commit()
        self._sequence = sequence
        self.id = writer_id

    def _remove(self, connection: Connection, idle: list[tuple[int, int]]) -> None:
        # Guarded by the number: a writer that moves in this moment keeps its row. Readers are
        # told the last number, so that they know whether they have seen everything.
        removed = connection.execute(
            delete(roost_writers).where(
                or_(
                    *(
                        and_(roost_writers.c.id == id, roost_writers.c.sequence == sequence)
                        for id, sequence in idle
                    )
                )
            )
        ).rowcount
        if removed != len(idle):
            raise LostRace("a writer taken for gone moved")
        connection.execute(
            delete(roost_changes).where(roost_changes.c.writer_id.in_([id for id, _ in idle]))
        )

    # -----------------------------------------------------------------------------------------
    # One write

    def commit(self, connection: Connection, record: ChangeRecord) -> None:
        """Record the change and COMMIT, in the order of this process's numbers."""
        with self._feed:
            number = self._sequence + 1
            writer_id = self.id
            if writer_id is None:
                raise LostRace("the row of this writer is gone")
            self._announce(connection, writer_id, number, record)
            if number % TRIM_INTERVAL == 0:
                connection.execute(
                    delete(roost_changes).where(
                        roost_changes.c.writer_id == writer_id,
                        roost_changes.c.sequence <= number - KEPT_RECORDS,
                    )
                )
            self._commit(connection, writer_id, number)
            self._sequence = number
            self._remember(writer_id, number, record)

    def own_record(self, writer_id: int, number: int) -> ChangeRecord | None:
        """What this process itself committed under a number, if it was lately."""
        return self._own.get((writer_id, number))

    def _remember(self, writer_id: int, number: int, record: ChangeRecord) -> None:
        self._own[writer_id, number] = record
        if len(self._own) > REMEMBERED_RECORDS:
            del self._own[next(iter(self._own))]

    def _announce(
        self, connection: Connection, writer_id: int, number: int, record: ChangeRecord
    ) -> None:
        """Write the record, and move the row of this process on."""
        try:
            send(
                connection,
                [
                    _inserted(connection, writer_id, number, record),
                    self._move_row.write(
                        connection.dialect,
                        {"writer": writer_id, "before": number - 1, "after": number},
                        expected=1,
                        reason="the row of this writer is gone",
                    ),
                ],
            )
        except (driver.DBDuplicateEntry, LostRace):
            # Removed for idling, or lost with a restored backup.
            self.forget()
            raise

    def _commit(self, connection: Connection, writer_id: int, number: int) -> None:
        try:
            connection.commit()
        except driver.DBDeadlock:
            # The database says that it rolled back: on Galera a lost race is told here.
            raise
        except (driver.DBError, sql.DBAPIError) as error:
            if self._database.dialect == "sqlite":
                # No network between us and the file: what failed was not committed.
                raise
            # Whatever state it is in, nobody shall get it from the pool.
            connection.invalidate()
            LOG.warning("connection lost at COMMIT, finding out whether it took place: %s", error)
            if not self._took_place(writer_id, number):
                raise LostRace("the connection was lost before COMMIT") from error
        except BaseException:
            self.forget()
            raise

    def _took_place(self, writer_id: int, number: int) -> bool:
        """Whether the transaction with this number was committed, when its COMMIT got no answer.

        Reading would not be enough: the server may be about to commit it. So this writes the
        very row that the lost transaction wrote, and thereby waits for its end or prevents it.
        """
        for _ in range(_RESOLVE_ATTEMPTS):
            try:
                with self._database.write_after_lost_commit() as connection:
                    prevented = connection.execute(
                        update(roost_writers)
                        .where(
                            roost_writers.c.id == writer_id,
                            roost_writers.c.sequence == number - 1,
                        )
                        .values(token=str(uuid.uuid4()))
                    ).rowcount
                    reached = connection.scalar(
                        select(roost_writers.c.sequence).where(roost_writers.c.id == writer_id)
                    )
                    connection.commit()
            except (driver.DBError, sql.DBAPIError, sql.TimeoutError):
                time.sleep(_RESOLVE_PAUSE_SECONDS)
                continue
            if prevented:
                return False
            if reached is not None and reached >= number:
                return True
            break
        self.forget()
        raise Unavailable(
            "The connection to the database was lost during COMMIT, and whether the write took "
            "place could not be found out."
        )
