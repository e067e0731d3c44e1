"""The store: the tables behind one door."""

import logging
import os
import random
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeVar

from oslo_db import exception as driver  # type: ignore[import-untyped]
from sqlalchemy import Connection, Engine

from roost.changes import Changes, Rows
from roost.errors import ConcurrentUpdate
from roost.observe import metrics
from roost.store.connection.database import Database
from roost.store.connection.driver_errors import RETRYABLE, RetryAtOnce, converting_errors
from roost.store.connection.engine import EngineOptions
from roost.store.feed.history import Recorded, read_records
from roost.store.feed.positions import FeedPosition
from roost.store.feed.reader import Feed
from roost.store.feed.writer import Writer
from roost.store.tables.id_cache import IdCache
from roost.store.tables.idempotency import StoredPlacement, read_stored_placement
from roost.store.tables.reads import Reads
from roost.store.transaction import Transaction

LOG = logging.getLogger(__name__)

RETRY_COUNT_DEFAULT = 10
# A server that is away is reported soon; a restarted one costs one try.
CONNECT_RETRY_COUNT = 2
_PAUSE_SECONDS_MIN = 0.005
_PAUSE_SECONDS_MAX = 0.5

Result = TypeVar("Result")


class Store:
    """Reads and writes of one database. One for each process; any number of threads may use it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writer = Writer(database)
        self._feed = Feed(database, self._writer)
        self.reads = Reads(database)
        self._id_cache: tuple[int | None, IdCache] = None, IdCache()  # of one registration
        _forget_after_fork(self)

    @classmethod
    def open(cls, url: str, **options: Any) -> Self:
        """The store of the database at `url`, for the options of `EngineOptions`.

        Neither connects nor migrates: see `roost.store.migrations.migrate`.
        """
        return cls(Database(url, EngineOptions(**options)))

    @property
    def engine(self) -> Engine:
        return self._database.engine

    def dispose(self) -> None:
        """Close every connection."""
        self._feed.close()
        self._database.dispose()

    # -----------------------------------------------------------------------------------------
    # Writing

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """One transaction: committed with its change record on leaving, or not at all."""
        self._writer.register()
        with self._database.write() as connection:
            transaction = Transaction(connection, self._current_id_cache())
            yield transaction
            transaction.flush()
            record = transaction.announcement.record()
            if record is None:
                connection.commit()
            else:
                self._writer.commit(connection, record)

    def _current_id_cache(self) -> IdCache:
        registration, ids = self._id_cache
        if registration != self._writer.id:
            ids = IdCache()
            self._id_cache = self._writer.id, ids
        return ids

    def run(
        self, unit: Callable[[Transaction], Result], *, retry_count: int = RETRY_COUNT_DEFAULT
    ) -> Result:
        """Run a unit of work in a transaction, as often as it takes.

        The unit runs again as a whole, COMMIT included, when it lost a race; so it reads
        everything it decides on from its transaction, and changes nothing but its transaction.
        """
        with converting_errors():
            attempt = 0
            while True:
                try:
                    with self.write() as transaction:
                        result = unit(transaction)
                    return result
                except RetryAtOnce:
                    metrics.RETRY_PROPOSAL.inc()
                    continue
                except RETRYABLE as error:
                    if attempt >= retry_count:
                        LOG.warning("gave up after %d attempts: %s", attempt + 1, error)
                        raise ConcurrentUpdate() from error
                    metrics.RETRY_RACE.inc()
                except driver.DBConnectionError:
                    # Lost before COMMIT: nothing was written. (A loss during COMMIT does not
                    # arrive here, see Writer.) Reads shall not stay with a server that writes
                    # had to leave.
                    self._database.renew_readers()
                    self._feed.leave()
                    if attempt >= CONNECT_RETRY_COUNT:
                        raise
                    metrics.RETRY_CONNECTION.inc()
                attempt += 1
                pause = min(_PAUSE_SECONDS_MAX, _PAUSE_SECONDS_MIN * 2**attempt)
                time.sleep(random.uniform(0, pause))

    # -----------------------------------------------------------------------------------------
    # Looking

    def look(self, question: Callable[[Connection], Result]) -> Result:
        """The answer to several statements of whoever inspects the tables, as of one moment."""
        return self._database.read_snapshot(question)

    def stored_placement(self, key_digest: str) -> StoredPlacement | None:
        """What was answered under a key."""
        return self._database.read(lambda connection: read_stored_placement(connection, key_digest))

    # -----------------------------------------------------------------------------------------
    # Following

    def reach(self) -> None:
        """Ask the database for something small, the way that requests do."""
        self._feed.reach()

    def position(self) -> FeedPosition:
        """Where the change feed is."""
        with converting_errors():
            return self._feed.position()

    def records_since(self, position: FeedPosition) -> Sequence[Recorded] | None:
        """What was recorded since, in order; None where it is no longer known."""
        return self._database.read_snapshot(lambda connection: read_records(connection, position))

    def load(self) -> tuple[FeedPosition, Rows]:
        """Every row of the tables, and the position in the change feed that belongs to them."""
        with converting_errors():
            return self._feed.load()

    def changes_since(self, position: FeedPosition) -> tuple[FeedPosition, Changes] | None:
        """What happened since, or None where only `load` can tell."""
        with converting_errors():
            return self._feed.changes_since(position)

    def own_changes(self, position: FeedPosition) -> tuple[FeedPosition, Changes] | None:
        """The next change after a position, if it is known without asking the database."""
        return self._feed.own_changes(position)

    def _after_fork(self) -> None:
        # The connections and the row in roost_writers belong to the parent process.
        self._database.dispose(close=False)
        self._database.reset()
        self._writer.reset()
        self._feed.reset()


def _forget_after_fork(store: Store) -> None:
    reference = weakref.ref(store)

    def after_in_child() -> None:
        if (alive := reference()) is not None:
            alive._after_fork()

    os.register_at_fork(after_in_child=after_in_child)
