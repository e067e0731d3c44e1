"""The reading side of the change feed: everything, and what happened since."""

import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, PoolProxiedConnection

from roost.changes import Changes, Rows
from roost.errors import Unavailable
from roost.store.change_record import ChangeRecord, decode
from roost.store.connection.database import Database
from roost.store.feed.positions import (
    FeedPosition,
    Moved,
    count_records,
    moved_writers,
    read_numbered,
    read_unseen,
    read_writers,
)
from roost.store.feed.writer import KEPT_RECORDS, Writer
from roost.store.tables import index_rows

# Tables that are emptied between writing our row and reading it are bad luck. Again and again,
# this is a replica that lags behind, and must not be read from.
LOAD_ATTEMPTS = 3

# The records of so many writers are asked for one writer after the other.
ASKED_WRITERS_MAX = 2

# More records than this, of all writers together, cost more to read than everything to load.
RECORDS_MAX = KEPT_RECORDS


class Feed:
    """Reads what all writers recorded."""

    def __init__(self, database: Database, writer: Writer) -> None:
        self._database = database
        self._writer = writer
        self._asker = _Asker(database)
        self._stillness = _Stillness(database) if database.dialect == "sqlite" else None

    def reset(self) -> None:
        self._asker.reset()
        if self._stillness is not None:
            self._stillness.reset()

    def leave(self) -> None:
        """Ask through a new connection from now on."""
        self._asker.leave()

    def close(self) -> None:
        self._asker.close()
        if self._stillness is not None:
            self._stillness.close()

    def reach(self) -> None:
        """Find out whether the database answers."""
        self._database.read(read_writers)

    def position(self) -> FeedPosition:
        """Where the writers are now."""
        return self._asker.writers()

    def load(self) -> tuple[FeedPosition, Rows]:
        """Every row of the tables, and where in the feed that is."""
        for _ in range(LOAD_ATTEMPTS):
            # With a row of our own the position is never empty: tables that were emptied and
            # tables that were never written look different.
            self._writer.register()
            position, loaded = self._database.read_snapshot(
                lambda connection: (read_writers(connection), index_rows.read_all(connection))
            )
            if self._writer.id in position:
                return position, loaded
            self._writer.forget()
        raise Unavailable("What was written to the database cannot be read from it.")

    def changes_since(self, position: FeedPosition) -> tuple[FeedPosition, Changes] | None:
        """What happened since, or None where the feed cannot tell and `load` must."""
        version = None
        if self._stillness is not None:
            version = self._stillness.version()
            if self._stillness.nothing_since(position, version):
                return position, Changes()
        now = self._asker.writers()
        if now == position:
            self._remember(position, version)
            return position, Changes()
        news = self._sums_since(position, now)
        if news is None:
            news = self._database.read_snapshot(lambda connection: _catch_up(connection, position))
        if news is not None:
            self._remember(news[0], version)
        return news

    def own_changes(self, position: FeedPosition) -> tuple[FeedPosition, Changes] | None:
        """The next of this process's own changes, if it is nothing but sums; from memory."""
        writer = self._writer.id
        if writer is None:
            return None
        number = position.get(writer, 0) + 1
        record = self._writer.own_record(writer, number)
        if record is None or not record.is_sums:
            return None
        return {**position, writer: number}, _summed([record])

    def _sums_since(
        self, position: FeedPosition, now: FeedPosition
    ) -> tuple[FeedPosition, Changes] | None:
        """What happened between two positions, if it is nothing but sums (claims, mostly).

        Records never change, and sums need no rows that would have to be as of the same moment.
        So this takes one read, and none for what this process wrote itself.
        """
        if position.keys() - now.keys():
            return None
        moved = moved_writers(position, now)
        if moved is None or count_records(moved) > RECORDS_MAX:
            return None
        records = []
        writer = self._writer.id
        if writer is not None and writer in moved:
            seen, last = moved[writer]
            own = [self._writer.own_record(writer, number) for number in range(seen + 1, last + 1)]
            if None not in own:
                records += [record for record in own if record is not None]
                del moved[writer]
        if moved:
            others = self._asker.records(moved)
            if len(others) != count_records(moved):
                return None
            records += others
        if not all(record.is_sums for record in records):
            return None
        return now, _summed(records)

    def _remember(self, position: FeedPosition, version: int | None) -> None:
        if self._stillness is not None and version is not None:
            self._stillness.remember(position, version)


def _catch_up(
    connection: Connection, position: FeedPosition
) -> tuple[FeedPosition, Changes] | None:
    found = read_unseen(connection, position, RECORDS_MAX)
    if found is None:
        return None
    now, unseen = found
    return now, _combine(connection, [each.record for each in unseen])


def _combine(connection: Connection, records: Iterable[ChangeRecord]) -> Changes:
    records = list(records)
    sums = _summed(records)
    providers = frozenset(id for record in records for id in record.providers)
    classes = frozenset(id for record in records for id in record.classes)
    traits = frozenset(id for record in records for id in record.traits)
    return Changes(
        # What is read anew already contains the sums.
        usage={key: delta for key, delta in sums.usage.items() if key[0] not in providers},
        generations={id: each for id, each in sums.generations.items() if id not in providers},
        provider_ids=providers,
        class_ids=classes,
        trait_ids=traits,
        rows=index_rows.read_some(connection, providers, classes, traits),
    )


def _summed(records: Iterable[ChangeRecord]) -> Changes:
    generations: dict[int, int] = {}
    usage: dict[tuple[int, int], int] = {}
    for record in records:
        for provider, generation in record.generations:
            generations[provider] = max(generation, generations.get(provider, generation))
        for provider, class_id, delta in record.usage:
            usage[provider, class_id] = usage.get((provider, class_id), 0) + delta
    return Changes(
        usage={key: delta for key, delta in usage.items() if delta}, generations=generations
    )


_WRITERS_TEXT = "SELECT id, sequence FROM roost_writers"
_RECORDS_TEXT = (
    "SELECT record FROM roost_changes WHERE writer_id = ? AND sequence > ? AND sequence <= ?"
)


class _Asker:
    """Asks where the writers are, which happens before every answer, and for their records.

    On a connection that is kept for it, and with the driver alone: the question is so small that
    everything around it would cost more than it does.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.asked = 0  # how many statements, for those who count
        self._mark = "?" if database.dialect == "sqlite" else "%s"
        self.reset()

    def reset(self) -> None:
        self._lock = threading.Lock()
        self._connection: PoolProxiedConnection | None = None
        self._cursor: Any = None
        self._taken = 0.0
        self._is_left = False

    def leave(self) -> None:
        self._is_left = True

    def close(self) -> None:
        with self._lock:
            self._give_back()

    def writers(self) -> dict[int, int]:
        rows = self._ask([(_WRITERS_TEXT, ())])
        return self._database.read(read_writers) if rows is None else dict(rows)

    def records(self, moved: Moved) -> list[ChangeRecord]:
        """The records of these writers, each from after one number to another."""
        rows = None
        if len(moved) <= ASKED_WRITERS_MAX:
            question = _RECORDS_TEXT.replace("?", self._mark)
            rows = self._ask([(question, (writer, *numbers)) for writer, numbers in moved.items()])
        if rows is None:
            found = self._database.read(lambda connection: read_numbered(connection, moved))
            return [each.record for each in found]
        return [decode(text) for (text,) in rows]

    def _ask(self, questions: Sequence[tuple[str, tuple[int, ...]]]) -> list[Any] | None:
        """All rows; None where the usual way must be gone."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            if self._connection is None or self._is_old():
                self._give_back()
                self._take()
            found = []
            for text, values in questions:
                self.asked += 1
                self._cursor.execute(text, values)
                found += self._cursor.fetchall()
            return found
        except Exception:
            # Whatever it is, the usual way deals with it: reconnects, or says what is wrong.
            if self._connection is not None:
                self._connection.invalidate()
                self._connection = None
            return None
        finally:
            self._lock.release()

    def _is_old(self) -> bool:
        recycle = self._database.options.connection_recycle_time
        return self._is_left or 0 <= recycle < time.monotonic() - self._taken

    def _take(self) -> None:
        self._is_left = False
        self._connection = self._database.reader.raw_connection()
        self._cursor = self._connection.cursor()
        self._taken = time.monotonic()

    def _give_back(self) -> None:
        if self._connection is not None:
            self._cursor.close()
            # The pool it came from may be gone; nobody else shall wait for it there.
            self._connection.invalidate()
            self._connection = None


class _Stillness:
    """Whether anybody committed to the SQLite file, asked without a read transaction.

    `data_version` changes on a connection when another connection, of any process, commits. So
    this keeps a connection of its own, which never writes.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.reset()

    def reset(self) -> None:
        self._lock = threading.Lock()
        self._connection: PoolProxiedConnection | None = None
        self._seen: tuple[int, FeedPosition] | None = None

    def version(self) -> int:
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

    def remember(self, position: FeedPosition, version: int) -> None:
        """Nothing after `position` had been committed when the version was read, or later."""
        self._seen = version, position

    def nothing_since(self, position: FeedPosition, version: int) -> bool:
        return self._seen is not None and self._seen == (version, position)
