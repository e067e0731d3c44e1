"""Bringing a database to the tables that this release of roost uses.

roost counts its own revisions in `roost_alembic_version`. Placement's `alembic_version` is left
to Placement: it is read to see whether the tables are the ones roost knows, and written once,
where roost itself created them, so that Placement can be started on them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from roost.errors import Unavailable
from roost.store.engine import WRITES
from roost.store.failures import explained

VERSION_TABLE = "roost_alembic_version"

# The revision of Placement's own migrations whose tables these are.
PLACEMENT_REVISION = "a082b8bb98d0"

_LOCK_NAME = "roost db sync"
_LOCK_NUMBER = 7_665_838  # any number that no one else uses for an advisory lock
_LOCK_SECONDS_MAX = 600


def sync(engine: Engine) -> None:
    """Create or migrate the tables. Harmless when done twice, or by two processes at once."""
    with explained(), engine.connect() as connection:
        connection.execution_options(**{WRITES: True})
        with _alone(connection):
            command.upgrade(_config(connection), "head")


def version(engine: Engine) -> str | None:
    """The revision that the database is at, or None before the first `sync`."""
    with explained(), engine.connect() as connection:
        return _context(connection).get_current_revision()


def is_current(engine: Engine) -> bool:
    """Whether `sync` would have nothing to do."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    return version(engine) == head


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option(
        "script_location", str(Path(__file__).parent / "migrations").replace("%", "%%")
    )
    config.attributes["connection"] = connection
    return config


def _context(connection: Connection) -> MigrationContext:
    return MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """One process at a time migrates; the others wait, and then find nothing to do."""
    match connection.dialect.name:
        case "postgresql":
            with connection.begin():
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK_NUMBER})"))
                yield
        case "mysql":
            # The database's name is part of the lock's: locks are the whole server's.
            name = f"CONCAT('{_LOCK_NAME} ', LEFT(DATABASE(), 40))"
            got = connection.scalar(text(f"SELECT GET_LOCK({name}, {_LOCK_SECONDS_MAX})"))
            if got != 1:
                raise Unavailable("Another process is migrating the database.")
            try:
                # The lock is the session's, not the transaction's; tables are not transactional.
                connection.commit()
                yield
                connection.commit()
            finally:
                connection.execute(text(f"SELECT RELEASE_LOCK({name})"))
        case _:
            # SQLite: the transaction holds the file, and tables are part of it.
            with connection.begin():
                yield
