"""`roost status`: whether this configuration and this database are fit for use."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from roost.cli.options import config_file_option, database_option, json_option, read_settings
from roost.cli.output import Failure

if TYPE_CHECKING:
    from roost.health.outcome import Level, Outcome
    from roost.settings import Settings

# The exit code of OpenStack's status commands for an unexpected error.
UNEXPECTED = 255


@click.command()
@click.argument("words", nargs=-1, metavar="[upgrade check]")
@json_option
@database_option
@config_file_option
def status(
    words: tuple[str, ...], as_json: bool, database: str | None, config_files: tuple[Path, ...]
) -> None:
    """Check the configuration, the tables and the database server.

    Accepts the words `upgrade check`, like placement-status.

    Exit code 0: all checks pass; 1: there are warnings; 2: a check fails, or wrong usage;
    255: the checks could not be run.

    \b
    Examples:
      roost status
      roost status --config-file /etc/placement/placement.conf --json
    """
    if words not in ((), ("upgrade", "check")):
        raise click.UsageError(f"no such check: {' '.join(words)}")
    try:
        raise SystemExit(_report(read_settings(config_files, database), as_json=as_json))
    except Failure as failure:
        raise Failure(str(failure), exit_code=UNEXPECTED) from failure
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise Failure(f"{type(error).__name__}: {reason}", exit_code=UNEXPECTED) from error


def _report(settings: "Settings", *, as_json: bool) -> int:
    """Run and show all checks. Returns the highest level, which is the exit code."""
    from roost.health.configuration import configuration_outcomes
    from roost.health.database_driver import DATABASE_CHECK

    outcomes = list(configuration_outcomes(settings))
    # If the URL cannot be used, which one of them says, there is no database to check.
    if all(outcome.name != DATABASE_CHECK for outcome in outcomes):
        outcomes += _database_outcomes(settings, as_json=as_json)
    level = max(outcome.level for outcome in outcomes)
    if as_json:
        click.echo(_as_json(outcomes, level))
    else:
        _show(outcomes)
    return int(level)


def _database_outcomes(settings: "Settings", *, as_json: bool) -> "list[Outcome]":
    from roost.cli.progress_view import shown_progress
    from roost.cli.tables import open_tables
    from roost.health.outcome import failure
    from roost.health.status import database_outcomes

    outcomes: list[Outcome] = []
    try:
        with shown_progress(as_json=as_json) as progress, open_tables(settings) as store:
            outcomes.extend(database_outcomes(store, settings, progress))
    except Failure as reason:
        # The server went away between two checks.
        outcomes.append(failure("database", str(reason)))
    return outcomes


def _show(outcomes: "Sequence[Outcome]") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from roost.health.outcome import Level

    styles = {Level.SUCCESS: "green", Level.WARNING: "yellow", Level.FAILURE: "bold red"}
    table = Table()
    table.add_column("check")
    table.add_column("result")
    table.add_column("detail", overflow="fold")
    for outcome in outcomes:
        level = Text(outcome.level.name.lower(), style=styles[outcome.level])
        table.add_row(Text(outcome.name), level, Text(outcome.detail))
    Console(highlight=False).print(table)


def _as_json(outcomes: "Sequence[Outcome]", level: "Level") -> str:
    return json.dumps(
        {
            "result": level.name.lower(),
            "checks": [
                {
                    "name": outcome.name,
                    "result": outcome.level.name.lower(),
                    "detail": outcome.detail,
                }
                for outcome in outcomes
            ],
        },
        indent=2,
    )
