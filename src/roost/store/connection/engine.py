"""Engines: how each kind of database is opened, and how its sessions are configured.

A store has two engines. Writes run at READ COMMITTED, where every statement sees what was
committed when the statement started: on every database, a generation that was read before a
usage is never newer than that usage. Reads run in autocommit mode, one round trip each, and
begin a snapshot explicitly where several statements must agree.
"""

import contextlib
import sqlite3
from collections.abc import Mapping
from typing import Any

import sqlalchemy
from oslo_db import exception as driver  # type: ignore[import-untyped]
from sqlalchemy import Connection, Engine, Executable, event
from sqlalchemy.engine import URL

from roost.model import Value
from roost.store.connection import driver_errors, statements
from roost.store.connection.database_url import DatabaseUrl, read_url
from roost.store.connection.url_parameters import NO_SQLITE_FILE, InvalidDatabaseUrl

# How long a connection waits for a writer of another process to release the SQLite file.
SQLITE_BUSY_SECONDS = 30

# Connections for reads that the change feed holds permanently. They enlarge the pool.
FEED_CONNECTIONS = 2

# The connection for writes that claims of new consumers have permanently.
CLAIM_CONNECTIONS = 1

# More than any consumer may hold, see `api/schemas/bounds.py`.
JOINED_TEXT_BYTES_MAX = 64 * 1024 * 1024

# The execution option that marks a write transaction.
WRITES = "roost_writes"

# The execution option of a SQLite connection whose statements are in no transaction.
_OUTSIDE = "roost_outside_transactions"

# The statement that begins a snapshot on an autocommit connection.
SNAPSHOT_BEGIN = {
    "sqlite": "BEGIN",
    "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "mysql": "START TRANSACTION WITH CONSISTENT SNAPSHOT",
}


class EngineOptions(Value, frozen=True, kw_only=True):
    """The options of a connection, by the names that oslo.db gives them."""

    max_pool_size: int | None = 5  # 0 means no limit
    max_overflow: int | None = 50
    pool_timeout: int | None = None  # seconds; None: SQLAlchemy's default
    connection_recycle_time: int = 3600  # seconds
    connection_parameters: str = ""  # added to the URL: "a=b&c=d"
    mysql_sql_mode: str = "TRADITIONAL"
    # The value of wsrep_sync_wait. None: on a member of a Galera cluster, reads wait for the
    # earlier writes of the cluster.
    mysql_wsrep_sync_wait: int | None = None
    sqlite_synchronous: bool = True


def create_engine(url: str | URL, options: EngineOptions = EngineOptions()) -> Engine:  # noqa: B008 - frozen
    """The engine for write transactions."""
    target = read_url(url, options.connection_parameters)
    if target.url.get_backend_name() == "sqlite":
        engine = _sqlite(target, options)
        event.listen(engine, "begin", _begin_sqlite)
        statements.register(engine)
        return engine
    # `Database.write` ends every transaction before it returns the connection to the pool, so a
    # ROLLBACK by the pool would waste a round trip.
    engine = _server(
        target,
        options,
        isolation_level="READ COMMITTED",
        pool_extra=CLAIM_CONNECTIONS,
        pool_reset_on_return=None,
        # The connection for claims has no transactions that the driver knows of.
        skip_autocommit_rollback=True,
    )
    statements.register(engine)
    return engine


def create_reader(url: str | URL, options: EngineOptions = EngineOptions()) -> Engine:  # noqa: B008 - frozen
    """The engine for reads: each statement on its own, except between the ends of a snapshot."""
    target = read_url(url, options.connection_parameters)
    if target.url.get_backend_name() == "sqlite":
        return _sqlite(target, options, pool_extra=FEED_CONNECTIONS)
    # A returned connection has no open transaction, so a ROLLBACK would waste a round trip.
    return _server(
        target,
        options,
        isolation_level="AUTOCOMMIT",
        pool_extra=FEED_CONNECTIONS,
        pool_reset_on_return=None,
        skip_autocommit_rollback=True,
    )


def _server(
    target: DatabaseUrl,
    options: EngineOptions,
    *,
    isolation_level: str,
    pool_extra: int = 0,
    **arguments: Any,
) -> Engine:
    is_mysql = target.url.get_backend_name() == "mysql"
    own: Mapping[str, Any] = {}
    if is_mysql:
        own = _mysql_arguments(options)
    elif "client_encoding" not in target.url.query:
        # Otherwise that of the database, in which psycopg may not find the texts of a request.
        own = {"client_encoding": "utf8"}
    engine = sqlalchemy.create_engine(
        target.url,
        connect_args={**target.arguments, **own},
        isolation_level=isolation_level,
        pool_recycle=options.connection_recycle_time,
        **_pool(options, pool_extra),
        **arguments,
    )
    if is_mysql:
        event.listen(engine, "connect", _MysqlSession(options, isolation_level))
    driver_errors.register(engine)
    return engine


def _pool(options: EngineOptions, extra: int) -> dict[str, Any]:
    settings = {
        # 0 means no limit, and must stay 0.
        "pool_size": options.max_pool_size and options.max_pool_size + extra,
        "max_overflow": options.max_overflow,
        "pool_timeout": options.pool_timeout,
    }
    return {name: value for name, value in settings.items() if value is not None}


# ---------------------------------------------------------------------------------------------
# MySQL and MariaDB


def _mysql_arguments(options: EngineOptions) -> Mapping[str, Any]:
    # PyMySQL is an optional dependency.
    from pymysql.constants import CLIENT  # type: ignore[import-untyped]

    # The ids of standard resource classes start at 0, which would otherwise mean "the next id".
    mode = ",".join(filter(None, [options.mysql_sql_mode, "NO_AUTO_VALUE_ON_ZERO"]))
    # A row count includes rows that matched and kept their values. Batches are several statements
    # in one text.
    return {"sql_mode": mode, "client_flag": CLIENT.FOUND_ROWS | CLIENT.MULTI_STATEMENTS}


class _MysqlSession:
    """Configures each new session."""

    def __init__(self, options: EngineOptions, isolation_level: str) -> None:
        # What a reader begins explicitly is a snapshot only at REPEATABLE READ.
        self._level = "REPEATABLE READ" if isolation_level == "AUTOCOMMIT" else isolation_level
        self._sync_wait = options.mysql_wsrep_sync_wait
        self._known = self._sync_wait is not None

    def __call__(self, connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            if not self._known:
                cursor.execute("SHOW VARIABLES LIKE 'wsrep_on'")
                row = cursor.fetchone()
                # A read on one node must see every write that another node acknowledged.
                self._sync_wait = 1 if row is not None and row[1] == "ON" else None
                self._known = True
            if self._sync_wait is not None:
                cursor.execute("SET SESSION wsrep_sync_wait = %s", [self._sync_wait])
            # The texts into which it joins what a consumer holds: MySQL would cut them off.
            cursor.execute(f"SET SESSION group_concat_max_len = {JOINED_TEXT_BYTES_MAX}")
            # Set here too, because this listener runs after the one of SQLAlchemy.
            cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {self._level}")


# ---------------------------------------------------------------------------------------------
# SQLite


def _sqlite(target: DatabaseUrl, options: EngineOptions, pool_extra: int = 0) -> Engine:
    if target.url.database in (None, "", ":memory:"):
        raise InvalidDatabaseUrl(NO_SQLITE_FILE)
    engine = sqlalchemy.create_engine(
        target.url,
        poolclass=sqlalchemy.QueuePool,
        **_pool(options, pool_extra),
        # No implicit BEGIN: Python's would come after the first read, and a reader that becomes a
        # writer cannot wait for its turn.
        connect_args={
            "isolation_level": None,
            "timeout": SQLITE_BUSY_SECONDS,
            "check_same_thread": False,
            **target.arguments,
        },
    )
    # With a write-ahead log, NORMAL survives a crash of the process. Only FULL keeps every
    # acknowledged write through a power failure.
    synchronous = "FULL" if options.sqlite_synchronous else "OFF"

    def configure(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA synchronous = {synchronous}")

    event.listen(engine, "connect", configure)
    driver_errors.register(engine)
    return engine


def use_write_ahead_log(engine: Engine) -> None:
    """Give a SQLite file the write-ahead log, with which readers do not wait for a writer.

    The file keeps it. So it is not for each connection to do: commands that only read leave the
    file of a Placement as it is.
    """
    if engine.dialect.name == "sqlite":
        with driver_errors.CONVERTING_ERRORS, engine.connect() as connection:
            connection.execution_options(**{_OUTSIDE: True})
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")


def execute_at_once(connection: Connection, statement: Executable) -> None:
    """Execute a write that changes nothing on SQLite; do not wait for those of others.

    If another one is writing just now, this one is left out: the file can be written.
    """
    connection.execution_options(**{_OUTSIDE: True})
    patience = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
    connection.exec_driver_sql("PRAGMA busy_timeout = 0")
    with contextlib.suppress(driver.DBDeadlock):
        connection.execute(statement)
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {patience}")


def _begin_sqlite(connection: Connection) -> None:
    if connection.get_execution_options().get(_OUTSIDE, False):
        return
    # A write transaction locks the file at once. If it read first, it could not wait for another
    # writer afterwards, because its snapshot would be stale.
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
