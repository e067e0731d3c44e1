"""`Store`: the one way for the rest of roost to read and write the database."""

import logging
import os
import random
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeVar

from oslo_db import exception as driver  # type: ignore[import-untyped]
from sqlalchemy import Connection, Engine
from sqlalchemy import exc as sql

from roost.changes import Changes, Rows
from roost.converting import Converting
from roost.errors import ConcurrentUpdate, Unavailable
from roost.observe import metrics
from roost.progress import SILENT, Progress
from roost.store.at_once_writer import AtOnceWriter
from roost.store.change_record import ChangeRecord
from roost.store.connection.database import Database, LateTransaction
from roost.store.connection.driver_errors import (
    CONVERTING_ERRORS,
    RETRYABLE,
    ConnectionLost,
    LostRace,
    RowExists,
    converted,
)
from roost.store.connection.engine import EngineOptions
from roost.store.connection.statements import Write, send
from roost.store.feed.history import HistoryEntry, read_history
from roost.store.feed.positions import FeedPosition
from roost.store.feed.reader import Feed
from roost.store.feed.shared_positions import SharedPositions
from roost.store.feed.writer import Writer
from roost.store.tables.consumer_list import ConsumerList
from roost.store.tables.consumer_references import References, find_references
from roost.store.tables.idempotency import StoredPlacement, read_stored_placement
from roost.store.tables.new_claims import NewClaims, at_once_writes
from roost.store.tables.reads import Reads
from roost.store.tables.session import IdCache, current_time
from roost.store.transaction import Transaction
from roost.store.whole_transaction import whole_transaction

LOG = logging.getLogger(__name__)

RETRY_COUNT_DEFAULT = 10
# An unreachable server is reported soon; one that was restarted costs one attempt.
CONNECT_RETRY_COUNT = 2
_PAUSE_SECONDS_MIN = 0.005
_PAUSE_SECONDS_MAX = 0.5

Result = TypeVar("Result")


class Store:
    """Reads and writes one database. Each process has one, which all of its threads share."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writer = Writer(database)
        self._at_once_writer = AtOnceWriter(database)
        at_once = self._at_once_writer.feed_writer if self.writes_at_once else None
        if at_once is not None:
            self._writer.companion, at_once.companion = at_once, self._writer
        self._writers = [self._writer] if at_once is None else [self._writer, at_once]
        self._feed = Feed(database, self._writer, at_once)
        self.reads = Reads(database)
        self.consumer_list = ConsumerList(database)
        self._id_cache: tuple[int | None, IdCache] = None, IdCache()  # valid for this writer id
        self._ignores_case: bool | None = None
        self._retryable_errors = Converting(self._as_retryable)
        # What this process shares with others of the same service, if it does.
        self.siblings: SharedPositions | None = None
        _reset_after_fork(self)

    @classmethod
    def open(cls, url: str, **options: Any) -> Self:
        """The store of the database at `url`; `options` are those of `EngineOptions`.

        Neither connects nor migrates: see `roost.store.migrations.migrate`.
        """
        return cls(Database(url, EngineOptions(**options)))

    @property
    def engine(self) -> Engine:
        return self._database.engine

    @property
    def ignores_case(self) -> bool:
        """Whether the database considers UUIDs equal that differ only in case."""
        if self._ignores_case is None:
            self._ignores_case = self.reads.ignores_case()
        return self._ignores_case

    def share(self, shared: SharedPositions) -> None:
        """Take part in what the processes of one service know of each other, from the start.

        Not for SQLite, which says by itself whether anybody wrote.
        """
        if self._database.dialect == "sqlite" or (shown := shared.join(self.end)) is None:
            return
        for writer, each in zip(self._writers, shown, strict=False):
            writer.share(shared, each)
        self._feed.share(shared)
        self.siblings = shared

    def end(self) -> None:
        """Tell services that this process writes no more. If that fails, they find out later."""
        if self._database.dialect == "sqlite":
            return
        try:
            for writer in self._writers:
                writer.end()
        except (*RETRYABLE, driver.DBError, sql.DBAPIError, sql.TimeoutError, Unavailable) as error:
            LOG.info("the end of this process could not be announced: %s", error)

    def dispose(self) -> None:
        """Close every connection."""
        self._feed.close()
        self._at_once_writer.close()
        self._database.dispose()

    # -----------------------------------------------------------------------------------------
    # Writing

    @contextmanager
    def write(self, *, may_write_at_once: bool = False) -> Iterator[Transaction]:
        """One write transaction, committed with its change record at the end of the block.

        If the block raises, nothing is written. A transaction never contains another one. If the
        block reads nothing, its writes may be sent at once: then the transaction is one round trip.
        """
        self._writer.prepare()
        ignores_case = self.ignores_case
        at_once = may_write_at_once and self.writes_at_once
        with self._database.write_late() as late:
            if not at_once:
                late.begin()
            transaction = Transaction(late, self._current_id_cache(), ignores_case=ignores_case)
            yield transaction
            record = transaction.changes.build()
            if late.has_begun or record is None:
                transaction.flush()
                self._commit(late, record)
                return
        if not self._write_in_turn(transaction.deferred, record):
            with self._database.write() as connection:
                send(connection, transaction.deferred)
                self._writer.commit(connection, record)

    def _commit(self, late: LateTransaction, record: ChangeRecord | None) -> None:
        if record is not None:
            self._writer.commit(late.connection, record)
        elif late.has_begun:
            late.connection.commit()

    def _write_in_turn(self, writes: Sequence[Write], record: ChangeRecord) -> bool:
        return self._at_once_writer.write_in_turn(
            record, lambda dialect, announcement: whole_transaction(dialect, writes, announcement)
        )

    def _current_id_cache(self) -> IdCache:
        writer_id, ids = self._id_cache
        if writer_id != self._writer.id:
            ids = IdCache()
            self._id_cache = self._writer.id, ids
        return ids

    def attempt(
        self, unit: Callable[[Transaction], Result], *, may_write_at_once: bool = False
    ) -> Result:
        """Run a unit of work once, in one transaction; see `write`.

        Raises `LostRace` if another writer was first, `ConnectionLost` if the connection broke
        before COMMIT. Nothing was written in either case, and the unit may run again. (The writer
        resolves a connection that breaks during COMMIT, see `Writer.commit`.)
        """
        with (
            self._retryable_errors,
            self.write(may_write_at_once=may_write_at_once) as transaction,
        ):
            return unit(transaction)

    @property
    def writes_at_once(self) -> bool:
        """Whether a transaction can be one round trip."""
        return self._at_once_writer.is_possible

    def write_at_once(self, claims: NewClaims, record: ChangeRecord) -> None:
        """Write claims of new consumers and commit them, in one round trip; raises as `attempt`."""
        now = current_time(self._database.dialect)
        with self._retryable_errors:
            self._at_once_writer.write(
                record,
                lambda dialect, announcement: at_once_writes(dialect, claims, announcement, now),
            )

    def known_references(
        self, *, projects: Collection[str], users: Collection[str], types: Collection[str]
    ) -> References | None:
        """The ids of these names, if this process remembers all of them."""
        return find_references(
            self._current_id_cache(), projects=projects, users=users, types=types
        )

    def _as_retryable(self, error: BaseException) -> Exception | None:
        """What the error of a write is for those who may try it again."""
        if isinstance(error, driver.DBDuplicateEntry):
            return RowExists(str(error))
        if isinstance(error, RETRYABLE):
            return LostRace(str(error))
        if isinstance(error, driver.DBConnectionError):
            # Reads must not stay with a server that writes had to leave.
            self._database.renew_readers()
            self._feed.reconnect()
            self._at_once_writer.reconnect()
            return ConnectionLost(error)
        return converted(error)

    def run(
        self, unit: Callable[[Transaction], Result], *, retry_count: int = RETRY_COUNT_DEFAULT
    ) -> Result:
        """Run a unit of work until it succeeds, with growing pauses, at most `retry_count` retries.

        The unit runs again as a whole when it lost a race, COMMIT included. So it must read
        everything it decides on from its transaction, and change nothing but its transaction.
        """
        attempt = 0
        while True:
            try:
                return self.attempt(unit)
            except LostRace as error:
                if attempt >= retry_count:
                    LOG.warning("gave up after %d attempts: %s", attempt + 1, error)
                    raise ConcurrentUpdate() from error
                metrics.RETRY_RACE.inc()
            except ConnectionLost:
                if attempt >= CONNECT_RETRY_COUNT:
                    raise
                metrics.RETRY_CONNECTION.inc()
            attempt += 1
            pause = min(_PAUSE_SECONDS_MAX, _PAUSE_SECONDS_MIN * 2**attempt)
            time.sleep(random.uniform(0, pause))

    # -----------------------------------------------------------------------------------------
    # Reading

    def read_snapshot(self, query: Callable[[Connection], Result]) -> Result:
        """The result of several statements that see one snapshot, to inspect the tables."""
        return self._database.read_snapshot(query)

    def stored_placement(self, key_digest: str) -> StoredPlacement | None:
        """The answer stored under an idempotency key."""
        return self._database.read(lambda connection: read_stored_placement(connection, key_digest))

    # -----------------------------------------------------------------------------------------
    # The change feed

    def reach(self) -> None:
        """Raise `Unavailable` if the database does not answer a small read, as requests make."""
        self._feed.reach()

    def check_writes(self) -> None:
        """Raise `Unavailable` if the database refuses writes. Nothing is written."""
        self._writer.check()

    def position(self) -> FeedPosition:
        """The newest position of the change feed."""
        with CONVERTING_ERRORS:
            return self._feed.position()

    def records_since(self, position: FeedPosition) -> Sequence[HistoryEntry] | None:
        """The records after a position, in order; None where they are no longer known."""
        return self._database.read_snapshot(lambda connection: read_history(connection, position))

    def records_between(
        self, position: FeedPosition, until: FeedPosition
    ) -> Sequence[HistoryEntry] | None:
        """The records after a position, up to one that `position` gave later; as `records_since`.

        That is a single statement.
        """
        return self._database.read(lambda connection: read_history(connection, position, until))

    def load(self, progress: Progress = SILENT) -> tuple[FeedPosition, Rows]:
        """Every row of the tables, and the feed position that belongs to them."""
        with CONVERTING_ERRORS:
            return self._feed.load(progress)

    def changes_since(self, position: FeedPosition) -> tuple[FeedPosition, Changes] | None:
        """What changed since a position; None where the feed cannot tell and `load` must."""
        with CONVERTING_ERRORS:
            return self._feed.changes_since(position)

    def has_shown_news(self, position: FeedPosition) -> bool:
        """Whether siblings show that they wrote after a position, in memory that they share."""
        return self._feed.has_shown_news(position)

    def count_own_news(self, position: FeedPosition) -> int:
        """How many records this process has written after a position."""
        return self._feed.count_own_news(position)

    def has_deleted_since(self, position: FeedPosition) -> bool:
        """Whether this process deleted a provider after a position; from memory."""
        return self._feed.has_deleted_since(position)

    def own_changes(self, position: FeedPosition) -> Iterator[tuple[FeedPosition, Changes]]:
        """The next changes of this process after a position, as far as no read is needed for them.

        They are alternatives: each leads from this position to another one.
        """
        return self._feed.own_changes(position)

    def _after_fork(self) -> None:
        # The connections, and the row in roost_writers, belong to the parent process.
        self._database.dispose(close=False)
        self._database.reset()
        self._writer.reset()
        self._at_once_writer.reset()
        self._feed.reset()
        self.siblings = None


def _reset_after_fork(store: Store) -> None:
    reference = weakref.ref(store)

    def after_in_child() -> None:
        if (alive := reference()) is not None:
            alive._after_fork()

    os.register_at_fork(after_in_child=after_in_child)
