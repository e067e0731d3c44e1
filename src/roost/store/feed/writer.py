"""The writing side of the change feed: this process's row in `roost_writers`.

Each write transaction takes the next sequence number of its process, records its change under that
number, and writes the number to the row of the process, all within the transaction. A lock covers
"take the number, record, commit". So the numbers of one writer become visible in order, and two
writers never touch a common row. A reader compares the numbers in `roost_writers` with those it
knows, and thereby learns which records it lacks.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable

import msgspec
from oslo_db import exception as driver  # type: ignore[import-untyped]
from sqlalchemy import (
    Connection,
    Delete,
    bindparam,
    delete,
    false,
    select,
    update,
)
from sqlalchemy import exc as sql

from roost.store.change_record import Announcement, ChangeRecord, announce
from roost.store.connection.database import Database
from roost.store.connection.driver_errors import (
    RETRYABLE,
    LostRace,
    LostWriter,
    OutcomeUnknown,
    SomeGuardFailed,
)
from roost.store.connection.statements import Prepared, send
from roost.store.feed.lost_commits import took_place
from roost.store.feed.positions import KEPT_RECORDS, FeedPosition
from roost.store.feed.registration import (
    REGISTERED_SECONDS,
    RELYING,
    add_writer,
    current_time,
    end_writer,
    insert_record,
    new_token,
    others_may_rely,
)
from roost.store.feed.remembered_records import RememberedRecords
from roost.store.feed.shared_positions import SharedPositions, SharedWriter
from roost.store.schema import roost_changes, roost_writers

LOG = logging.getLogger(__name__)

TRIM_INTERVAL = 1024

_REGISTER_ATTEMPTS = 10

# A database that is read-only refuses it all the same.
_NO_UPDATE = update(roost_writers).where(false()).values(sequence=0)


def _old_records(writer_id: int, sequence: int) -> Delete:
    """The statement that deletes what no reader needs once this number is written."""
    return delete(roost_changes).where(
        roost_changes.c.writer_id == writer_id,
        roost_changes.c.sequence <= sequence - KEPT_RECORDS,
    )


class Writer:
    """This process as a writer of the change feed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # The other writer of this process, if it has one. Clients see the writes of one process in
        # the order in which it made them, by whichever writer.
        self.companion: Writer | None = None
        # Built once: building a statement costs as much as running it.
        self._advance_row = Prepared(
            update(roost_writers)
            .where(
                roost_writers.c.id == bindparam("writer"),
                roost_writers.c.sequence == bindparam("before"),
            )
            .values(sequence=bindparam("after"), updated_at=current_time(database.dialect))
        )
        self.reset()

    def reset(self) -> None:
        """Begin unregistered: in a new store, or in a process that was just forked."""
        self._registration_lock = threading.Lock()
        self._commit_lock = threading.Lock()
        # What siblings of the same service see of it, if they share memory.
        self._shared: SharedPositions | None = None
        self._shown: SharedWriter | None = None
        self._writes_from = 0.0  # when it may write, by the monotonic clock; 0: at once
        self.sequence = 0  # the number of its last record
        self.id: int | None = None  # None while not registered
        self.records = RememberedRecords()
        self.last_deletion = 0  # the number of the newest record that deletes a provider

    def forget(self) -> None:
        """The row vanished, or its sequence number is unknown: the next write registers again."""
        self.id = None

    def share(self, shared: SharedPositions, shown: SharedWriter) -> None:
        """Show siblings of the same service how far it has come, from its registration on."""
        self._shared, self._shown = shared, shown

    # -----------------------------------------------------------------------------------------
    # Registration

    def prepare(self) -> None:
        """Make sure that this process may write. Not inside a write transaction."""
        if self.id is None:
            self.register()
        if self._writes_from and (seconds := self._writes_from - time.monotonic()) > 0:
            time.sleep(seconds)

    def register(self) -> None:
        """Make sure that this process has a row. Not inside a write transaction."""
        if self.id is not None:
            return
        # Before the lock: a thread that holds it may wait for the write transaction of this thread.
        self._database.check_may_write()
        with self._registration_lock:
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
        mark = "" if self._shown is None else RELYING
        with self._database.write() as connection:
            writer_id, sequence = add_writer(connection, mark=mark)
            connection.commit()
        if self._others_may_rely(writer_id):
            self._writes_from = time.monotonic() + REGISTERED_SECONDS
        if self._shown is not None:
            self._shown.enter(writer_id, sequence)
        self.sequence = sequence
        self.last_deletion = 0
        self.id = writer_id

    def _others_may_rely(self, writer_id: int) -> bool:
        if self._database.dialect == "sqlite":
            return False
        own_ids = {writer_id} if self._shared is None else {writer_id, *self._shared.own_ids()}
        return self._database.read(lambda connection: others_may_rely(connection, own_ids))

    def compare(self, answer: FeedPosition) -> None:
        """Register again with the next write if, by an answer of the database, this one has ended.

        The next write would find that out. But until then siblings take its row for that of
        somebody who writes.
        """
        # Whoever commits at this moment finds it out now.
        if self.id is None or not self._commit_lock.acquire(blocking=False):
            return
        try:
            # The number in memory is newer than the answer.
            if self.id is not None and not 0 <= answer.get(self.id, -1) <= self.sequence:
                self.forget()
                if self._shown is not None:
                    self._shown.clear()
        finally:
            self._commit_lock.release()

    def end(self) -> None:
        """Write no more. Raises as a write does."""
        with self._commit_lock:
            writer_id, self.id = self.id, None
            if writer_id is not None:
                with self._database.write() as connection:
                    end_writer(connection, writer_id, self.sequence)
                    connection.commit()

    def check(self) -> None:
        """Raise `Unavailable` if the database refuses writes."""
        self._database.check_writes(_NO_UPDATE)

    # -----------------------------------------------------------------------------------------
    # Commit

    def commit(self, connection: Connection, record: ChangeRecord) -> None:
        """Record the change and COMMIT, in the order of the sequence numbers of this process."""
        with self._commit_lock:
            sequence = self.sequence + 1
            writer_id = self.id
            if writer_id is None:
                raise LostRace("the row of this writer is missing")
            record = self._after_companion(record)
            announcement = announce(writer_id, sequence, record)
            self._announce(connection, announcement)
            if sequence % TRIM_INTERVAL == 0:
                connection.execute(_old_records(writer_id, sequence))
            self._show_while(announcement, lambda: self._commit(connection, writer_id, sequence))
            self._note(writer_id, sequence, record)

    def commit_at_once(self, record: ChangeRecord, execute: Callable[[Announcement], None]) -> None:
        """Let `execute` do a whole transaction, its COMMIT and this announcement included.

        Whoever waits for locks of the database in there makes all others wait who commit by this
        writer. So a writer is used in this way, or by `commit`, and not both: a transaction that
        holds such locks may be about to commit.
        """
        with self._commit_lock:
            sequence = self.sequence + 1
            writer_id = self.id
            if writer_id is None:
                raise LostRace("the row of this writer is missing")
            record = self._after_companion(record)
            announcement = announce(writer_id, sequence, record)
            self._show_while(announcement, lambda: self._execute(execute, announcement))
            self._note(writer_id, sequence, record)
        if sequence % TRIM_INTERVAL == 0:
            self._trim(writer_id, sequence)

    def _note(self, writer_id: int, sequence: int, record: ChangeRecord) -> None:
        self.sequence = sequence
        self.records.keep(writer_id, sequence, record)
        if record.deleted:
            self.last_deletion = sequence

    def _execute(self, execute: Callable[[Announcement], None], announcement: Announcement) -> None:
        writer_id, sequence = announcement.writer_id, announcement.sequence
        try:
            execute(announcement)
        except RETRYABLE as error:
            if self._is_lost(error, writer_id, sequence):
                self.forget()
            raise
        except (driver.DBError, sql.DBAPIError) as error:
            LOG.warning("a claim failed, finding out whether it took place: %s", error)
            if not self._took_place(writer_id, sequence):
                raise LostRace("the connection was lost before COMMIT") from error
        except BaseException:
            self.forget()
            raise

    def _show_while(self, announcement: Announcement, commit: Callable[[], None]) -> None:
        """Show siblings that a record is about to be committed, and whether it was.

        If nobody knows, it stays about to be committed until this writer has registered again.
        """
        if self._writes_from and time.monotonic() < self._writes_from:
            raise LostRace("this writer has just registered, and others may not know it")
        if self._shown is None:
            commit()
            return
        self._shown.begin_commit(announcement.sequence)
        try:
            commit()
        except RETRYABLE:
            self._shown.give_up(announcement.sequence)
            raise
        except BaseException:
            self._shown.leave_open()
            raise
        self._shown.finish(announcement)

    def _after_companion(self, record: ChangeRecord) -> ChangeRecord:
        """The record, which says what the other writer of this process wrote before it."""
        other = self.companion
        if other is None or other.id is None:
            return record
        return msgspec.structs.replace(record, after=(other.id, other.sequence))

    def _is_lost(self, error: Exception, writer_id: int, sequence: int) -> bool:
        """Whether the row of this writer, and not the rows of the claim, made it fail."""
        if isinstance(error, LostWriter):
            return True
        if isinstance(error, driver.DBDuplicateEntry):
            return roost_changes.name in str(error)
        if not isinstance(error, SomeGuardFailed):
            return False
        number = select(roost_writers.c.sequence).where(roost_writers.c.id == writer_id)
        found = self._database.read(lambda connection: connection.scalar(number))
        return found != sequence - 1

    def _trim(self, writer_id: int, sequence: int) -> None:
        """Delete old records. If that fails, the next time does it."""
        try:
            with self._database.write() as connection:
                connection.execute(_old_records(writer_id, sequence))
                connection.commit()
        except (*RETRYABLE, driver.DBError, sql.DBAPIError) as error:
            LOG.info("old change records were not deleted: %s", error)

    def _announce(self, connection: Connection, announcement: Announcement) -> None:
        """Insert the record, and write its number to the row of this process."""
        writer_id, sequence = announcement.writer_id, announcement.sequence
        try:
            send(
                connection,
                [
                    insert_record(connection, announcement),
                    self._advance_row.write(
                        connection.dialect,
                        {"writer": writer_id, "before": sequence - 1, "after": sequence},
                        expected=1,
                        reason="the row of this writer is missing",
                    ),
                ],
            )
        except (driver.DBDuplicateEntry, LostRace):
            # The row was removed because it was idle, or a backup was restored.
            self.forget()
            raise

    def _commit(self, connection: Connection, writer_id: int, sequence: int) -> None:
        try:
            connection.commit()
        except driver.DBDeadlock:
            # The database rolled back: Galera reports a lost race at COMMIT.
            raise
        except (driver.DBError, sql.DBAPIError) as error:
            if self._database.dialect == "sqlite":
                # There is no network in between: what failed was not committed.
                raise
            # The state of the connection is unknown, so it must not return to the pool.
            connection.invalidate()
            LOG.warning("connection lost at COMMIT, finding out whether it took place: %s", error)
            if not self._took_place(writer_id, sequence):
                raise LostRace("the connection was lost before COMMIT") from error
        except BaseException:
            self.forget()
            raise

    def _took_place(self, writer_id: int, sequence: int) -> bool:
        """Whether the transaction with this number was committed, when its COMMIT got no answer."""
        try:
            mark = "" if self._shown is None else RELYING
            return took_place(self._database, writer_id, sequence, new_token(mark))
        except OutcomeUnknown:
            self.forget()
            raise
