"""What `--help` shows."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from roost.cli.main import SECTIONS, roost


def commands(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name)


@pytest.mark.parametrize("words", list(commands(roost)), ids=" ".join)
def test_every_command_has_a_short_help(words: tuple[str, ...]) -> None:
    arguments = [*words, "--help"]
    shown = CliRunner().invoke(roost, arguments, prog_name="roost", terminal_width=80)
    assert shown.exit_code == 0
    assert [line for line in shown.output.splitlines() if len(line) > 80] == []
    # One sentence says what the command does, and it fits into the list of commands.
    assert shown.output.splitlines()[2].endswith((".", "?"))
    assert not any(line.endswith("...") for line in shown.output.splitlines()[1:])
    # click reads \b alone on a line as "do not wrap"; reST does not belong in a terminal.
    assert "\b" not in shown.output
    assert "\\b" not in shown.output
    assert "``" not in shown.output


@pytest.mark.parametrize("words", list(commands(roost)), ids=" ".join)
def test_every_command_has_examples(words: tuple[str, ...]) -> None:
    """A person learns from an example first; it begins with the command as it is typed."""
    command = program_command(words)
    if isinstance(command, click.Group) and words:
        # Its commands have them.
        return
    shown = CliRunner().invoke(roost, [*words, "--help"], prog_name="roost").output
    typed = " ".join(("roost", *words))
    assert any(typed in line for line in shown.splitlines()[1:]), shown


def program_command(words: tuple[str, ...]) -> click.Command:
    command: click.Command = roost
    for word in words:
        assert isinstance(command, click.Group)
        command = command.commands[word]
    return command


# Commands without a result: they print text for a log or a shell.
WITHOUT_RESULTS = {"serve", "completion"}


def test_every_command_with_a_result_prints_json() -> None:
    without_json = {
        " ".join(words)
        for words in commands(roost)
        if not isinstance(program_command(words), click.Group)
        and not any("--json" in each.opts for each in program_command(words).params)
    }
    assert without_json == WITHOUT_RESULTS


@pytest.mark.parametrize(
    "words", [words for words in commands(roost) if words[:1] != ("agent",)], ids=" ".join
)
def test_options_have_the_same_names_everywhere(words: tuple[str, ...]) -> None:
    command = program_command(words)
    options = [each for each in command.params if isinstance(each, click.Option)]
    named = {name: each for each in options for name in each.opts}
    assert all(each.help for each in options)
    if "--url" in named:
        assert "--token" in named
    # The provider comes first.
    arguments = [each.name for each in command.params if isinstance(each, click.Argument)]
    assert "provider" not in arguments[1:]


def test_every_command_is_in_a_section() -> None:
    listed = [name for names in SECTIONS.values() for name in names]
    assert len(listed) == len({*listed})
    assert {*roost.commands} <= {*listed}


def imported_with(module: str) -> set[str]:
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {*done.stdout.split()}


def test_help_imports_nothing_heavy() -> None:
    """Shell completion imports the program at every key press; the rest must load later."""
    heavy = {"httptools", "httpx", "msgspec", "numpy", "oslo_config", "rich", "sqlalchemy"}
    assert heavy & imported_with("roost.cli.main") == set()


def test_a_worker_imports_nothing_for_migrations() -> None:
    """Each worker of the server imports what it needs by itself, also when it replaces another."""
    assert {"alembic", "mako", "pygments"} & imported_with("roost.assembly") == set()
