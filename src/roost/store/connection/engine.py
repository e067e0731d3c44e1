"""Engines: how each kind of database is opened, and what its sessions are told.

A store has two engines. Writes run at READ COMMITTED, where every statement sees what is
committed when it starts: a generation read before a usage is never newer than that usage, on
every database alike. Reads run in autocommit mode, one round trip each, and open a snapshot
explicitly where several statements must agree.
"""

import sqlite3
from collections.abc import Mapping
from typing import Any

import sqlalchemy
from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from roost.model import Value
from roost.store.connection import driver_errors, prepared

DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
    "mariadb+pymysql": "mysql+pymysql",
}

# Which extra of the distribution brings the driver.
EXTRAS = {"postgresql": "postgresql", "mysql": "mysql"}

# How long a writer of another process may hold the SQLite file.
SQLITE_BUSY_SECONDS = 30

# Connections for reads that the change feed keeps to itself, beyond those of the pool.
KEPT_CONNECTIONS = 2

# The execution option that marks a transaction which is going to write.
WRITES = "roost_writes"

# How a snapshot for several reads begins on an autocommit connection.
SNAPSHOT_BEGIN = {
    "sqlite": "BEGIN",
    "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "mysql": "START TRANSACTION WITH CONSISTENT SNAPSHOT",
}


class InvalidDatabaseUrl(ValueError):
    """No connection can be made with this URL, whatever the state of the server."""


class EngineOptions(Value, frozen=True, kw_only=True):
    """What can be set, under the names of oslo.db's options."""

    max_pool_size: int | None = 5  # 0 means no limit
    max_overflow: int | None = 50
    pool_timeout: int | None = None  # seconds; None: the pool's own default
    connection_recycle_time: int = 3600  # seconds
    connection_parameters: str = ""  # added to the URL: "a=b&c=d"
    mysql_sql_mode: str = "TRADITIONAL"
    # None: wait for the cluster's earlier writes before reading where the server is a member of
    # a Galera cluster; else the value of wsrep_sync_wait.
    mysql_wsrep_sync_wait: int | None = None
    sqlite_synchronous: bool = True


def create_engine(url: str | URL, options: EngineOptions = EngineOptions()) -> Engine:  # noqa: B008 - frozen
    """The engine for transactions, which write."""
    url = normalised(url, options.connection_parameters)
    if url.get_backend_name() == "sqlite":
        engine = _sqlite(url, options)
        event.listen(engine, "begin", _begin_sqlite)
        prepared.register(engine)
        return engine
    # `Database.write` ends every transaction before it gives the connection back, so that
    # another ROLLBACK would waste a round trip.
    engine = _server(url, options, isolation_level="READ COMMITTED", pool_reset_on_return=None)
    prepared.register(engine)
    return engine


def create_reader(url: str | URL, options: EngineOptions = EngineOptions()) -> Engine:  # noqa: B008 - frozen
    """The engine for reads: every statement by itself, unless a snapshot is begun."""
    url = normalised(url, options.connection_parameters)
    if url.get_backend_name() == "sqlite":
        return _sqlite(url, options, kept=KEPT_CONNECTIONS)
    # A returned connection has no transaction open, so ROLLBACK would waste a round trip.
    return _server(
        url,
        options,
        isolation_level="AUTOCOMMIT",
        kept=KEPT_CONNECTIONS,
        pool_reset_on_return=None,
        skip_autocommit_rollback=True,
    )


def normalised(url: str | URL, connection_parameters: str = "") -> URL:
    """The URL with the driver that roost uses."""
    try:
        url = make_url(url)
        url = url.set(drivername=DRIVERS.get(url.drivername, url.drivername))
        if connection_parameters:
            url = url.update_query_string(connection_parameters)
        url.get_dialect().import_dbapi()
    except ArgumentError as error:
        raise InvalidDatabaseUrl(str(error)) from error
    except ImportError as error:
        extra = EXTRAS.get(url.get_backend_name()) if isinstance(url, URL) else None
        advice = f": pip install 'roost[{extra}]'" if extra else ""
        raise InvalidDatabaseUrl(f"its driver is not installed ({error}){advice}") from error
    if url.get_backend_name() not in SNAPSHOT_BEGIN:
        raise InvalidDatabaseUrl(f"roost knows no database {url.get_backend_name()}")
    return url


def _server(
    url: URL, options: EngineOptions, *, isolation_level: str, kept: int = 0, **arguments: Any
) -> Engine:
    if url.get_backend_name() == "mysql":
        arguments["connect_args"] = _mysql_arguments(url, options)
    engine = sqlalchemy.create_engine(
        url,
        isolation_level=isolation_level,
        pool_recycle=options.connection_recycle_time,
        **_pool(options, kept),
        **arguments,
    )
    if url.get_backend_name() == "mysql":
        event.listen(engine, "connect", _MysqlSession(options, isolation_level))
    driver_errors.register(engine)
    return engine


def _pool(options: EngineOptions, kept: int = 0) -> dict[str, Any]:
    settings = {
        # 0 stays: no limit.
        "pool_size": options.max_pool_size and options.max_pool_size + kept,
        "max_overflow": options.max_overflow,
        "pool_timeout": options.pool_timeout,
    }
    return {name: value for name, value in settings.items() if value is not None}


# ---------------------------------------------------------------------------------------------
# MySQL and MariaDB


def _mysql_arguments(url: URL, options: EngineOptions) -> Mapping[str, Any]:
    # Standard resource classes start at id 0, which would otherwise mean "the next one".
    mode = ",".join(filter(None, [options.mysql_sql_mode, "NO_AUTO_VALUE_ON_ZERO"]))
    arguments: dict[str, Any] = {"sql_mode": mode}
    if url.get_driver_name() == "pymysql":
        # Only there with the extra.
        from pymysql.constants import CLIENT  # type: ignore[import-untyped]

        # Count the rows that were found, not only those that changed; take several statements
        # at once.
        arguments["client_flag"] = CLIENT.FOUND_ROWS | CLIENT.MULTI_STATEMENTS
    if "charset" not in url.query:
        arguments["charset"] = "utf8mb4"
    return arguments


class _MysqlSession:
    """What each new session is told."""

    def __init__(self, options: EngineOptions, isolation_level: str) -> None:
        # A snapshot, which readers begin explicitly, is one only at REPEATABLE READ.
        self._level = "REPEATABLE READ" if isolation_level == "AUTOCOMMIT" else isolation_level
        self._sync_wait = options.mysql_wsrep_sync_wait
        self._known = self._sync_wait is not None

    def __call__(self, connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            if not self._known:
                cursor.execute("SHOW VARIABLES LIKE 'wsrep_on'")
                row = cursor.fetchone()
                # A read on one node must see what another node has acknowledged.
                self._sync_wait = 1 if row is not None and row[1] == "ON" else None
                self._known = True
            if self._sync_wait is not None:
                cursor.execute("SET SESSION wsrep_sync_wait = %s", [self._sync_wait])
            # Said here too, since this comes after what the engine says itself.
            cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {self._level}")


# ---------------------------------------------------------------------------------------------
# SQLite


def _sqlite(url: URL, options: EngineOptions, kept: int = 0) -> Engine:
    if url.database in (None, "", ":memory:"):
        raise InvalidDatabaseUrl("roost needs a SQLite file: sqlite:////path/to/roost.db")
    engine = sqlalchemy.create_engine(
        url,
        poolclass=sqlalchemy.QueuePool,
        **_pool(options, kept),
        # No implicit BEGIN: Python's would come late, and turn a reader into a writer.
        connect_args={
            "isolation_level": None,
            "timeout": SQLITE_BUSY_SECONDS,
            "check_same_thread": False,
        },
    )
    # With a write-ahead log NORMAL survives a crash of the process; only FULL survives a power
    # failure with nothing lost that was acknowledged.
    synchronous = "FULL" if options.sqlite_synchronous else "OFF"

    def configure(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA synchronous = {synchronous}")

    event.listen(engine, "connect", configure)
    driver_errors.register(engine)
    return engine


def _begin_sqlite(connection: Connection) -> None:
    # A write transaction takes the lock at once. One that first read and then wanted to write
    # could not wait for another writer: its snapshot would be stale.
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
