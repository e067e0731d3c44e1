"""The reading side of the change feed: everything, and what changed since a position."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence

from oslo_db import exception as driver  # type: ignore[import-untyped]
from sqlalchemy import Connection
from sqlalchemy import exc as sql

from roost.changes import Changes, HoldRow, ProviderParts, Rows
from roost.errors import Unavailable
from roost.progress import SILENT, Progress
from roost.store.change_record import ChangeRecord, decode_known
from roost.store.connection.database import Database
from roost.store.feed.other_writers import OtherWriters
from roost.store.feed.polling import SqliteDataVersion, WriterPoll
from roost.store.feed.positions import (
    KEPT_RECORDS,
    FeedPosition,
    count_records,
    ranges_between,
    read_position,
    read_records_after,
)
from roost.store.feed.shared_positions import SharedPositions
from roost.store.feed.writer import Writer
from roost.store.tables import index_rows

# It is bad luck if the tables are emptied between writing the row of this process and reading it.
# If the row is missing every time, the reads go to a replica that lags behind, which roost must
# not read from.
LOAD_ATTEMPTS = 3

# Reading more records than this, of all writers together, costs more than loading everything.
RECORDS_MAX = KEPT_RECORDS


class Feed:
    """Reads what all writers recorded."""

    def __init__(self, database: Database, writer: Writer, at_once: Writer | None) -> None:
        self._database = database
        self._writer = writer
        self._own_writers = (writer,) if at_once is None else (writer, at_once)
        self._poll = WriterPoll(database)
        self._data_version = SqliteDataVersion(database) if database.dialect == "sqlite" else None
        self._shared: SharedPositions | None = None
        self._other_writers: OtherWriters | None = None

    def share(self, shared: SharedPositions) -> None:
        """Share with siblings of the same service what is known of the newest position."""
        self._shared = shared
        self._other_writers = OtherWriters(self._database, shared)

    def reset(self) -> None:
        self._shared = self._other_writers = None
        self._poll.reset()
        if self._data_version is not None:
            self._data_version.reset()

    def reconnect(self) -> None:
        """Poll through a new connection from now on."""
        self._poll.reconnect()

    def close(self) -> None:
        self._poll.close()
        if self._data_version is not None:
            self._data_version.close()

    def reach(self) -> None:
        """Raise `Unavailable` if the database does not answer."""
        self._database.read(read_position)

    def position(self) -> FeedPosition:
        """The newest position."""
        return self._poll.position()

    def load(self, progress: Progress = SILENT) -> tuple[FeedPosition, Rows]:
        """Every row of the tables, and the position that belongs to them.

        Not inside a write transaction: the process may have to register, which is a write.
        """
        if self._shared is not None:
            # A backup may have been restored.
            self._shared.records.forget()
        for _ in range(LOAD_ATTEMPTS):
            # With a row of this process in roost_writers the position is never empty. So tables
            # that were emptied differ from tables that were never written.
            self._writer.register()
            # Others then know both writers before the first claim, which would register it as well.
            # A database that takes no writes now can be read all the same.
            with contextlib.suppress(driver.DBError, sql.DBAPIError, Unavailable):
                self._own_writers[-1].register()
            position, loaded = self._database.read_snapshot(
                lambda connection: (
                    read_position(connection),
                    index_rows.read_all(connection, progress),
                )
            )
            if self._writer.id in position:
                return position, loaded
            self._writer.forget()
        raise Unavailable("What was written to the database cannot be read from it.")

    def changes_since(self, position: FeedPosition) -> tuple[FeedPosition, Changes] | None:
        """What changed since, or None where the feed cannot tell and the caller must `load`."""
        version = None
        if self._data_version is not None:
            version = self._data_version.read()
            if self._data_version.is_newest(version, position):
                return position, Changes()
        newest = self._newest(position)
        if newest == position:
            self._remember(version, position)
            return position, Changes()
        news = self._self_contained_changes(position, newest)
        if news is None:
            news = self._database.read_snapshot(lambda connection: _catch_up(connection, position))
        if news is not None:
            self._remember(version, news[0])
        return news

    def _newest(self, position: FeedPosition) -> FeedPosition:
        """The newest position; from memory if siblings who share it know that, else asked for."""
        if self._shared is None or self._other_writers is None:
            return self._poll.position()
        known = self._shared.newest(position)
        if known is not None:
            return known
        question = self._shared.begin_question()
        answer = self._poll.position()
        if not self._shared.rely_on(question, answer, self._other_writers.ended):
            for writer in self._own_writers:
                # One that has registered meanwhile is not in the answer.
                if writer.id in question.writers:
                    writer.compare(answer)
            self._other_writers.note(answer)
        return answer

    def has_shown_news(self, position: FeedPosition) -> bool:
        """Whether siblings of the same service show that they wrote after a position."""
        return self._shared is not None and self._shared.has_news(position)

    def count_own_news(self, position: FeedPosition) -> int:
        """How many records this process has written after a position."""
        count = 0
        for each in self._own_writers:
            if each.id is not None:
                count += max(0, each.sequence - position.get(each.id, 0))
        return count

    def own_changes(self, position: FeedPosition) -> Iterator[tuple[FeedPosition, Changes]]:
        """The next change of each of its writers that this process itself committed, from memory.

        Without those that take rows of the tables to apply.
        """
        for writer in self._own_writers:
            if writer.id is None:
                continue
            sequence = position.get(writer.id, 0) + 1
            record = writer.records.get(writer.id, sequence)
            if record is not None and record.is_self_contained:
                yield {**position, writer.id: sequence}, _add_up([record])

    def has_deleted_since(self, position: FeedPosition) -> bool:
        """Whether this process deleted a provider after a position; from memory."""
        writer = self._writer.id
        return writer is not None and self._writer.last_deletion > position.get(writer, 0)

    def _self_contained_changes(
        self, position: FeedPosition, newest: FeedPosition
    ) -> tuple[FeedPosition, Changes] | None:
        """What changed between two positions; None unless every record is self-contained.

        Most records are claims, which are self-contained. Records never change, and these need
        no rows that would have to be of the same snapshot. So one read is enough, and the records
        of this process take none.
        """
        if position.keys() - newest.keys():
            return None
        ranges = ranges_between(position, newest)
        if ranges is None or count_records(ranges) > RECORDS_MAX:
            return None
        records = []
        for writer in self._own_writers:
            if writer.id is not None and writer.id in ranges:
                first, last = ranges[writer.id]
                own = [writer.records.get(writer.id, each) for each in range(first + 1, last + 1)]
                if None not in own:
                    records += [record for record in own if record is not None]
                    del ranges[writer.id]
        if ranges and self._shared is not None:
            # Those of a writer that was replaced may have been undone: it writes no more, but a
            # backup may have been restored.
            own_ids = self._shared.own_ids()
            shared = {id: each for id, each in ranges.items() if id in own_ids}
            for writer_id, texts in self._shared.records.read(shared).items():
                records += decode_known(texts)
                ranges = {id: each for id, each in ranges.items() if id != writer_id}
        if ranges:
            others = self._poll.records(ranges)
            if len(others) != count_records(ranges):
                return None
            records += others
        if not all(record.is_self_contained for record in records):
            return None
        return newest, _add_up(records)

    def _remember(self, version: int | None, position: FeedPosition) -> None:
        if self._data_version is not None and version is not None:
            self._data_version.remember(version, position)


def _catch_up(
    connection: Connection, position: FeedPosition
) -> tuple[FeedPosition, Changes] | None:
    found = read_records_after(connection, position, RECORDS_MAX)
    if found is None:
        return None
    newest, records = found
    return newest, _combine(connection, [each.record for each in records])


def _combine(connection: Connection, records: Iterable[ChangeRecord]) -> Changes:
    records = list(records)
    sums = _add_up(records)
    providers = frozenset(id for record in records for id in record.reread_providers)
    classes = frozenset(id for record in records for id in record.classes)
    traits = frozenset(id for record in records for id in record.traits)
    return Changes(
        # The rows of a provider that is read again include its differences.
        usage={key: each for key, each in sums.usage.items() if key[0] not in providers},
        generations={id: each for id, each in sums.generations.items() if id not in providers},
        parts=[each for each in sums.parts if each.id not in providers],
        provider_ids=providers,
        class_ids=classes,
        trait_ids=traits,
        rows=index_rows.read_some(connection, providers, classes, traits),
        holds=sums.holds,
        ended_holds=sums.ended_holds,
    )


def _add_up(records: Iterable[ChangeRecord]) -> Changes:
    generations: dict[int, int] = {}
    first_generations: dict[int, int] = {}
    usage: dict[tuple[int, int], int] = {}
    holds: list[HoldRow] = []
    ended_holds: list[str] = []
    parts: list[ProviderParts] = []
    for record in records:
        parts += record.parts
        holds += record.holds
        ended_holds += record.ended_holds
        for provider, generation in record.generations:
            if generation >= generations.get(provider, generation):
                generations[provider] = generation
            if generation <= first_generations.get(provider, generation):
                first_generations[provider] = generation
        for provider, class_id, difference in record.usage:
            usage[provider, class_id] = usage.get((provider, class_id), 0) + difference
    return Changes(
        usage={key: each for key, each in usage.items() if each},
        generations=generations,
        first_generations=first_generations,
        parts=_in_sequence(parts) if parts else (),
        holds=holds,
        ended_holds=ended_holds,
    )


def _in_sequence(parts: Iterable[ProviderParts]) -> Sequence[ProviderParts]:
    """What replacements come to, for each provider, in the order of its generations."""
    sums: dict[int, ProviderParts] = {}
    for each in sorted(parts, key=lambda each: each.generation):
        before = sums.get(each.id)
        sums[each.id] = each if before is None else before.then(each)
    return list(sums.values())
