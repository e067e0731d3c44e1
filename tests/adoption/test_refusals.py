"""roost refuses an unknown database with one line, and leaves it as it was."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from roost.errors import Unavailable
from roost.store.connection.engine import create_engine
from roost.store.migrations import migrate
from tests.adoption import upstream
from tests.adoption.tables import describe, dump
from tests.adoption.upstream import REVISIONS
from tests.support.database_servers import MariaDB, PostgreSQL
from tests.support.roost_server import command

SECONDS_MAX = 60


@pytest.fixture
def engine(database_url: str, tmp_path: Path) -> Iterator[Engine]:
    """A database that the reference made."""
    upstream.migrate(database_url, tmp_path)
    engine = create_engine(database_url)
    yield engine
    engine.dispose()


def write(engine: Engine, *statements: str) -> None:
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))


def run_sync(url: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command("db", "sync", "--database", url),
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )


def assert_refused(engine: Engine, *words: str) -> None:
    """`roost db sync` fails with one line that contains these words, and changes nothing."""
    before = dump(engine), describe(engine), sa.inspect(engine).get_table_names()
    with pytest.raises(Unavailable) as refusal:
        migrate.sync(engine)
    message = str(refusal.value)
    assert "\n" not in message
    for word in words:
        assert word in message
    assert (dump(engine), describe(engine), sa.inspect(engine).get_table_names()) == before


def test_a_newer_placement_is_refused(engine: Engine) -> None:
    write(engine, "UPDATE alembic_version SET version_num = 'ffffffffffff'")
    assert_refused(engine, "ffffffffffff", "newer Placement")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_placement_upgraded_after_its_adoption_is_refused(engine: Engine) -> None:
    migrate.sync(engine)
    write(engine, "UPDATE alembic_version SET version_num = 'ffffffffffff'")
    assert_refused(engine, "ffffffffffff", "newer Placement")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_refusal_is_one_line_on_stderr(engine: Engine) -> None:
    write(engine, "UPDATE alembic_version SET version_num = 'ffffffffffff'")
    done = run_sync(engine.url.render_as_string(hide_password=False))
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.strip().splitlines()
    assert "ffffffffffff" in line


def test_a_user_without_rights_is_refused(postgresql: PostgreSQL) -> None:
    url = postgresql.create_database()
    engine = create_engine(url)
    write(engine, "CREATE ROLE guest LOGIN")
    done = run_sync(url.replace("roost@", "guest@"))
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.strip().splitlines()
    assert "permission denied" in line
    engine.dispose()
    postgresql.drop_database(url)


def test_a_newer_roost_is_refused(engine: Engine) -> None:
    migrate.sync(engine)
    write(engine, "UPDATE roost_alembic_version SET version_num = '9999'")
    assert_refused(engine, "9999", "newer roost")


def test_a_cycle_of_parents_without_a_root_is_refused(engine: Engine) -> None:
    columns = "INSERT INTO resource_providers (id, uuid, name, generation"
    write(
        engine,
        f"{columns}) VALUES (1, 'a', 'a', 0), (2, 'b', 'b', 0)",
        "UPDATE resource_providers SET parent_provider_id = 3 - id",
    )
    assert_refused(engine, "circle", "parent_provider_id", "roost db sync")


# Only SQLAlchemy's inspector decides, and it is the same on all databases, so one is enough.
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (
            ["DROP TABLE alembic_version", "DROP TABLE resource_provider_traits"],
            ["without a version", "placement-manage db stamp"],
        ),
        (["DROP TABLE resource_provider_traits"], ["resource_provider_traits.trait_id", "missing"]),
        (
            ["DROP TABLE alembic_version", "CREATE TABLE cells (id INTEGER)"],
            ["without a version"],
        ),
        ([f"INSERT INTO alembic_version VALUES ('{REVISIONS[0]}')"], [REVISIONS[0]]),
    ],
    ids=["half of the tables", "a table is gone", "tables of another program", "two revisions"],
)
def test_unknown_tables_are_refused(
    engine: Engine, statements: list[str], words: list[str]
) -> None:
    write(engine, *statements)
    assert_refused(engine, *words)


def test_the_database_of_another_program_is_refused(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'other.db'}")
    write(
        engine,
        "CREATE TABLE alembic_version (version_num VARCHAR(32))",
        "INSERT INTO alembic_version VALUES ('27d55e7a4a3b')",
        "CREATE TABLE instances (id INTEGER)",
    )
    assert_refused(engine, "another program")
    engine.dispose()


def test_an_interrupted_creation_is_continued(mariadb: MariaDB) -> None:
    """MariaDB cannot roll back tables, so the next run finishes what was interrupted."""
    url = mariadb.create_database()
    engine = create_engine(url)
    migrate.sync(engine)
    tables = describe(engine)
    # Tables are created one by one, and the two versions last.
    write(
        engine,
        "DROP TABLE alembic_version",
        "DROP TABLE roost_changes",
        "DROP TABLE consumers",
        "DELETE FROM roost_alembic_version",
    )
    migrate.sync(engine)
    assert describe(engine) == tables
    engine.dispose()
    mariadb.drop_database(url)
