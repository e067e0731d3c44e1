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
