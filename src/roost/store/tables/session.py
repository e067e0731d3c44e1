"""What every table of a transaction shares: the connection, the clock, the announcement."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, CursorResult, Executable, Table, case

from roost.store.change_record import Announcement
from roost.store.connection.prepared import Prepared, PreparedInsert, Values, Write, send
from roost.store.tables.id_cache import IdCache


class Session:
    """One write transaction, below its tables."""

    def __init__(self, connection: Connection, id_cache: IdCache) -> None:
        self._connection = connection
        self._writes: list[Write] = []
        self.dialect = connection.dialect
        self.id_cache = id_cache
        self.announcement = Announcement()
        self.is_mysql = self.dialect.name == "mysql"
        now = datetime.now(UTC).replace(tzinfo=None)
        # MySQL's DATETIME has no fraction, and would round half a second up, into the future.
        self.now = now.replace(microsecond=0) if self.is_mysql else now

    @property
    def connection(self) -> Connection:
        """The connection, for whoever reads, or writes at once: after all that was put off."""
        self.flush()
        return self._connection

    def execute(self, statement: Executable, parameters: Any = None) -> CursorResult[Any]:
        """Execute a statement at once, after all that was put off."""
        return self.connection.execute(statement, parameters)

    def write(
        self, statement: Prepared, values: Values, *, expected: int | None = None, reason: str = ""
    ) -> None:
        """Put a statement off until something is read, or the unit of work ends."""
        self._writes.append(statement.write(self.dialect, values, expected=expected, reason=reason))

    def insert(self, statement: PreparedInsert, rows: Sequence[Values]) -> None:
        """Put new rows off until something is read, or the unit of work ends."""
        self._writes += statement.writes(self.dialect, rows)

    def flush(self) -> None:
        """Send what was put off."""
        writes, self._writes = self._writes, []
        send(self._connection, writes)

    def key(self, uuid: str) -> str:
        """Equal for UUIDs that the database holds for equal: MySQL ignores case."""
        return uuid.lower() if self.is_mysql else uuid

    def touched(self, table: Table) -> Any:
        """A value for `updated_at` that differs from the one it replaces.

        Touching a row is how writers of different rows are made to meet on a common one. MySQL
        leaves a row alone that would keep its values, and Galera then sees no conflict; so a
        second touch within one second must still be a real write.
        """
        earlier = self.now - timedelta(seconds=1)
        return case((table.c.updated_at == self.now, earlier), else_=self.now)
