"""What the tables of one write transaction share: connection, clock, cached ids, change record."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, CursorResult, Executable, Table, case

from roost.store.change_record import ChangeRecordBuilder
from roost.store.connection.database import LateTransaction
from roost.store.connection.statements import Prepared, PreparedInsert, Values, Write, send

# Far more names than a process meets in a while, and still little memory.
CACHED_IDS_MAX = 20_000


def current_time(dialect: str) -> datetime:
    """The time of a write, as the tables hold it."""
    now = datetime.now(UTC).replace(tzinfo=None)
    # MySQL's DATETIME has no fraction, and would round half a second up, into the future.
    return now.replace(microsecond=0) if dialect == "mysql" else now


class IdCache:
    """Ids of projects, users, consumer types and aggregates, by kind and name.

    These rows are never removed or renamed, so a process may remember their ids. A caller may
    only put in what it read as committed. The ids are valid as long as the database is the same
    one: `Store` begins an empty cache whenever the process registers as a new writer, as it does
    after a backup was restored.
    """

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], int] = {}
        # Of names that are stored in a spelling of their own.
        self._stored: dict[tuple[str, str], tuple[int, str]] = {}

    def get(self, kind: str, name: str) -> int | None:
        return self._ids.get((kind, name))

    def put(self, kind: str, name: str, id: int) -> None:
        if len(self._ids) >= CACHED_IDS_MAX:
            self._ids.clear()
        self._ids[kind, name] = id

    def get_stored(self, kind: str, name: str) -> tuple[int, str] | None:
        """The id of a name, and how it is stored."""
        return self._stored.get((kind, name))

    def put_stored(self, kind: str, name: str, id: int, stored: str) -> None:
        if len(self._stored) >= CACHED_IDS_MAX:
            self._stored.clear()
        self._stored[kind, name] = id, stored


class Session:
    """One write transaction, below its tables."""

    def __init__(self, late: LateTransaction, id_cache: IdCache, *, ignores_case: bool) -> None:
        self._late = late
        self._deferred: list[Write] = []
        self.dialect = late.dialect
        self.id_cache = id_cache
        self.changes = ChangeRecordBuilder()
        self.is_mysql = self.dialect.name == "mysql"
        self.ignores_case = ignores_case
        self.now = current_time(self.dialect.name)

    @property
    def now_seconds(self) -> float:
        """The time of the write, as the index has it when it reads the tables."""
        return self.now.replace(tzinfo=UTC).timestamp()

    @property
    def connection(self) -> Connection:
        """The connection, for a read or an immediate write. Deferred writes are sent first."""
        self.flush()
        return self._late.connection

    def execute(self, statement: Executable, parameters: Any = None) -> CursorResult[Any]:
        """Execute a statement at once, after the deferred writes."""
        return self.connection.execute(statement, parameters)

    def write(
        self, statement: Prepared, values: Values, *, expected: int | None = None, reason: str = ""
    ) -> None:
        """Defer a statement until the transaction reads something or ends."""
        self._deferred.append(
            statement.write(self.dialect, values, expected=expected, reason=reason)
        )

    def insert(self, statement: PreparedInsert, rows: Sequence[Values]) -> None:
        """Defer an INSERT of these rows until the transaction reads something or ends."""
        self.defer(statement.writes(self.dialect, rows))

    def defer(self, writes: Iterable[Write]) -> None:
        """Defer these statements until the transaction reads something or ends."""
        self._deferred += writes

    def flush(self) -> None:
        """Send the deferred writes."""
        writes, self._deferred = self._deferred, []
        if writes:
            send(self._late.connection, writes)

    @property
    def deferred(self) -> Sequence[Write]:
        """The writes that were not sent yet."""
        return self._deferred

    def key(self, uuid: str) -> str:
        """The same for all UUIDs that the database considers equal."""
        return uuid.lower() if self.ignores_case else uuid

    def touched(self, table: Table) -> Any:
        """A value for `updated_at` that differs from the one it replaces.

        Transactions that write different rows touch a common one so that they conflict. MySQL
        does not write a row that would keep its values, and Galera then sees no conflict. So the
        second touch within one second must still be a real write.
        """
        earlier = self.now - timedelta(seconds=1)
        return case((table.c.updated_at == self.now, earlier), else_=self.now)
