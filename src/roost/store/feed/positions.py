"""Positions in the change feed, and the records after one."""

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, and_, literal_column, or_, select

from roost.store.change_record import ChangeRecord, decode
from roost.store.schema import roost_changes, roost_writers

# A reader that lacks more records of one writer than this reloads everything.
KEPT_RECORDS = 8192

# How far a reader has read: writer id -> the sequence number of the last record it knows.
FeedPosition = Mapping[int, int]

# Records that a reader lacks: writer id -> the sequence number after which, and up to which.
SequenceRanges = Mapping[int, tuple[int, int]]


class SequencedRecord(NamedTuple):
    """A record and its key in `roost_changes`."""

    writer_id: int
    sequence: int
    record: ChangeRecord


_WRITERS = select(roost_writers.c.id, roost_writers.c.sequence)


def read_position(connection: Connection) -> dict[int, int]:
    """The newest position: the last sequence number of every writer."""
    return {row.id: row.sequence for row in connection.execute(_WRITERS)}


def is_ahead(position: FeedPosition, other: FeedPosition) -> bool:
    """Whether `position` includes any record that `other` does not."""
    return any(sequence > other.get(writer, 0) for writer, sequence in position.items())


def ranges_between(
    position: FeedPosition, newest: FeedPosition
) -> dict[int, tuple[int, int]] | None:
    """The records between two positions; None where they are no longer known."""
    ranges = {
        writer: (position.get(writer, 0), last)
        for writer, last in newest.items()
        if last != position.get(writer, 0)
    }
    # A sequence number that went back belongs to another history (a restored backup). If a writer
    # wrote more than KEPT_RECORDS, some of its records were trimmed.
    if any(not 0 < last - first <= KEPT_RECORDS for first, last in ranges.values()):
        return None
    return ranges


def count_records(ranges: SequenceRanges) -> int:
    return sum(last - first for first, last in ranges.values())


def read_records_after(
    connection: Connection,
    position: FeedPosition,
    count_max: int | None = None,
    until: FeedPosition | None = None,
) -> tuple[FeedPosition, list[SequencedRecord]] | None:
    """The newest position, and the records after the given one.

    None where these are no longer known, or are more than is worth reading (`count_max`). With
    `until`, that counts as the newest position. Records never change, so it need not be of the
    same snapshot.
    """
    newest = read_position(connection) if until is None else until
    ranges = ranges_between(position, newest)
    if ranges is None or (count_max is not None and count_records(ranges) > count_max):
        return None
    found = read_ranges(connection, ranges)
    if len(found) != count_records(ranges):
        return None
    # A writer may disappear only if a record says so, and names the last number that this reader
    # knows of it.
    removed = dict(pair for each in found for pair in each.record.removed_writers)
    if any(position.get(writer, 0) != sequence for writer, sequence in removed.items()):
        return None
    if any(writer not in newest and writer not in removed for writer in position):
        return None
    return newest, found


def read_ranges(connection: Connection, ranges: SequenceRanges) -> list[SequencedRecord]:
    """The records in these ranges, ordered by sequence number for each writer.

    Without those that this release cannot read.

    On SQLite all of them are in the order of their commits: it runs one write transaction at a
    time, and numbers the rows that are added.
    """
    if not ranges:
        return []
    columns = roost_changes.c
    in_range = or_(
        *(
            and_(columns.writer_id == writer, columns.sequence > first, columns.sequence <= last)
            for writer, (first, last) in ranges.items()
        )
    )
    statement = select(columns.writer_id, columns.sequence, columns.record).where(in_range)
    if connection.dialect.name == "sqlite":
        statement = statement.order_by(literal_column("rowid"))
    else:
        statement = statement.order_by(columns.writer_id, columns.sequence)
    return [
        SequencedRecord(row.writer_id, row.sequence, record)
        for row in connection.execute(statement)
        if (record := decode(row.record)) is not None
    ]
