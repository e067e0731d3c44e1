"""`roost db`: the tables."""

from pathlib import Path

import click

from roost.cli.failure import Failure
from roost.cli.options import config_file_option, database_option
from roost.cli.show import database_shown


@click.group("db")
def database() -> None:
    """Create, migrate and inspect the tables."""


@database.command()
@database_option
@config_file_option
def sync(database: str | None, config_files: tuple[Path, ...]) -> None:
    """Create the tables, or migrate them to what this version of roost needs."""
    from roost.cli.configuration import read_settings
    from roost.cli.tables import sync_tables

    settings = read_settings(config_files, database)
    version = sync_tables(settings)
    click.echo(f"{database_shown(settings.database_url)} is at version {version}")


@database.command()
@database_option
@config_file_option
def version(database: str | None, config_files: tuple[Path, ...]) -> None:
    """Print the version of the tables."""
    from roost.cli.configuration import read_settings
    from roost.cli.tables import tables_version

    settings = read_settings(config_files, database)
    found = tables_version(settings)
    if found is None:
        where = database_shown(settings.database_url)
        raise Failure(f"{where} has no tables of roost yet: run `roost db sync`")
    click.echo(found)


@database.command()
@click.option("--fix", is_flag=True, help="Repair what is safe to repair, after asking.")
@click.option("--yes", is_flag=True, help="With --fix: do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@database_option
@config_file_option
def check(
    fix: bool, yes: bool, as_json: bool, database: str | None, config_files: tuple[Path, ...]
) -> None:
    """Look for what is wrong in the tables, and compare them with what would be served.

    Only reads, unless --fix is given; may run while roost serves. What is not safe to repair is
    shown with what an operator can do.

    Exit code 0: nothing found (or nothing left after --fix); 1: something found; 2: wrong usage.
    """
    from roost.cli.check import check_tables
    from roost.cli.configuration import read_settings

    if yes and not fix:
        raise click.UsageError("--yes goes with --fix")
    if as_json and fix and not yes:
        raise click.UsageError("--json asks no question: say --yes too")
    settings = read_settings(config_files, database)
    if not check_tables(settings, fix=fix, yes=yes, as_json=as_json):
        raise SystemExit(1)
