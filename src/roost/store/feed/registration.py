"""A new row in `roost_writers`, and the end of rows whose processes are gone.

A writer ends when it will write no more: with its process, or after `ENDED_SECONDS` of silence. Its
row stays for those who have not read its last records, and goes after `IDLE_SECONDS_MAX`. A process
that was silent and writes again finds that its number is taken, and registers again.
"""

import secrets
import uuid
from collections.abc import Collection
from datetime import datetime

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from roost.store.change_record import Announcement, ChangeRecord, announce
from roost.store.connection.driver_errors import LostRace
from roost.store.connection.statements import PreparedInsert, Write, send
from roost.store.schema import roost_changes, roost_writers

# A writer that wrote nothing for so long is considered dead, and its row is removed. A mistake is
# harmless: a process that finds its row missing registers again.
IDLE_SECONDS_MAX = 24 * 60 * 60

# A writer that wrote nothing for so long is ended by other services. If it was only idle, it
# registers again, and its next write takes `REGISTERED_SECONDS` longer.
ENDED_SECONDS = 10 * 60

# A new writer waits for so long before its first write if another service may rely on being alone.
# That is several times `RELY_SECONDS`, because clocks do not run at the same speed, and a machine
# may stop for a moment.
REGISTERED_SECONDS = 0.25

# What a token begins with, of writers whose service may rely on being alone, and of those who have
# ended. Other tokens are hexadecimal.
RELYING, ENDED = "rely", "gone"
# A service that was ended by mistake may rely on being alone for a moment more. The clock of the
# database knows seconds.
_JUST_ENDED_SECONDS = 10

# An id must survive JSON parsers that know only doubles.
_ID_BITS = 53

# The clock of the database, in UTC: the clocks of processes may differ.
_NOW = {
    "sqlite": "CURRENT_TIMESTAMP",
    "postgresql": "timezone('utc', now())",
    "mysql": "UTC_TIMESTAMP()",
}
_SECONDS_AGO = {
    "sqlite": "datetime(CURRENT_TIMESTAMP, '-{seconds} seconds')",
    "postgresql": "timezone('utc', now()) - interval '{seconds} seconds'",
    "mysql": "UTC_TIMESTAMP() - INTERVAL {seconds} SECOND",
}

_INSERT_RECORD = PreparedInsert(roost_changes, ["writer_id", "sequence", "record"])


def current_time(dialect: str) -> ColumnElement[datetime]:
    """The time of the database."""
    return literal_column(_NOW[dialect])


def _time_ago(dialect: str, seconds: int) -> ColumnElement[datetime]:
    return literal_column(_SECONDS_AGO[dialect].format(seconds=seconds))


def new_token(mark: str = "") -> str:
    """Another value for the column of that name, which tells transactions apart."""
    return f"{mark}{uuid.uuid4().hex}" if mark else str(uuid.uuid4())


def insert_record(connection: Connection, announcement: Announcement) -> Write:
    """The statement that adds a change record."""
    [write] = _INSERT_RECORD.writes(connection.dialect, [msgspec.structs.asdict(announcement)])
    return write


def add_writer(connection: Connection, *, mark: str) -> tuple[int, int]:
    """Add a row, and remove those of the dead; the id of the new one, and its number."""
    writer_id = secrets.randbits(_ID_BITS)
    dialect = connection.dialect.name
    idle_since = _time_ago(dialect, IDLE_SECONDS_MAX)
    idle = [
        (row.id, row.sequence)
        for row in connection.execute(
            select(roost_writers.c.id, roost_writers.c.sequence)
            .where(roost_writers.c.updated_at < idle_since)
            # The next registration removes the others.
            .limit(500)
        )
    ]
    sequence = 1 if idle else 0
    connection.execute(
        insert(roost_writers).values(
            id=writer_id,
            token=new_token(mark),
            sequence=sequence,
            updated_at=current_time(dialect),
        )
    )
    if idle:
        _remove(connection, idle)
        removal = announce(writer_id, sequence, ChangeRecord(removed_writers=idle))
        send(connection, [insert_record(connection, removal)])
    return writer_id, sequence


def _remove(connection: Connection, idle: list[tuple[int, int]]) -> None:
    # Guarded by the sequence number: a writer that commits at this moment keeps its row. The
    # record names the last number, from which readers learn whether they know every record.
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
        raise LostRace("a writer that was considered dead wrote something")
    connection.execute(
        delete(roost_changes).where(roost_changes.c.writer_id.in_([id for id, _ in idle]))
    )


# ---------------------------------------------------------------------------------------------
# Writers that have ended


def others_may_rely(connection: Connection, own_ids: Collection[int]) -> bool:
    """Whether another service may rely on an answer in which a new writer is missing.

    To be asked after the COMMIT of its row: whoever registers later sees it.
    """
    columns = roost_writers.c
    just_ended = and_(
        columns.token.startswith(ENDED),
        columns.updated_at > _time_ago(connection.dialect.name, _JUST_ENDED_SECONDS),
    )
    others = (
        select(func.count())
        .where(columns.id.not_in(own_ids))
        .where(or_(columns.token.startswith(RELYING), just_ended))
    )
    return bool(connection.scalar(others))


def read_ended(connection: Connection) -> frozenset[int]:
    """The writers that have ended."""
    ended = select(roost_writers.c.id).where(roost_writers.c.token.startswith(ENDED))
    return frozenset(connection.scalars(ended))


def read_silent(
    connection: Connection, own_ids: Collection[int], replaced: Collection[int]
) -> list[tuple[int, int]]:
    """The writers to be ended, and their numbers; those `replaced` write no more in any case."""
    columns = roost_writers.c
    is_silent = columns.updated_at < _time_ago(connection.dialect.name, ENDED_SECONDS)
    silent = (
        select(columns.id, columns.sequence)
        .where(columns.id.not_in(own_ids), columns.token.not_like(f"{ENDED}%"))
        .where(or_(is_silent, columns.id.in_(replaced)))
    )
    return [(row.id, row.sequence) for row in connection.execute(silent)]


def end_writer(connection: Connection, writer_id: int, sequence: int) -> None:
    """Let a writer write no more after this number; raises `LostRace` if it does at this moment.

    A record of nothing takes its next number. So whatever it is about to commit fails, and readers
    need not know more than they do of any record.
    """
    ended = connection.execute(
        update(roost_writers)
        .where(roost_writers.c.id == writer_id, roost_writers.c.sequence == sequence)
        .values(
            sequence=sequence + 1,
            token=new_token(ENDED),
            updated_at=current_time(connection.dialect.name),
        )
    ).rowcount
    if ended != 1:
        raise LostRace("a writer that was considered silent wrote something")
    nothing = announce(writer_id, sequence + 1, ChangeRecord())
    send(connection, [insert_record(connection, nothing)])
