"""A new row in `roost_writers`, and the end of rows whose processes are gone."""

import secrets
import uuid
from datetime import datetime

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    delete,
    insert,
    literal_column,
    or_,
    select,
)

from roost.store.change_record import ChangeRecord, encode
from roost.store.connection.driver_errors import LostRace
from roost.store.connection.statements import PreparedInsert, Write, send
from roost.store.schema import roost_changes, roost_writers

# A writer that wrote nothing for so long is considered dead, and its row is removed. A mistake is
# harmless: a process that finds its row missing registers again.
IDLE_SECONDS_MAX = 24 * 60 * 60

# An id must survive JSON parsers that know only doubles.
_ID_BITS = 53

# The clock of the database, in UTC: the clocks of processes may differ.
_NOW = {
    "sqlite": "CURRENT_TIMESTAMP",
    "postgresql": "timezone('utc', now())",
    "mysql": "UTC_TIMESTAMP()",
}
_IDLE_SINCE = {
    "sqlite": f"datetime(CURRENT_TIMESTAMP, '-{IDLE_SECONDS_MAX} seconds')",
    "postgresql": f"timezone('utc', now()) - interval '{IDLE_SECONDS_MAX} seconds'",
    "mysql": f"UTC_TIMESTAMP() - INTERVAL {IDLE_SECONDS_MAX} SECOND",
}

_INSERT_RECORD = PreparedInsert(roost_changes, ["writer_id", "sequence", "record"])


def current_time(dialect: str) -> ColumnElement[datetime]:
    """The time of the database."""
    return literal_column(_NOW[dialect])


def insert_record(
    connection: Connection, writer_id: int, sequence: int, record: ChangeRecord
) -> Write:
    """The statement that adds a change record."""
    values = {"writer_id": writer_id, "sequence": sequence, "record": encode(record)}
    [write] = _INSERT_RECORD.writes(connection.dialect, [values])
    return write


def add_writer(connection: Connection) -> tuple[int, int]:
    """Add a row, and remove those of the dead; the id of the new one, and its number."""
    writer_id = secrets.randbits(_ID_BITS)
    dialect = connection.dialect.name
    idle_since: ColumnElement[datetime] = literal_column(_IDLE_SINCE[dialect])
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
            token=str(uuid.uuid4()),
            sequence=sequence,
            updated_at=current_time(dialect),
        )
    )
    if idle:
        _remove(connection, idle)
        removal = ChangeRecord(removed_writers=idle)
        send(connection, [insert_record(connection, writer_id, sequence, removal)])
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
