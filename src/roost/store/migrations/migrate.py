"""Creates and migrates the tables that this release of roost uses.

roost stores its own revision in `roost_alembic_version`. `roost.store.adoption.adopt` deals with
Placement's tables and their `alembic_version`.

alembic is imported where it is used: that takes a fifth of the time of all that a worker of the
server imports, and workers do not migrate.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, text

from roost.errors import Unavailable
from roost.progress import SILENT, Progress
from roost.store.adoption import adopt
from roost.store.adoption.adopt import IncompleteIds
from roost.store.connection.driver_errors import CONVERTING_ERRORS
from roost.store.connection.engine import WRITES, use_write_ahead_log

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

VERSION_TABLE = adopt.ROOST_VERSION_TABLE

_LOCK_NAME = "roost db sync"
_LOCK_NUMBER = 7_665_838  # any number that no other program uses for an advisory lock
_LOCK_SECONDS_MAX = 600


def sync(
    engine: Engine,
    incomplete: IncompleteIds = IncompleteIds(),  # noqa: B008 - frozen
    progress: Progress = SILENT,
) -> None:
    """Create or migrate the tables. Idempotent, and several processes may run it at once.

    Raises `Unavailable`, and changes nothing, if the tables are not those of a roost or a Placement
    that this release knows.
    """
    from alembic import command

    with CONVERTING_ERRORS, engine.connect() as connection:
        connection.execution_options(**{WRITES: True})
        # Others may be migrating, too.
        progress.stage("waiting for a turn to change the tables")
        with _locked(connection):
            found = _version(connection)
            adopt.adopt(connection, incomplete, progress, is_first=found is None)
            missing = [*_scripts().iterate_revisions("head", found or "base")]
            progress.stage("migrating the tables", len(missing))
            command.upgrade(_config(connection, progress), "head")
            # On PostgreSQL and SQLite the block ends with COMMIT.
            progress.stage("storing the changes")
    use_write_ahead_log(engine)


def version(engine: Engine) -> str | None:
    """The revision of roost's tables, or None before the first `sync`.

    Raises `Unavailable` if it is the revision of a newer roost.
    """
    with CONVERTING_ERRORS, engine.connect() as connection:
        return _version(connection)


def placement_version(engine: Engine) -> str | None:
    """The revision of Placement's tables, or None if there are none.

    Raises `Unavailable` if they are not those of a Placement that this release knows.
    """
    with CONVERTING_ERRORS, engine.connect() as connection:
        return adopt.revision(connection)


def stamped_version(engine: Engine) -> str | None:
    """What Placement's own version table says, whatever the tables are; None if it says nothing."""
    with CONVERTING_ERRORS, engine.connect() as connection:
        return adopt.stamped_revision(connection)


def stamp(engine: Engine, revision: str | None) -> None:
    """Write a revision to Placement's version table, or remove it, and change nothing else.

    Raises `Unavailable`, and changes nothing, if the tables lack what this revision has.
    """
    with CONVERTING_ERRORS, engine.connect() as connection:
        connection.execution_options(**{WRITES: True})
        with _locked(connection):
            if revision is not None:
                adopt.refuse_stamp(connection, revision)
            adopt.stamp(connection, revision)


def is_current(engine: Engine) -> bool:
    """Whether `sync` has nothing to do."""
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


def _scripts() -> "ScriptDirectory":
    from alembic.script import ScriptDirectory

    return ScriptDirectory.from_config(_config())


def _config(connection: Connection | None = None, progress: Progress = SILENT) -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.attributes["progress"] = progress
    return config


def _context(connection: Connection) -> "MigrationContext":
    from alembic.migration import MigrationContext

    return MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})


@contextmanager
def _locked(connection: Connection) -> Iterator[None]:
    """Lets one process migrate at a time. The others wait, and then find nothing to do."""
    match connection.dialect.name:
        case "postgresql":
            with connection.begin():
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK_NUMBER})"))
                yield
        case "mysql":
            # Locks belong to the whole server, so the name of the database is part of the name.
            name = f"CONCAT('{_LOCK_NAME} ', LEFT(DATABASE(), 40))"
            got = connection.scalar(text(f"SELECT GET_LOCK({name}, {_LOCK_SECONDS_MAX})"))
            if got != 1:
                raise Unavailable("Another process is migrating the database.")
            try:
                # The lock belongs to the session. MySQL commits after each statement on tables.
                connection.commit()
                yield
                connection.commit()
            except BaseException:
                # The connection may be lost, so ending the session is the sure way to the lock.
                connection.invalidate()
                raise
            connection.execute(text(f"SELECT RELEASE_LOCK({name})"))
        case _:
            # SQLite: the transaction locks the file, and includes the creation of tables.
            with connection.begin():
                yield
