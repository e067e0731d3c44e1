"""The tables of a database: opening and migrating them, with one line for each failure."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from oslo_db.exception import DBError  # type: ignore[import-untyped]
from sqlalchemy.exc import SQLAlchemyError

from roost.assembly import incomplete_ids, open_store
from roost.cli.output import Failure
from roost.errors import RoostError
from roost.settings import Settings, SettingsError
from roost.store import standard_names
from roost.store.connection.shown_url import database_name
from roost.store.migrations import migrate
from roost.store.store import Store


def sync_tables(settings: Settings) -> str | None:
    """Create or migrate the tables, and add standard names. Returns the version."""
    with open_tables(settings) as store:
        migrate.sync(store.engine, incomplete_ids(settings))
        standard_names.synchronise(store)
        return migrate.version(store.engine)


def tables_version(settings: Settings) -> str | None:
    """The version of the tables; None if there are no tables of roost."""
    with open_tables(settings) as store:
        return migrate.version(store.engine)


@contextmanager
def open_tables(settings: Settings) -> Iterator[Store]:
    """The store of a database. Errors of the database end the command with one line."""
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
