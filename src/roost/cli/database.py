"""`roost db`: the tables of a database."""

from pathlib import Path

import click

from roost.cli.options import config_file_option, database_option, json_option, read_settings
from roost.cli.output import Failure, print_json
from roost.store.connection.shown_url import database_name


@click.group("db")
def database() -> None:
    """Create, migrate and check the tables."""


@database.command()
@json_option
@database_option
@config_file_option
def sync(as_json: bool, database: str | None, config_files: tuple[Path, ...]) -> None:
    """Create the tables, or migrate them.

    Afterwards they have the version that this release of roost needs. The database of an OpenStack
    Placement is adopted in place. Running the command again does no harm.

    With --json it prints the name of the database, and the version of the tables before (null if
    there was none) and after.

    \b
    Example:
      roost db sync --database postgresql://roost:secret@db/roost
    """
    from roost.cli.progress_view import shown_progress
    from roost.cli.tables import sync_tables
    from roost.health.database_driver import database_url_outcomes
    from roost.health.outcome import AtStart

    settings = read_settings(config_files, database)
    for outcome in database_url_outcomes(settings):
        if outcome.at_start is AtStart.LOG:
            click.echo(f"roost: {outcome.detail}", err=True)
    with shown_progress(as_json=as_json) as progress:
        versions = sync_tables(settings, progress)
    where = database_name(settings.database_url)
    if as_json:
        before, after = versions
        print_json({"database": where, "version_before": before, "version": after})
    else:
        click.echo(f"{where} is at version {versions.after}")


@database.command()
@json_option
@database_option
@config_file_option
def version(as_json: bool, database: str | None, config_files: tuple[Path, ...]) -> None:
    """Print the version of the tables.

    With --json it prints the name of the database, too.

    Exit code 1: the database cannot be used, or has no tables of roost.

    \b
    Example:
      roost db version --database sqlite:////var/lib/roost/roost.db
    """
    from roost.cli.tables import tables_version

    settings = read_settings(config_files, database)
    found = tables_version(settings)
    where = database_name(settings.database_url)
    if found is None:
        raise Failure(f"{where} has no tables of roost yet: run `roost db sync`")
    if as_json:
        print_json({"database": where, "version": found})
    else:
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

    \b
    Examples:
      roost db check
      roost db check --fix --database sqlite:////var/lib/roost/roost.db
    """
    from roost.cli.database_check import check_tables

    if yes and not fix:
        raise click.UsageError("--yes goes with --fix")
    if as_json and fix and not yes:
        raise click.UsageError("--json asks no question: say --yes too")
    settings = read_settings(config_files, database)
    if not check_tables(settings, fix=fix, yes=yes, as_json=as_json):
        raise SystemExit(1)
