"""What a database server is set to, as far as roost's promises depend on it."""

from collections.abc import Mapping

from sqlalchemy import Connection, text

from roost.store.store import Store

_MYSQL_NAMES = (
    "binlog_format",
    "innodb_autoinc_lock_mode",
    "innodb_flush_log_at_trx_commit",
    "log_bin",
    "read_only",
    "version",
    "wsrep_cluster_address",
    "wsrep_on",
    "wsrep_provider_options",
    "wsrep_sync_wait",
)
_MYSQL_STATUS = ("wsrep_cluster_size", "wsrep_cluster_status", "wsrep_ready")
# The older name is MariaDB's, and MySQL's before 8.
_MYSQL_ISOLATION = ("transaction_isolation", "tx_isolation")

_POSTGRESQL_NAMES = (
    "fsync",
    "full_page_writes",
    "server_version",
    "synchronous_commit",
    "default_transaction_read_only",
)


def is_there(store: Store) -> None:
    """Raises `Unavailable` where the database cannot be reached."""
    store.look(lambda connection: connection.execute(text("SELECT 1")).all())


def server_settings(store: Store) -> Mapping[str, str]:
    """By the server's own names, as roost's sessions have them; empty for SQLite."""
    match store.engine.dialect.name:
        case "mysql":
            found = store.look(_mysql)
        case "postgresql":
            found = store.look(_postgresql)
        case _:
            return {}
    return {**found, "isolation": _isolation(store)}


def _mysql(connection: Connection) -> dict[str, str]:
    variables = _names(_MYSQL_NAMES)
    status = _names(_MYSQL_STATUS)
    rows = [
        *connection.execute(text(f"SHOW VARIABLES WHERE Variable_name IN ({variables})")),
        *connection.execute(text(f"SHOW STATUS WHERE Variable_name IN ({status})")),
    ]
    return {name.lower(): str(value) for name, value in rows}


def _postgresql(connection: Connection) -> dict[str, str]:
    found = connection.execute(
        text(f"SELECT name, setting FROM pg_settings WHERE name IN ({_names(_POSTGRESQL_NAMES)})")
    )
    is_replica = connection.scalar(text("SELECT pg_is_in_recovery()"))
    return {**dict(found.all()), "is_replica": "on" if is_replica else "off"}


def _isolation(store: Store) -> str:
    """Of the sessions that write. Roost asks for it itself; a proxy may forget it."""
    with store.engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            found = str(connection.scalar(text("SHOW transaction_isolation")))
        else:
            names = _names(_MYSQL_ISOLATION)
            rows = connection.execute(text(f"SHOW VARIABLES WHERE Variable_name IN ({names})"))
            found = str(rows.all()[0][1])
        # The engine's pool does not end transactions, see `create_engine`.
        connection.rollback()
    return found.upper().replace("-", " ")


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)
