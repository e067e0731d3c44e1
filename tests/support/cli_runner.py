"""The command line as a user runs it, against a service."""

import json
import os
import subprocess
from typing import Any

from click.testing import CliRunner

from roost.cli.main import roost as program
from roost.cli.output import Failure
from tests.support.roost_server import command


def roost(*arguments: str, url: str = "", status: int = 0) -> str:
    """What the command prints; on stderr if it fails."""
    done = subprocess.run(
        command(*arguments),
        env={**os.environ, "ROOST_URL": url, "ROOST_TOKEN": "admin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if status == 0 else done.stderr


class CommandLine:
    """Runs commands in this process, which is quicker, against one service."""

    def __init__(self, url: str) -> None:
        self._environment = {"ROOST_URL": url, "ROOST_TOKEN": "admin", "NO_COLOR": "1"}

    def __call__(self, *arguments: str, status: int = 0, answer: str | None = None) -> str:
        """What a command prints; with another status than 0, what it says on stderr.

        `answer` is what the user types.
        """
        done = CliRunner().invoke(program, arguments, input=answer, env=self._environment)
        code, said = done.exit_code, done.stderr
        if isinstance(done.exception, Failure):
            # As `roost.cli.main.main` ends the program.
            code, said = done.exception.exit_code, f"{said}roost: {done.exception}\n"
        elif done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert code == status, (code, done.stdout, said)
        return done.stdout if status == 0 else said

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json"))

    def refused(self, *arguments: str, status: int = 2) -> str:
        """The one line that refuses wrong input."""
        said = self(*arguments, status=status)
        assert said.startswith("roost: "), said
        assert said.count("\n") == 1, said
        return said.removeprefix("roost: ").rstrip("\n")


def rows(shown: str) -> list[list[str]]:
    """The words of each line."""
    return [line.split() for line in shown.splitlines()]
