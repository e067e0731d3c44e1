"""The commands and statements of the runbook, on a running service. test_boot.py has systemd's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.operations.monitored_service import MonitoredService
from tests.operations.runbook import blocks, commands

ADDRESS = "http://127.0.0.1:8778"
COMMANDS = [line for line in commands() if line.startswith(("curl ", "roost "))]
# They look for what a healthy service does not have.
FINDS_NOTHING = ('status="5', 'status="401"')
# The servers of the tests do not wait for the disk, which is a failure.
STATUS_OF_FAILURES = 2


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_works(monitored: MonitoredService, command: str) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ROOST_URL": monitored.server.url,
        "OS_PLACEMENT_CONFIG_DIR": str(monitored.configuration.parent),
        "OS_PLACEMENT_DATABASE__CONNECTION": monitored.database_url,
        "OS_API__AUTH_STRATEGY": "noauth2",
    }
    done = subprocess.run(
        # A program in a pipe that fails is not hidden by the next one.
        ["bash", "-o", "pipefail", "-c", command.replace(ADDRESS, monitored.server.url)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if any(text in command for text in FINDS_NOTHING):
        assert (done.returncode, done.stdout) == (1, "")
        return
    expected = STATUS_OF_FAILURES if command == "roost status" else 0
    assert done.returncode == expected, done.stdout + done.stderr
    assert done.stdout


@pytest.mark.parametrize("statements", blocks("sql"), ids=range(len(blocks("sql"))))
def test_statements_work(monitored: MonitoredService, statements: str) -> None:
    engine = sa.create_engine(monitored.database_url)
    with engine.connect() as connection:
        for statement in filter(str.strip, statements.split(";")):
            assert connection.execute(sa.text(statement)).all()
    engine.dispose()


def test_every_other_command_is_of_the_machine() -> None:
    """So that one of the two tests tries it."""
    others = {line.split()[0] for line in commands()} - {"curl", "roost"}
    assert others == {"systemctl", "journalctl", "ps", "ss"}
