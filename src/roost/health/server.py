"""Settings of a database server that the guarantees in docs/operations/running.md depend on.

`read_settings` reads them from a server, and `judge` compares them with one table of rules for each
kind of server.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, text

from roost.health.outcome import Level, Outcome, success
from roost.store.store import Store

# By the server's own names, in lower case.
ServerSettings = Mapping[str, str]

# ---------------------------------------------------------------------------------------------
# Reading

_MYSQL_VARIABLES = (
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
# MariaDB, and MySQL before 8, use the second name.
_MYSQL_ISOLATION = ("transaction_isolation", "tx_isolation")

_POSTGRESQL_SETTINGS = (
    "fsync",
    "full_page_writes",
    "server_version",
    "synchronous_commit",
    "default_transaction_read_only",
)


def check_reachable(store: Store) -> None:
    """Raise `Unavailable` if the database cannot be reached."""
    store.read_snapshot(lambda connection: connection.execute(text("SELECT 1")).all())


def read_settings(store: Store) -> ServerSettings:
    """The settings in the sessions of roost; empty for SQLite."""
    match store.engine.dialect.name:
        case "mysql":
            found = store.read_snapshot(_read_mysql)
        case "postgresql":
            found = store.read_snapshot(_read_postgresql)
        case _:
            return {}
    return {**found, "isolation": _read_isolation(store)}


def _read_mysql(connection: Connection) -> dict[str, str]:
    variables = _quoted(_MYSQL_VARIABLES)
    status = _quoted(_MYSQL_STATUS)
    rows = [
        *connection.execute(text(f"SHOW VARIABLES WHERE Variable_name IN ({variables})")),
        *connection.execute(text(f"SHOW STATUS WHERE Variable_name IN ({status})")),
    ]
    return {name.lower(): str(value) for name, value in rows}


def _read_postgresql(connection: Connection) -> dict[str, str]:
    names = _quoted(_POSTGRESQL_SETTINGS)
    found = connection.execute(
        text(f"SELECT name, setting FROM pg_settings WHERE name IN ({names})")
    )
    is_replica = connection.scalar(text("SELECT pg_is_in_recovery()"))
    return {**dict(found.all()), "is_replica": "on" if is_replica else "off"}


def _read_isolation(store: Store) -> str:
    """The isolation level of write transactions. roost sets it, but a proxy may lose it."""
    with store.engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            found = str(connection.scalar(text("SHOW transaction_isolation")))
        else:
            names = _quoted(_MYSQL_ISOLATION)
            rows = connection.execute(text(f"SHOW VARIABLES WHERE Variable_name IN ({names})"))
            found = str(rows.all()[0][1])
        # The pool of this engine does not end transactions, see `create_engine`.
        connection.rollback()
    return found.upper().replace("-", " ")


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)


# ---------------------------------------------------------------------------------------------
# Rules


class SettingRule(NamedTuple):
    """A setting, when it is right, and what is lost otherwise."""

    setting: str
    is_right: Callable[[str], bool]
    level: Level  # of the outcome if it is wrong
    why: str


def _is(*right: str) -> Callable[[str], bool]:
    return lambda value: value.upper() in right


def _waits_for_reads(value: str) -> bool:
    # A set of flags, of which the lowest is for reads.
    return bool(int(value) & 1)


_ON = _is("ON", "1", "YES", "TRUE")
_OFF = _is("OFF", "0", "NO", "FALSE")
_READ_COMMITTED = SettingRule(
    "isolation",
    _is("READ COMMITTED"),
    Level.FAILURE,
    "roost asks for READ COMMITTED; something between it and the server does not let it",
)

POSTGRESQL = (
    SettingRule("is_replica", _OFF, Level.FAILURE, "a replica takes no writes and lags behind"),
    SettingRule("default_transaction_read_only", _OFF, Level.FAILURE, "no writes are taken"),
    SettingRule("fsync", _ON, Level.FAILURE, "a crash of the machine can destroy the database"),
    SettingRule("full_page_writes", _ON, Level.FAILURE, "a crash of the machine can destroy pages"),
    SettingRule(
        "synchronous_commit",
        lambda value: value.lower() != "off",
        Level.WARNING,
        "a crash loses writes that were acknowledged",
    ),
    _READ_COMMITTED,
)

_ANY_MYSQL = (
    SettingRule("read_only", _OFF, Level.FAILURE, "no writes are taken"),
    SettingRule(
        "innodb_flush_log_at_trx_commit",
        _is("1"),
        Level.WARNING,
        "a server that loses power loses the last second of acknowledged writes",
    ),
    _READ_COMMITTED,
)

MYSQL_WITH_BINARY_LOG = (
    *_ANY_MYSQL,
    SettingRule(
        "binlog_format",
        lambda value: value.upper() != "STATEMENT",
        Level.FAILURE,
        "with a binary log, writes at READ COMMITTED are refused",
    ),
)

GALERA = (
    SettingRule("wsrep_ready", _ON, Level.FAILURE, "this node is not part of the cluster"),
    SettingRule("wsrep_cluster_status", _is("PRIMARY"), Level.FAILURE, "this part has no majority"),
    SettingRule("binlog_format", _is("ROW"), Level.FAILURE, "Galera needs ROW"),
    SettingRule("innodb_autoinc_lock_mode", _is("2"), Level.FAILURE, "Galera needs 2"),
    SettingRule(
        "wsrep_sync_wait",
        _waits_for_reads,
        Level.FAILURE,
        "a read may not see what another node has acknowledged; remove "
        "[placement_database]mysql_wsrep_sync_wait",
    ),
    SettingRule(
        "pc.ignore_sb", _OFF, Level.FAILURE, "parts of a broken cluster both go on, and differ"
    ),
    SettingRule("pc.ignore_quorum", _OFF, Level.FAILURE, "a part without a majority goes on"),
    *_ANY_MYSQL,
)

# For a server that is configured for a cluster but does not take part in it.
_LEFT_CLUSTER = SettingRule(
    "wsrep_on",
    _ON,
    Level.FAILURE,
    "wsrep_cluster_address is set, but what is written here stays here and is lost to the cluster",
)


def judge(dialect: str, settings: ServerSettings) -> list[Outcome]:
    """The outcomes for a server with these settings: one for each wrong one, or one success."""
    settings = {**settings, **_provider_options(settings.get("wsrep_provider_options", ""))}
    title, rules = _rules(dialect, settings)
    wrong = [
        Outcome(
            name=f"{title}: {rule.setting}",
            level=rule.level,
            detail=f"{settings[rule.setting]}: {rule.why}",
        )
        for rule in rules
        # A setting that the server does not know cannot be wrong.
        if rule.setting in settings and not rule.is_right(settings[rule.setting])
    ]
    if wrong or not rules:
        return wrong
    return [success(title, f"{len(rules)} settings are as they should be")]


def _rules(dialect: str, settings: ServerSettings) -> tuple[str, Sequence[SettingRule]]:
    if dialect == "postgresql":
        return "PostgreSQL", POSTGRESQL
    if dialect != "mysql":
        return dialect, ()
    if _ON(settings.get("wsrep_on", "OFF")):
        return "Galera", GALERA
    has_address = settings.get("wsrep_cluster_address", "") not in ("", "dummy://")
    rules = MYSQL_WITH_BINARY_LOG if _ON(settings.get("log_bin", "OFF")) else _ANY_MYSQL
    if has_address:
        return "Galera", (_LEFT_CLUSTER, *rules)
    return "MariaDB" if "MariaDB" in settings.get("version", "") else "MySQL", rules


def _provider_options(text: str) -> dict[str, str]:
    """Parses `a = b; c = d`."""
    pairs = (part.partition("=") for part in text.split(";"))
    return {name.strip(): value.strip() for name, equals, value in pairs if equals}
