"""The tables of a database: opening and migrating them, with one line for each failure."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from oslo_db.exception import DBError  # type: ignore[import-untyped]
from sqlalchemy.exc import SQLAlchemyError

from roost.cli.output import BadInput, Failure
from roost.configured_store import incomplete_ids, missing_database, open_store
from roost.errors import RoostError
from roost.progress import Progress
from roost.settings import Settings, SettingsError
from roost.store import standard_names
from roost.store.connection.shown_url import database_name
from roost.store.migrations import migrate
from roost.store.store import Store


class Versions(NamedTuple):
    """The versions of the tables; None if there are none."""

    before: str | None
    after: str | None


def sync_tables(settings: Settings, progress: Progress) -> Versions:
    """Create or migrate the tables, and add standard names."""
    progress.stage("connecting to the database")
    with open_tables(settings, create=True) as store:
        before = migrate.version(store.engine)
        migrate.sync(store.engine, incomplete_ids(settings), progress)
        standard_names.synchronise(store, progress)
        return Versions(before, migrate.version(store.engine))


def tables_version(settings: Settings) -> str | None:
    """The version of the tables; None if there are no tables of roost."""
    with open_tables(settings) as store:
        return migrate.version(store.engine)


@contextmanager
def open_tables(settings: Settings, *, create: bool = False) -> Iterator[Store]:
    """The store of a database. Errors of the database end the command with one line.

    A SQLite file that does not exist is such an error, unless `create` is given.
    """
    # oslo.db logs some errors in full before they are raised.
    log = logging.getLogger("oslo_db")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        if not create and (path := missing_database(settings)) is not None:
            raise Failure(f"there is no database {path}: create it with `roost db sync`")
        store = open_store(settings)
        try:
            yield store
            store.end()
        finally:
            # No connection may be open when worker processes are forked.
            store.dispose()
    except SettingsError as error:
        raise BadInput(str(error)) from error
    except (
        RoostError,
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
