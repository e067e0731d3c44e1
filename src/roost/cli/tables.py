"""What commands do with the tables of a database, which may be out of reach."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from oslo_db.exception import DBError  # type: ignore[import-untyped]
from sqlalchemy.exc import SQLAlchemyError

from roost.assembly import incomplete_ids, open_store
from roost.cli.failure import Failure
from roost.cli.show import database_shown
from roost.errors import RoostError
from roost.settings import Settings, SettingsError
from roost.store import standard_names
from roost.store.migrations import migrate
from roost.store.store import Store


def sync_tables(settings: Settings) -> str | None:
    """Create or migrate the tables and what is standard in them; gives back their version."""
    with open_tables(settings) as store:
        migrate.sync(store.engine, incomplete_ids(settings))
        standard_names.synchronise(store)
        return migrate.version(store.engine)


def tables_version(settings: Settings) -> str | None:
    with open_tables(settings) as store:
        return migrate.version(store.engine)


@contextmanager
def open_tables(settings: Settings) -> Iterator[Store]:
    """The store; what goes wrong with it ends the command."""
    # It would tell some errors in full before they arrive here.
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
        # The first line says it; what follows is for those who read the driver's source.
        reason = str(error).partition("\n")[0]
        where = database_shown(settings.database_url)
        raise Failure(f"cannot use the database {where}: {reason}") from error
    finally:
        log.setLevel(level)
