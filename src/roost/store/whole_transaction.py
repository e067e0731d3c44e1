"""A whole transaction as one batch: its writes, its announcement and its COMMIT, in one round trip.

Nobody can look at a row count between two of its statements. So a guard that wrote too few rows
makes a statement fail, with an error that nothing else in there can cause (`driver_errors`), and
with it the transaction as a whole.

Not for SQLite, where there is no round trip to save.
"""

import functools
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Dialect

from roost.store.change_record import Announcement
from roost.store.connection.driver_errors import GUARD_FAILED, WRITER_LOST
from roost.store.connection.statements import BLOCK_END, Write


def whole_transaction(
    dialect: Dialect, writes: Sequence[Write], announcement: Announcement
) -> Sequence[Write]:
    """The statements of a transaction that makes these writes and announces them."""
    if dialect.name == "mysql":
        return _mysql(dialect, writes, announcement)
    return _postgresql(writes, announcement)


def _record(announcement: Announcement) -> Write:
    return Write(
        "INSERT INTO roost_changes (writer_id, sequence, record) VALUES (%s, %s, %s)",
        (announcement.writer_id, announcement.sequence, announcement.record),
    )


# ---------------------------------------------------------------------------------------------
# MariaDB and MySQL: a statement after one that failed is not executed.

# The texts are the same each time, so that a server can keep them (`past_engine.py`).
_MYSQL_COMMIT = Write("COMMIT")
_MYSQL_ANNOUNCE = """UPDATE roost_writers SET sequence = %s, updated_at = UTC_TIMESTAMP()
WHERE id = %s AND sequence = %s"""

# The statements of a text are answered one by one, and a client wakes up for each answer. A block,
# which MySQL does not have, is one statement with one answer.
_MARIADB_BEGIN = Write("BEGIN NOT ATOMIC START TRANSACTION")
_MARIADB_END = Write(BLOCK_END)
_MARIADB_GUARD = (
    "IF ROW_COUNT() <> {count} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{text}'; END IF"
)

# A scalar subquery with two rows fails.
_MYSQL_BEGIN = Write("START TRANSACTION")
_MYSQL_GUARD = "SET @guard = IF(ROW_COUNT() = {count}, 1, (SELECT 1 UNION ALL SELECT 2))"


def _mysql(dialect: Any, writes: Sequence[Write], announcement: Announcement) -> list[Write]:
    has_blocks = dialect.is_mariadb
    writer, sequence = announcement.writer_id, announcement.sequence
    found = [_MARIADB_BEGIN if has_blocks else _MYSQL_BEGIN]
    for write in writes:
        found.append(write)
        if write.expected is not None:
            found.append(_mysql_guard(has_blocks, write.expected, GUARD_FAILED))
    found += [
        _record(announcement),
        Write(_MYSQL_ANNOUNCE, (sequence, writer, sequence - 1)),
        _mysql_guard(has_blocks, 1, WRITER_LOST),
        _MYSQL_COMMIT,
    ]
    if has_blocks:
        found.append(_MARIADB_END)
    return found


@functools.cache
def _mysql_guard(has_blocks: bool, count: int, text: str) -> Write:
    guard = _MARIADB_GUARD if has_blocks else _MYSQL_GUARD
    return Write(guard.format(count=count, text=text))


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
