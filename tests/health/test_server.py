"""Every server setting that breaks a guarantee of docs/operations/running.md is reported."""

from collections.abc import Mapping

import pytest

from roost.health.outcome import Level
from roost.health.server import judge

POSTGRESQL = {
    "is_replica": "off",
    "default_transaction_read_only": "off",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "isolation": "READ COMMITTED",
}
MARIADB = {
    "version": "11.8.1-MariaDB",
    "read_only": "OFF",
    "log_bin": "ON",
    "binlog_format": "MIXED",
    "innodb_flush_log_at_trx_commit": "1",
    "innodb_autoinc_lock_mode": "1",
    "isolation": "READ COMMITTED",
    "wsrep_on": "OFF",
    "wsrep_cluster_address": "",
}
GALERA = {
    **MARIADB,
    "binlog_format": "ROW",
    "innodb_autoinc_lock_mode": "2",
    "wsrep_on": "ON",
    "wsrep_cluster_address": "gcomm://a,b,c",
    "wsrep_sync_wait": "1",
    "wsrep_ready": "ON",
    "wsrep_cluster_status": "Primary",
    "wsrep_provider_options": "gcache.size = 64M; pc.ignore_quorum = false; pc.ignore_sb = no;",
}


@pytest.mark.parametrize(
    ("dialect", "settings", "title"),
    [
        ("postgresql", POSTGRESQL, "PostgreSQL"),
        ("mysql", MARIADB, "MariaDB"),
        ("mysql", {**MARIADB, "version": "8.4.0"}, "MySQL"),
        ("mysql", {**MARIADB, "log_bin": "OFF", "binlog_format": "STATEMENT"}, "MariaDB"),
        ("mysql", GALERA, "Galera"),
        ("mysql", {**GALERA, "wsrep_sync_wait": "7"}, "Galera"),
    ],
)
def test_good_settings_are_accepted(dialect: str, settings: Mapping[str, str], title: str) -> None:
    [outcome] = judge(dialect, settings)
    assert (outcome.name, outcome.level) == (title, Level.SUCCESS)


@pytest.mark.parametrize(
    ("settings", "name", "value", "level"),
    [
        (POSTGRESQL, "is_replica", "on", Level.FAILURE),
        (POSTGRESQL, "default_transaction_read_only", "on", Level.FAILURE),
        (POSTGRESQL, "fsync", "off", Level.FAILURE),
        (POSTGRESQL, "full_page_writes", "off", Level.FAILURE),
        (POSTGRESQL, "synchronous_commit", "off", Level.WARNING),
        (POSTGRESQL, "isolation", "SERIALIZABLE", Level.FAILURE),
        (MARIADB, "read_only", "ON", Level.FAILURE),
        (MARIADB, "binlog_format", "STATEMENT", Level.FAILURE),
        (MARIADB, "innodb_flush_log_at_trx_commit", "2", Level.WARNING),
        (MARIADB, "isolation", "REPEATABLE READ", Level.FAILURE),
        (GALERA, "wsrep_on", "OFF", Level.FAILURE),
        (GALERA, "wsrep_ready", "OFF", Level.FAILURE),
        (GALERA, "wsrep_cluster_status", "non-Primary", Level.FAILURE),
        (GALERA, "wsrep_sync_wait", "0", Level.FAILURE),
        (GALERA, "wsrep_sync_wait", "2", Level.FAILURE),
        (GALERA, "binlog_format", "MIXED", Level.FAILURE),
        (GALERA, "innodb_autoinc_lock_mode", "1", Level.FAILURE),
        (GALERA, "innodb_flush_log_at_trx_commit", "0", Level.WARNING),
    ],
)
def test_a_bad_setting_is_reported(
    settings: Mapping[str, str], name: str, value: str, level: Level
) -> None:
    dialect = "postgresql" if settings is POSTGRESQL else "mysql"
    [outcome] = judge(dialect, {**settings, name: value})
    assert outcome.level == level
    assert outcome.name.endswith(f": {name}")
    assert outcome.detail.startswith(f"{value}: ")


@pytest.mark.parametrize("name", ["pc.ignore_sb", "pc.ignore_quorum"])
def test_a_bad_provider_option_is_reported(name: str) -> None:
    options = f"gcache.size = 64M; {name} = true; pc.weight = 1"
    [outcome] = judge("mysql", {**GALERA, "wsrep_provider_options": options})
    assert (outcome.name, outcome.level) == (f"Galera: {name}", Level.FAILURE)
