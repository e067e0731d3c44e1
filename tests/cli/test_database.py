"""`roost db sync` and `roost db version`, as programs use them."""

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from tests.support.cli_runner import roost
from tests.support.roost_server import command
from tests.support.terminal import Terminal


def test_programs_learn_the_versions(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    database = ("--database", f"sqlite:///{path}")
    for words in (("db", "version", "--json"), ("db", "check"), ("status",)):
        shown = roost(*words, *database, status=2 if words == ("status",) else 1)
        assert words == ("status",) or "there is no database" in shown
        # A command that only reads creates nothing.
        assert not path.exists()
    path.touch()
    assert "has no tables" in roost("db", "version", "--json", *database, status=1)
    made = json.loads(roost("db", "sync", "--json", *database))
    version = roost("db", "version", *database).strip()
    assert made == {"database": str(path), "version_before": None, "version": version}
    again = json.loads(roost("db", "sync", "--json", *database))
    assert again == {"database": str(path), "version_before": version, "version": version}
    found = json.loads(roost("db", "version", "--json", *database))
    assert found == {"database": str(path), "version": version}


def test_a_database_that_is_down_is_one_line_at_once() -> None:
    # If the command waited for the database, `roost` would wait too long for the command.
    for words in (("db", "sync"), ("db", "sync", "--json"), ("db", "version")):
        line = roost(*words, "--database", "postgresql+psycopg://roost@127.0.0.1:1/roost", status=1)
        assert line.startswith("roost: cannot use the database")
        assert line.count("\n") == 1


def test_a_person_sees_what_a_migration_waits_for(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    sync = ("db", "sync", "--database", f"sqlite:///{path}")
    done = roost(*sync)
    waiting = "waiting for a turn to change the tables"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        # As another process that is migrating the tables.
        other.execute("BEGIN IMMEDIATE")
        with (
            Terminal(command(*sync)) as terminal,
            subprocess.Popen(
                command(*sync), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            ) as in_log,
        ):
            terminal.wait_for(waiting)
            assert in_log.stderr is not None
            assert in_log.stdout is not None
            assert in_log.stderr.readline().startswith(f"roost: {waiting}: ")
            other.execute("ROLLBACK")
            assert terminal.wait() == 0
            assert in_log.stdout.read() == done
            assert in_log.stderr.read() == ""
    assert terminal.screen == [done.rstrip(), ""]
