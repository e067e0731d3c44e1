"""Records that a reader has not seen, and whether they are all there."""

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, and_, literal_column, or_, select

from roost.store.change_record import ChangeRecord, decode
from roost.store.feed.writer import KEPT_RECORDS
from roost.store.schema import roost_changes, roost_writers

# How far a reader has read: writer id -> the number of the last record it knows.
FeedPosition = Mapping[int, int]

# Writers that wrote: writer id -> the number after which, and the one up to which.
Moved = Mapping[int, tuple[int, int]]


class Numbered(NamedTuple):
    """A record, and where it is."""

    writer: int
    number: int
    record: ChangeRecord


_WRITERS = select(roost_writers.c.id, roost_writers.c.sequence)


def read_writers(connection: Connection) -> dict[int, int]:
    """Where the writers are."""
    return {row.id: row.sequence for row in connection.execute(_WRITERS)}


def is_ahead(position: FeedPosition, other: FeedPosition) -> bool:
    """Whether there is anything up to one position that is not yet known at the other."""
    return any(number > other.get(writer, 0) for writer, number in position.items())


def moved_writers(position: FeedPosition, now: FeedPosition) -> dict[int, tuple[int, int]] | None:
    """Which writers wrote since. None where nobody can tell any more what."""
    moved = {
        writer: (position.get(writer, 0), last)
        for writer, last in now.items()
        if last != position.get(writer, 0)
    }
    # A number that went back is another history (a restored backup); more records than are kept
    # were trimmed.
    if any(not 0 < last - seen <= KEPT_RECORDS for seen, last in moved.values()):
        return None
    return moved


def count_records(moved: Moved) -> int:
    """How many records all of them wrote together."""
    return sum(last - seen for seen, last in moved.values())


def read_unseen(
    connection: Connection, position: FeedPosition, count_max: int | None = None
) -> tuple[FeedPosition, list[Numbered]] | None:
    """Where the writers are, and what they recorded after a position. Within a snapshot.

    None where it is no longer known, or where it is more than is worth reading (`count_max`).
    """
    now = read_writers(connection)
    moved = moved_writers(position, now)
    if moved is None or (count_max is not None and count_records(moved) > count_max):
        return None
    found = read_numbered(connection, moved)
    if len(found) != count_records(moved):
        return None
    # A writer may vanish only if that is told, and with the number that we have seen.
    removed = dict(pair for each in found for pair in each.record.removed)
    if any(position.get(writer, 0) != number for writer, number in removed.items()):
        return None
    if any(writer not in now and writer not in removed for writer in position):
        return None
    return now, found


def read_numbered(connection: Connection, moved: Moved) -> list[Numbered]:
    """The records that these writers wrote: of each by number, and on SQLite as they were written.

    SQLite has one writing transaction at a time, and numbers the rows that it adds.
    """
    if not moved:
        return []
    columns = roost_changes.c
    unseen = or_(
        *(
            and_(columns.writer_id == writer, columns.sequence > seen, columns.sequence <= last)
            for writer, (seen, last) in moved.items()
        )
    )
    statement = select(columns.writer_id, columns.sequence, columns.record).where(unseen)
    if connection.dialect.name == "sqlite":
        statement = statement.order_by(literal_column("rowid"))
    else:
        statement = statement.order_by(columns.writer_id, columns.sequence)
    return [
        Numbered(row.writer_id, row.sequence, decode(row.record))
        for row in connection.execute(statement)
    ]
