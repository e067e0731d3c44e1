"""The two ways into the database: write transactions and reads."""

import contextlib
import logging
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TypeVar

from oslo_db import exception as driver  # type: ignore[import-untyped]
from sqlalchemy import Connection, Dialect, Engine, Executable, QueuePool, event
from sqlalchemy import exc as sql

from roost.observe import metrics
from roost.store.connection.driver_errors import CONVERTING_ERRORS
from roost.store.connection.engine import (
    SNAPSHOT_BEGIN,
    WRITES,
    EngineOptions,
    create_engine,
    create_reader,
    execute_at_once,
)

LOG = logging.getLogger(__name__)

Result = TypeVar("Result")

# A server that was restarted leaves dead connections in the pool. The first one that is found
# empties the pool, so the second attempt gets a fresh connection.
READ_ATTEMPTS = 2


class NestedWrite(RuntimeError):
    """A thread inside a write transaction began another one.

    On SQLite the thread would wait for itself forever. On a server it may do so too, for a row
    that its outer transaction has locked. So this is an error of the program on every database.
    """


class LateTransaction:
    """A write transaction that begins when its connection is first used, and ends with its block.

    The caller commits; anything uncommitted is rolled back.
    """

    def __init__(self, database: "Database") -> None:
        self.dialect: Dialect = database.engine.dialect
        self._database = database
        self._connection: Connection | None = None
        self._open: contextlib.ExitStack | None = None

    def __enter__(self) -> Self:
        self._database.begin_writing()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._open is not None:
                self._open.__exit__(kind, error, traceback)
        finally:
            self._database.end_writing()

    @property
    def has_begun(self) -> bool:
        return self._connection is not None

    def begin(self) -> Connection:
        if self._connection is None:
            if self._open is None:
                self._open = contextlib.ExitStack()
            self._connection = self._database.enter_transaction(self._open)
        return self._connection

    @property
    def connection(self) -> Connection:
        return self.begin()


class Database:
    """The connections to one database, and how transactions begin and end on them."""

    def __init__(self, url: str, options: EngineOptions) -> None:
        self.options = options
        self.engine = create_engine(url, options)
        self.reader = create_reader(url, options)
        _count_connections(self.engine, "write")
        _count_connections(self.reader, "read")
        self.dialect = self.engine.dialect.name
        self.reset()

    def reset(self) -> None:
        """Forget which threads write: those of the parent are not in a forked process."""
        # SQLite lets one transaction write at a time and makes the others poll for their turn.
        # The threads of one process queue here instead.
        self._gate: contextlib.AbstractContextManager[object] = (
            threading.Lock() if self.dialect == "sqlite" else contextlib.nullcontext()
        )
        self._thread = threading.local()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction. The caller commits; anything uncommitted is rolled back.

        Raises `NestedWrite` if this thread is inside a write transaction already.
        """
        with self.write_late() as late:
            yield late.connection

    def write_late(self) -> contextlib.AbstractContextManager[LateTransaction]:
        """Like `write`, for a caller who may not need the transaction after all."""
        return LateTransaction(self)

    def begin_writing(self) -> None:
        """This thread writes from now on. Raises `NestedWrite`."""
        self.check_may_write()
        self._thread.is_writing = True

    def end_writing(self) -> None:
        self._thread.is_writing = False

    def enter_transaction(self, stack: contextlib.ExitStack) -> Connection:
        """A connection in a write transaction, which ends with the stack."""
        stack.enter_context(self._gate)
        return stack.enter_context(self._begin())

    def check_may_write(self) -> None:
        """Raise `NestedWrite` if this thread is inside a write transaction."""
        if getattr(self._thread, "is_writing", False):
            raise NestedWrite("this thread is inside a write transaction already")

    @contextmanager
    def write_after_lost_commit(self) -> Iterator[Connection]:
        """A write transaction inside one whose connection was lost during COMMIT.

        Not for SQLite, which has no connection to lose.
        """
        with self._begin() as connection:
            yield connection

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        with connect(self.engine) as connection:
            connection.execution_options(**{WRITES: True})
            with connection.begin():
                yield connection

    def read(self, query: Callable[[Connection], Result]) -> Result:
        """The result of one statement: no transaction, one round trip."""
        return self._read(query, snapshot=False)

    def read_snapshot(self, query: Callable[[Connection], Result]) -> Result:
        """The result of several statements that all see one snapshot."""
        return self._read(query, snapshot=True)

    def _read(self, query: Callable[[Connection], Result], *, snapshot: bool) -> Result:
        with CONVERTING_ERRORS:
            for _ in range(READ_ATTEMPTS - 1):
                with contextlib.suppress(driver.DBConnectionError):
                    return self._read_once(query, snapshot=snapshot)
            return self._read_once(query, snapshot=snapshot)

    def _read_once(self, query: Callable[[Connection], Result], *, snapshot: bool) -> Result:
        with connect(self.reader) as connection:
            if not snapshot:
                return query(connection)
            connection.exec_driver_sql(SNAPSHOT_BEGIN[self.dialect])
            try:
                result = query(connection)
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                # The pool resets nothing, so a connection with an open transaction must not
                # return to it.
                connection.invalidate()
                raise
            return result

    def check_writes(self, statement: Executable) -> None:
        """Raise `Unavailable` if the database refuses writes.

        `statement` is a write that changes no row. Nothing is committed, and no lock is waited for.
        """
        with CONVERTING_ERRORS:
            for _ in range(READ_ATTEMPTS - 1):
                with contextlib.suppress(driver.DBConnectionError):
                    return self._check_writes_once(statement)
            return self._check_writes_once(statement)

    def _check_writes_once(self, statement: Executable) -> None:
        with connect(self.engine) as connection:
            if self.dialect == "sqlite":
                execute_at_once(connection, statement)
                return
            with connection.begin() as transaction:
                connection.execute(statement)
                transaction.rollback()

    def renew_readers(self) -> None:
        """Read through new connections from now on."""
        self.reader.dispose()

    def dispose(self, *, close: bool = True) -> None:
        self.engine.dispose(close=close)
        self.reader.dispose(close=close)


def _count_connections(engine: Engine, pool_name: str) -> None:
    """Keep the metrics of an engine's pool: the connections in use, and how many there may be."""
    used = metrics.CONNECTIONS_USED.labels(pool_name)
    metrics.CONNECTIONS_MAX.labels(pool_name).set(_connections_max(engine))

    # Each checkout is followed by one checkin, even where the connection broke.
    def checked_out(*_: object) -> None:
        used.inc()

    def checked_in(*_: object) -> None:
        used.dec()

    event.listen(engine, "checkout", checked_out)
    event.listen(engine, "checkin", checked_in)


def _connections_max(engine: Engine) -> float:
    pool = engine.pool
    assert isinstance(pool, QueuePool)
    # 0 and -1 mean no limit.
    if pool.size() == 0 or pool._max_overflow < 0:
        return math.inf
    return pool.size() + pool._max_overflow


def connect(engine: Engine) -> Connection:
    """A connection. Whatever the driver says while it is made, the database cannot be reached.

    Some of that has another form than errors of statements, and some no form of its own.
    """
    try:
        return engine.connect()
    except (driver.DBConnectionError, driver.DBNonExistentDatabase, sql.TimeoutError):
        raise
    except Exception as error:
        # That of a socket, of a message that was cut short: no request is to blame for it.
        LOG.warning("no connection to the database could be made: %r", error)
        raise driver.DBConnectionError(error) from error
