"""A whole transaction as one batch: its writes, its announcement and its COMMIT, in one round trip.

Nobody can look at a row count between two of its statements. So a guard that wrote too few rows
makes a statement fail, with an error that nothing else in there can cause (`driver_errors`), and
with it the transaction as a whole.

Not for SQLite, where there is no round trip to save.
"""

from collections.abc import Sequence

from sqlalchemy import Dialect

from roost.store.change_record import Announcement
from roost.store.connection.statements import Write


def whole_transaction(
    dialect: Dialect, writes: Sequence[Write], announcement: Announcement
) -> Sequence[Write]:
    """The statements of a transaction that makes these writes and announces them."""
    if dialect.name == "mysql":
        return _mysql(writes, announcement)
    return _postgresql(writes, announcement)


def _record(announcement: Announcement) -> Write:
    writer, sequence = announcement.writer_id, announcement.sequence
    return Write(
        "INSERT INTO roost_changes (writer_id, sequence, record) "
        f"VALUES ({writer}, {sequence}, %s)",
        (announcement.record,),
    )


# ---------------------------------------------------------------------------------------------
# MariaDB and MySQL

# A statement after one that failed is not executed. A scalar subquery with two rows fails.
_MYSQL_GUARD = "SET @guard = IF(ROW_COUNT() = {count}, 1, (SELECT 1 UNION ALL SELECT 2))"
_MYSQL_ANNOUNCE = """UPDATE roost_writers SET sequence = {after}, updated_at = UTC_TIMESTAMP()
WHERE id = {writer} AND sequence = {before}"""


def _mysql(writes: Sequence[Write], announcement: Announcement) -> list[Write]:
    sequence = announcement.sequence
    announce = _MYSQL_ANNOUNCE.format(
        writer=announcement.writer_id, before=sequence - 1, after=sequence
    )
    found = [Write("START TRANSACTION")]
    for write in (*writes, _record(announcement), Write(announce, expected=1)):
        found.append(write._replace(expected=None))
        if write.expected is not None:
            found.append(Write(_MYSQL_GUARD.format(count=write.expected)))
    found.append(Write("COMMIT"))
    return found


# ---------------------------------------------------------------------------------------------
# PostgreSQL: statements that are sent as one text are a transaction by themselves.

# A division by zero.
_POSTGRESQL_GUARD = "1 / CASE WHEN (SELECT count(*) FROM written) = {count} THEN 1 ELSE 0 END"
# The row of the writer fails with another error than a guard: the logarithm of zero.
_POSTGRESQL_ANNOUNCE = """WITH written AS (
    UPDATE roost_writers SET sequence = {after}, updated_at = timezone('utc', now())
    WHERE id = {writer} AND sequence = {before}
    RETURNING 1
) SELECT ln((SELECT count(*) FROM written))"""


def _postgresql(writes: Sequence[Write], announcement: Announcement) -> list[Write]:
    sequence = announcement.sequence
    announce = _POSTGRESQL_ANNOUNCE.format(
        writer=announcement.writer_id, before=sequence - 1, after=sequence
    )
    return [*map(_guarded, writes), _record(announcement), Write(announce)]


def _guarded(write: Write) -> Write:
    if write.expected is None:
        return write
    guard = _POSTGRESQL_GUARD.format(count=write.expected)
    text = f"WITH written AS ({write.text} RETURNING 1) SELECT {guard}"
    return Write(text, write.values)
