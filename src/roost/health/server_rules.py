"""What the promises of docs/operations.md need of a database server.

One table for each kind of server: a setting, what it must be, and what is lost otherwise.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from roost.health.outcome import Level, Outcome, success

Settings = Mapping[str, str]


class Rule(NamedTuple):
    """One setting that matters."""

    setting: str
    is_right: Callable[[str], bool]
    level: Level  # if it is not
    why: str


def _is(*right: str) -> Callable[[str], bool]:
    return lambda value: value.upper() in right


def _waits_for_reads(value: str) -> bool:
    # A set of flags, of which the first is for reads.
    return bool(int(value) & 1)


_ON = _is("ON", "1", "YES", "TRUE")
_OFF = _is("OFF", "0", "NO", "FALSE")
_READ_COMMITTED = Rule(
    "isolation",
    _is("READ COMMITTED"),
    Level.FAILURE,
    "roost asks for READ COMMITTED; something between it and the server does not let it",
)

POSTGRESQL = (
    Rule("is_replica", _OFF, Level.FAILURE, "a replica takes no writes and lags behind"),
    Rule("default_transaction_read_only", _OFF, Level.FAILURE, "no writes are taken"),
    Rule("fsync", _ON, Level.FAILURE, "a crash of the machine can destroy the database"),
    Rule("full_page_writes", _ON, Level.FAILURE, "a crash of the machine can destroy pages"),
    Rule(
        "synchronous_commit",
        lambda value: value.lower() != "off",
        Level.WARNING,
        "a crash loses writes that were acknowledged",
    ),
    _READ_COMMITTED,
)

_ANY_MYSQL = (
    Rule("read_only", _OFF, Level.FAILURE, "no writes are taken"),
    Rule(
        "innodb_flush_log_at_trx_commit",
        _is("1"),
        Level.WARNING,
        "a server that loses power loses the last second of acknowledged writes",
    ),
    _READ_COMMITTED,
)

MYSQL = (
    *_ANY_MYSQL,
    Rule(
        "binlog_format",
        lambda value: value.upper() != "STATEMENT",
        Level.FAILURE,
        "with a binary log, writes at READ COMMITTED are refused",
    ),
)

GALERA = (
    Rule("wsrep_ready", _ON, Level.FAILURE, "this node is not part of the cluster"),
    Rule("wsrep_cluster_status", _is("PRIMARY"), Level.FAILURE, "this part has no majority"),
    Rule("binlog_format", _is("ROW"), Level.FAILURE, "Galera needs ROW"),
    Rule("innodb_autoinc_lock_mode", _is("2"), Level.FAILURE, "Galera needs 2"),
    Rule(
        "wsrep_sync_wait",
        _waits_for_reads,
        Level.FAILURE,
        "a read may not see what another node has acknowledged; remove "
        "[placement_database]mysql_wsrep_sync_wait",
    ),
    Rule("pc.ignore_sb", _OFF, Level.FAILURE, "parts of a broken cluster both go on, and differ"),
    Rule("pc.ignore_quorum", _OFF, Level.FAILURE, "a part without a majority goes on"),
    *_ANY_MYSQL,
)

# Set for a cluster, but not taking part in it.
_LEFT_CLUSTER = Rule(
    "wsrep_on",
    _ON,
    Level.FAILURE,
    "wsrep_cluster_address is set, but what is written here stays here and is lost to the cluster",
)


def judge(dialect: str, settings: Settings) -> list[Outcome]:
    """What is to be said of a server with these settings."""
    settings = {**settings, **_provider_options(settings.get("wsrep_provider_options", ""))}
    title, rules = _rules(dialect, settings)
    wrong = [
        Outcome(
            name=f"{title}: {rule.setting}",
            level=rule.level,
            detail=f"{settings[rule.setting]}: {rule.why}",
        )
        for rule in rules
        # What a server does not know cannot be set wrong.
        if rule.setting in settings and not rule.is_right(settings[rule.setting])
    ]
    if wrong or not rules:
        return wrong
    return [success(title, f"{len(rules)} settings are as they should be")]


def _rules(dialect: str, settings: Settings) -> tuple[str, Sequence[Rule]]:
    if dialect == "postgresql":
        return "PostgreSQL", POSTGRESQL
    if dialect != "mysql":
        return dialect, ()
    if _ON(settings.get("wsrep_on", "OFF")):
        return "Galera", GALERA
    has_address = settings.get("wsrep_cluster_address", "") not in ("", "dummy://")
    rules = MYSQL if _ON(settings.get("log_bin", "OFF")) else _ANY_MYSQL
    if has_address:
        return "Galera", (_LEFT_CLUSTER, *rules)
    return "MariaDB" if "MariaDB" in settings.get("version", "") else "MySQL", rules


def _provider_options(text: str) -> dict[str, str]:
    """`a = b; c = d` as pairs."""
    pairs = (part.partition("=") for part in text.split(";"))
    return {name.strip(): value.strip() for name, equals, value in pairs if equals}
