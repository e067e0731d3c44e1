"""What `--help` shows."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from roost.cli.main import roost


def commands(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name)


@pytest.mark.parametrize("words", list(commands(roost)), ids=" ".join)
def test_every_command_has_a_short_help(words: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(roost, [*words, "--help"], prog_name="roost")
    assert shown.exit_code == 0
    # One sentence says what the command does, and it fits into the list of commands.
    assert shown.output.splitlines()[2].endswith((".", "?"))
    assert not any(line.endswith("...") for line in shown.output.splitlines()[1:])
    # click reads \b alone on a line as "do not wrap"; reST does not belong in a terminal.
    assert "\b" not in shown.output
    assert "\\b" not in shown.output
    assert "``" not in shown.output


def test_help_imports_nothing_heavy() -> None:
    """Shell completion imports the program at every key press; the rest must load later."""
    code = "import sys, roost.cli.main; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"granian", "httpx", "msgspec", "numpy", "oslo_config", "rich", "sqlalchemy"}
    assert heavy & {*done.stdout.split()} == set()
