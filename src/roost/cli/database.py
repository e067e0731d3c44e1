"""`roost db`: the tables of a database."""

from pathlib import Path

import click

from roost.cli.options import config_file_option, database_option, json_option, read_settings
from roost.cli.output import Failure, database_name


@click.group("db")
def database() -> None:
    """Create, migrate and check the tables."""


@database.command()
@database_option
@config_file_option
def sync(database: str | None, config_files: tuple[Path, ...]) -> None:
    """Create the tables, or migrate them.

    Afterwards they have the version that this release of roost needs. The database of an OpenStack
    Placement is adopted in place. Running the command again does no harm.

    \b
    Example:
      roost db sync --database postgresql://roost:secret@db/roost
    """
    from roost.cli.tables import sync_tables

    settings = read_settings(config_files, database)
    version = sync_tables(settings)
    click.echo(f"{database_name(settings.database_url)} is at version {version}")


@database.command()
@database_option
@config_file_option
def version(database: str | None, config_files: tuple[Path, ...]) -> None:
    """Print the version of the tables.

    Exit code 1: the database cannot be used, or has no tables of roost.
    """
    from roost.cli.tables import tables_version

    settings = read_settings(config_files, database)
    found = tables_version(settings)
    if found is None:
        where = database_name(settings.database_url)
        raise Failure(f"{where} has no tables of roost yet: run `roost db sync`")
    click.echo(found)


@database.command()
@click.option("--fix", is_flag=True, help="Repair what is safe to repair, after a confirmation.")
@click.option("--yes", is_flag=True, help="With --fix: do not ask for confirmation.")
@json_option
@database_option
@config_file_option
def check(
    fix: bool, yes: bool, as_json: bool, database: str | None, config_files: tuple[Path, ...]
) -> None:
    """Find what is wrong in the tables.

    Also compares the tables with what roost would serve, and their indexes and keys with the
    schema. Only reads unless --fix is given, and may run while roost serves. For what cannot be
    repaired safely it says what an operator can do.

    Exit code 0: nothing found, or nothing left after --fix; 1: something found, or the database
    cannot be used; 2: wrong usage.
    """
    from roost.cli.database_check import check_tables

    if yes and not fix:
        raise click.UsageError("--yes goes with --fix")
    if as_json and fix and not yes:
        raise click.UsageError("--json asks no question: say --yes too")
    settings = read_settings(config_files, database)
    if not check_tables(settings, fix=fix, yes=yes, as_json=as_json):
        raise SystemExit(1)
