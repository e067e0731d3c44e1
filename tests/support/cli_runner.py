"""Commands, run in this process: that a user would start one for each takes longer than they do."""

import json
from typing import Any

from click.testing import CliRunner

from roost.cli.main import roost as program
from roost.cli.output import Failure


def roost(*arguments: str, url: str = "", status: int = 0) -> str:
    """What a command prints; on stderr if it fails."""
    said = CommandLine(url)(*arguments, status=status)
    assert "Traceback" not in said
    return said


class CommandLine:
    """Runs commands against one service."""

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
