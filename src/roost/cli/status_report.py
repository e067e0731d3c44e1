"""What `roost status` does and shows."""

import json
from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from roost.cli.failure import Failure
from roost.cli.tables import open_tables
from roost.health.outcome import Level, Outcome, failure
from roost.health.status import configuration_outcomes, database_outcomes
from roost.settings import Settings

_STYLES = {Level.SUCCESS: "green", Level.WARNING: "yellow", Level.FAILURE: "bold red"}


def report(settings: Settings, *, as_json: bool) -> int:
    """Show what every check says; the highest level of them."""
    outcomes = [*configuration_outcomes(settings), *_of_database(settings)]
    level = max(outcome.level for outcome in outcomes)
    if as_json:
        click.echo(_as_json(outcomes, level))
    else:
        _show(outcomes)
    return int(level)


def _of_database(settings: Settings) -> list[Outcome]:
    outcomes: list[Outcome] = []
    try:
        with open_tables(settings) as store:
            outcomes.extend(database_outcomes(store, settings))
    except Failure as reason:
        # A URL that is none, a driver that is missing, a server that went away in between.
        outcomes.append(failure("database", str(reason)))
    return outcomes


def _show(outcomes: Sequence[Outcome]) -> None:
    table = Table()
    table.add_column("check")
    table.add_column("result")
    table.add_column("detail", overflow="fold")
    for outcome in outcomes:
        level = Text(outcome.level.name.lower(), style=_STYLES[outcome.level])
        table.add_row(Text(outcome.name), level, Text(outcome.detail))
    Console(highlight=False).print(table)


def _as_json(outcomes: Sequence[Outcome], level: Level) -> str:
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
