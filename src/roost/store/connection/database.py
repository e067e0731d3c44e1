"""The two ways into the database: transactions that write, and reads."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from oslo_db import exception as driver  # type: ignore[import-untyped]
from sqlalchemy import Connection

from roost.store.connection import pool_metrics
from roost.store.connection.driver_errors import converting_errors
from roost.store.connection.engine import (
    SNAPSHOT_BEGIN,
    WRITES,
    EngineOptions,
    create_engine,
    create_reader,
)

Result = TypeVar("Result")

# A server that was restarted leaves dead connections in the pool. The first one that is found
# empties the pool, so that the second try is on a fresh connection.
READ_ATTEMPTS = 2


class Database:
    """Connections, and how transactions begin and end on them."""

    def __init__(self, url: str, options: EngineOptions) -> None:
        self.options = options
        self.engine = create_engine(url, options)
        self.reader = create_reader(url, options)
        pool_metrics.register(self.engine, "write")
        pool_metrics.register(self.reader, "read")
        self.dialect = self.engine.dialect.name
        self.reset()

    def reset(self) -> None:
        # SQLite lets one transaction write at a time, and makes the others poll for their turn.
        # Threads of one process rather queue here.
        self._gate: contextlib.AbstractContextManager[object] = (
            threading.Lock() if self.dialect == "sqlite" else contextlib.nullcontext()
        )

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction. The caller commits; what is not committed is rolled back."""
        with self._gate, self.engine.connect() as connection:
            connection.execution_options(**{WRITES: True})
            with connection.begin():
                yield connection

    def read(self, question: Callable[[Connection], Result]) -> Result:
        """The answer to one statement: no transaction, one round trip."""
        return self._answer(question, snapshot=False)

    def read_snapshot(self, question: Callable[[Connection], Result]) -> Result:
        """The answer to several statements, all as of one moment."""
        return self._answer(question, snapshot=True)

    def _answer(self, question: Callable[[Connection], Result], *, snapshot: bool) -> Result:
        with converting_errors():
            for _ in range(READ_ATTEMPTS - 1):
                with contextlib.suppress(driver.DBConnectionError):
                    return self._ask(question, snapshot=snapshot)
            return self._ask(question, snapshot=snapshot)

    def _ask(self, question: Callable[[Connection], Result], *, snapshot: bool) -> Result:
        with self.reader.connect() as connection:
            if not snapshot:
                return question(connection)
            connection.exec_driver_sql(SNAPSHOT_BEGIN[self.dialect])
            try:
                result = question(connection)
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                # The pool resets nothing, so a connection with a transaction open must not
                # go back to it.
                connection.invalidate()
                raise
            return result

    def leave_readers(self) -> None:
        """Read through new connections from now on."""
        self.reader.dispose()

    def dispose(self, *, close: bool = True) -> None:
        self.engine.dispose(close=close)
        self.reader.dispose(close=close)
