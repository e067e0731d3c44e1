"""Bringing a database to the tables that this release of roost uses.

roost counts its own revisions in `roost_alembic_version`. Placement's tables, and what its
`alembic_version` says of them, are the matter of `roost.store.adoption.adopt`.
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
from roost.store.adoption import adopt
from roost.store.adoption.adopt import IncompleteIds
from roost.store.connection.driver_errors import converting_errors
from roost.store.connection.engine import WRITES

VERSION_TABLE = adopt.ROOST_VERSION_TABLE

_LOCK_NAME = "roost db sync"
_LOCK_NUMBER = 7_665_838  # any number that no one else uses for an advisory lock
_LOCK_SECONDS_MAX = 600


def sync(engine: Engine, incomplete: IncompleteIds = IncompleteIds()) -> None:  # noqa: B008 - frozen
    """Create or migrate the tables. Harmless when done twice, or by two processes at once.

    Raises `Unavailable`, and changes nothing, where the tables are not those of a roost or a
    Placement that is known here.
    """
    with converting_errors(), engine.connect() as connection:
        connection.execution_options(**{WRITES: True})
        with _alone(connection):
            found = _version(connection)
            adopt.adopt(connection, incomplete, is_first=found is None)
            command.upgrade(_config(connection), "head")


def version(engine: Engine) -> str | None:
    """The revision that the database is at, or None before the first `sync`.

    Raises `Unavailable` where it is the revision of a newer roost.
    """
    with converting_errors(), engine.connect() as connection:
        return _version(connection)


def placement_version(engine: Engine) -> str | None:
    """The revision of Placement's tables, or None where there are none.

    Raises `Unavailable` where they are not those of a Placement that is known here.
    """
    with converting_errors(), engine.connect() as connection:
        return adopt.revision(connection)


def is_current(engine: Engine) -> bool:
    """Whether `sync` would have nothing to do."""
    found = placement_version(engine)
    return (
        version(engine) == _scripts().get_current_head()
        and found is not None
        and adopt.has_every_column(found)
    )


def _version(connection: Connection) -> str | None:
    found = _context(connection).get_current_heads()
    known = {script.revision for script in _scripts().walk_revisions()}
    if not known.issuperset(found):
        raise Unavailable(
            f"The tables are at version {', '.join(found)} of a newer roost: use that one. Nothing "
            "was changed."
        )
    return found[0] if found else None


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
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
