"""`roost db`: the tables of a database."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from roost.cli.options import config_file_option, database_option, json_option, read_settings
from roost.cli.output import Failure, database_name

if TYPE_CHECKING:
    from roost.settings import Settings
    from roost.store.store import Store


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
    from roost.store.migrations import migrate

    settings = read_settings(config_files, database)
    with open_tables(settings) as store:
        found = migrate.version(store.engine)
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

    Also compares the tables with what roost would serve. Only reads unless --fix is given, and may
    run while roost serves. For what cannot be repaired safely it says what an operator can do.

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


# ---------------------------------------------------------------------------------------------
# Also used by other commands


def sync_tables(settings: "Settings") -> str | None:
    """Create or migrate the tables, and add standard names. Returns the version."""
    from roost.assembly import incomplete_ids
    from roost.store import standard_names
    from roost.store.migrations import migrate

    with open_tables(settings) as store:
        migrate.sync(store.engine, incomplete_ids(settings))
        standard_names.synchronise(store)
        return migrate.version(store.engine)


@contextmanager
def open_tables(settings: "Settings") -> Iterator["Store"]:
    """The store of a database. Errors of the database end the command with one line."""
    from oslo_db.exception import DBError  # type: ignore[import-untyped]
    from sqlalchemy.exc import SQLAlchemyError

    from roost.assembly import open_store
    from roost.errors import RoostError
    from roost.settings import SettingsError

    # oslo.db logs some errors in full before they are raised.
    log = logging.getLogger("oslo_db")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        store = open_store(settings)
        try:
            yield store
        finally:
            # No connection may be open when worker processes are forked.
            store.dispose()
    except (
        RoostError,
        SettingsError,
        SQLAlchemyError,
        DBError,
        ValueError,
        ImportError,
        OSError,
    ) as error:
        # The first line says what is wrong; the rest is statements and links.
        reason = str(error).partition("\n")[0]
        where = database_name(settings.database_url)
        raise Failure(f"cannot use the database {where}: {reason}") from error
    finally:
        log.setLevel(level)
