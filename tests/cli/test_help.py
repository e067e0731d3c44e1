"""What `--help` shows."""

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
def test_help_has_no_marks_of_its_source(words: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(roost, [*words, "--help"], prog_name="roost")
    assert shown.exit_code == 0
    # click reads \b alone on a line as "do not wrap"; reST has no place in a terminal.
    assert "\b" not in shown.output
    assert "\\b" not in shown.output
    assert "``" not in shown.output
