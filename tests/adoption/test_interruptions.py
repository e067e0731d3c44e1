"""`roost db sync`, interrupted at any statement, is completed by the next one.

MariaDB commits after each statement on tables. So a run that was killed leaves some of the tables,
or tables without some of their indexes. The tests interrupt it after each statement that writes:
whatever comes between two of them only reads. `ROOST_EXAMPLES=1000` makes them look longer.
"""

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine, event

from roost.errors import Unavailable
from roost.store import standard_names
from roost.store.adoption.adopt import IncompleteIds
from roost.store.migrations import migrate
from roost.store.store import Store
from tests.adoption import upstream
from tests.adoption.tables import Rows, fill
from tests.adoption.test_adoption import remove_values
from tests.adoption.upstream import REVISIONS
from tests.support.database_servers import MariaDB

# MariaDB commits after statements of the first kind.
DEFINITIONS = ("ALTER", "CREATE", "DROP")
WRITES = (*DEFINITIONS, "DELETE", "INSERT", "UPDATE")

INCOMPLETE = IncompleteIds(project="somebody's", user="nobody")

# Each run is interrupted after one statement more. Runs that start anew are slow, so by default the
# test makes some of them, and runs that continue after each statement (see below).
STEP = 1 if int(os.environ.get("ROOST_EXAMPLES", "0")) > 400 else 11

# Columns that depend on when a row was written, or how often it was tried.
VARYING = ("created_at", "updated_at")
NUMBERED = ("consumers", "projects", "traits", "users")
# These say which processes wrote.
VARYING_TABLES = ("roost_writers", "roost_changes")


class Interrupted(BaseException):
    """Ends a run, as Ctrl-C does. SQLAlchemy then drops the connection."""


class Interruption:
    """Ends what an engine does after a number of statements that write."""

    def __init__(self, engine: Engine, count: int, end: Callable[[], None]) -> None:
        self._left = count
        self._end = end
        event.listen(engine, "after_cursor_execute", self._executed)

    def _executed(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        self.statement = statement.strip().upper()
        if self.statement.startswith(WRITES):
            self._left -= 1
            if self._left == 0:
                self._end()


def sync(url: str, count: int = 0, end: Callable[[], None] = lambda: None) -> str:
    """What `roost db sync` does; `end` is called after `count` statements that write.

    Returns the statement after which it was interrupted; nothing if it was not.
    """
    store = Store.open(url)
    interruption = Interruption(store.engine, count, end)
    try:
        migrate.sync(store.engine, INCOMPLETE)
        standard_names.synchronise(store)
    except Interrupted:
        return interruption.statement
    finally:
        store.dispose()
    return ""


def interrupt() -> None:
    raise Interrupted


def contents(url: str) -> Mapping[str, Any]:
    """Definitions and rows of all tables, but for what differs from run to run."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        found: dict[str, Any] = {
            table: (definition(connection, table), rows_of(connection, table))
            for table in sorted(sa.inspect(connection).get_table_names())
        }
        if found.keys() >= set(NUMBERED):
            found["owners"] = sorted(connection.execute(sa.text(OWNERS)).all())
    engine.dispose()
    return found


OWNERS = """
SELECT consumers.uuid, projects.external_id, users.external_id
FROM consumers JOIN projects ON project_id = projects.id JOIN users ON user_id = users.id
"""


def definition(connection: sa.Connection, table: str) -> list[str]:
    text = connection.execute(sa.text(f"SHOW CREATE TABLE {table}")).one()[1]
    # The last line names the next id.
    return sorted(line.strip(" ,") for line in text.splitlines()[:-1])


def rows_of(connection: sa.Connection, table: str) -> list[str]:
    if table in VARYING_TABLES:
        return []
    left_out = (*VARYING, "id", "project_id", "user_id") if table in NUMBERED else VARYING
    rows = connection.execute(sa.text(f"SELECT * FROM {table}")).mappings()
    return sorted(repr({name: row[name] for name in row if name not in left_out}) for row in rows)


class Template:
    """A database to make copies of, and what a run without interruption makes of it."""

    def __init__(self, server: MariaDB, url: str) -> None:
        self._server = server
        name = url.rpartition("/")[2]
        engine = sa.create_engine(url)
        with engine.connect() as connection:
            tables = sa.inspect(connection).get_table_names()
            self._statements = [
                connection.execute(sa.text(f"SHOW CREATE TABLE {table}")).one()[1]
                for table in tables
            ]
            self._statements += [f"INSERT INTO {t} SELECT * FROM {name}.{t}" for t in tables]
        engine.dispose()
        with self.copy() as copy:
            assert sync(copy) == ""
            self.wanted = contents(copy)

    @contextmanager
    def copy(self) -> Iterator[str]:
        url = self._server.create_database()
        engine = sa.create_engine(url)
        with engine.begin() as connection:
            connection.exec_driver_sql("SET foreign_key_checks = 0")
            connection.exec_driver_sql("SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")
            for statement in self._statements:
                connection.exec_driver_sql(statement.replace("%", "%%"))
        engine.dispose()
        yield url
        self._server.drop_database(url)


@pytest.fixture(scope="module", params=[None, *REVISIONS], ids=lambda revision: revision or "empty")
def template(
    request: pytest.FixtureRequest,
    mariadb: MariaDB,
    rows: Rows,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Template]:
    """An empty database, or one that the reference left at one of its revisions."""
    url = mariadb.create_database()
    if request.param is not None:
        upstream.migrate(url, tmp_path_factory.mktemp("reference"), request.param)
        engine = sa.create_engine(url)
        fill(engine, rows)
        remove_values(engine, request.param)
        engine.dispose()
    yield Template(mariadb, url)
    mariadb.drop_database(url)


def test_runs_that_are_all_interrupted_complete_the_tables(template: Template) -> None:
    """Each run continues where the one before was interrupted, after every single statement."""
    statements, count = 0, 1
    with template.copy() as url:
        while statement := sync(url, count, interrupt):
            statements += 1
            # What only changed rows was rolled back, and the next run has to do it again.
            count = 1 if statement.startswith(DEFINITIONS) else count + 1
        assert contents(url) == template.wanted
    assert statements > 6


@pytest.mark.parametrize("template", [None, REVISIONS[0]], indirect=True)
def test_an_interrupted_run_is_completed_by_the_next(template: Template) -> None:
    for count in itertools.count(2, STEP):
        with template.copy() as url:
            statement = sync(url, count, interrupt)
            sync(url)
            assert contents(url) == template.wanted, statement
        if not statement:
            break


@pytest.mark.parametrize(
    ("template", "count"), [(None, 3), (None, 20), (REVISIONS[0], 6)], indirect=["template"]
)
def test_a_process_that_was_killed_is_completed_by_the_next(template: Template, count: int) -> None:
    with template.copy() as url:
        done = subprocess.run(
            [sys.executable, "-m", __name__, url, str(count)],
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert contents(url) != template.wanted
        sync(url)
        assert contents(url) == template.wanted


@pytest.mark.parametrize("template", [None], indirect=True)
def test_a_lost_connection_is_reported_as_such(mariadb: MariaDB, template: Template) -> None:
    def kill_connections() -> None:
        with mariadb._cursor() as cursor:
            query = "SELECT id FROM information_schema.processlist WHERE db = %s"
            cursor.execute(query, [url.rpartition("/")[2]])
            for (id,) in cursor.fetchall():
                cursor.execute(f"KILL {id}")

    with template.copy() as url:
        with pytest.raises(Unavailable, match="cannot be reached"):
            sync(url, 4, kill_connections)
        sync(url)
        assert contents(url) == template.wanted


if __name__ == "__main__":
    sync(sys.argv[1], int(sys.argv[2]), lambda: os.kill(os.getpid(), signal.SIGKILL))
