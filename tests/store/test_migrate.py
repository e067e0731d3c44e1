"""The tables equal Placement's, whether created or adopted, by one process or by several."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy import Engine, select, update

from roost.store import standard_names
from roost.store.adoption import adopt
from roost.store.connection.engine import create_engine
from roost.store.migrations import migrate
from roost.store.schema import PLACEMENT_TABLES, ROOST_TABLES, metadata, resource_classes, traits
from roost.store.store import Store

PLACEMENT_MANAGE = Path(sys.executable).parent / "placement-manage"


@pytest.fixture
def new_url(
    database_url: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[], str]]:
    """A function that creates another empty database of the same kind."""
    if database_url.startswith("sqlite"):
        numbers = iter(range(10))
        yield lambda: f"sqlite:///{tmp_path / f'other{next(numbers)}.db'}"
        return
    kind = "postgresql" if database_url.startswith("postgresql") else "mariadb"
    server = request.getfixturevalue(kind)
    created: list[str] = []

    def create() -> str:
        created.append(server.create_database())
        return created[-1]

    yield create
    for url in created:
        server.drop_database(url)


def placement_manage(url: str, folder: Path, *arguments: str) -> str:
    """Run Placement's own tool on a database."""
    (folder / "placement.conf").write_text(f"[placement_database]\nconnection = {url}\n")
    done = subprocess.run(
        [str(PLACEMENT_MANAGE), "--config-file", str(folder / "placement.conf"), *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def table_definitions(engine: Engine) -> dict[str, Any]:
    """The definitions of Placement's tables, as the database reports them."""
    inspector = sqlalchemy.inspect(engine)

    def sorted_by_name(items: list[Any]) -> list[Any]:
        return sorted(items, key=lambda item: (item["name"] or "", repr(item)))

    return {
        table.name: {
            "columns": [
                {**column, "type": str(column["type"])}
                for column in inspector.get_columns(table.name)
            ],
            "primary key": inspector.get_pk_constraint(table.name),
            "indexes": sorted_by_name(inspector.get_indexes(table.name)),
            "unique": sorted_by_name(inspector.get_unique_constraints(table.name)),
            "foreign keys": sorted_by_name(inspector.get_foreign_keys(table.name)),
        }
        for table in PLACEMENT_TABLES
    }


@pytest.mark.process
def test_tables_are_the_same_as_placements(
    database_url: str, new_url: Callable[[], str], tmp_path: Path
) -> None:
    reference_url = new_url()
    placement_manage(reference_url, tmp_path, "db", "sync")
    reference, engine = create_engine(reference_url), create_engine(database_url)
    migrate.sync(engine)
    assert table_definitions(engine) == table_definitions(reference)
    for each in (reference, engine):
        each.dispose()


@pytest.mark.process
def test_placement_can_take_over_what_roost_created(database_url: str, tmp_path: Path) -> None:
    engine = create_engine(database_url)
    migrate.sync(engine)
    before = table_definitions(engine)
    assert adopt.NEWEST in placement_manage(database_url, tmp_path, "db", "version")
    placement_manage(database_url, tmp_path, "db", "sync")
    assert table_definitions(engine) == before
    engine.dispose()


@pytest.mark.process
def test_a_placement_database_is_adopted_in_place(database_url: str, tmp_path: Path) -> None:
    placement_manage(database_url, tmp_path, "db", "sync")
    store = Store.open(database_url)
    before = table_definitions(store.engine)
    assert migrate.version(store.engine) is None
    assert not migrate.is_current(store.engine)
    migrate.sync(store.engine)
    assert migrate.is_current(store.engine)
    assert table_definitions(store.engine) == before
    standard_names.synchronise(store)
    assert len(store.load()[1].resource_classes) == 21
    store.dispose()


def test_syncing_twice_changes_nothing(database_url: str) -> None:
    store = Store.open(database_url)
    for _ in range(2):
        migrate.sync(store.engine)
        standard_names.synchronise(store)
    _, rows = store.load()
    assert rows.resource_classes[0][:2] == (0, "VCPU")
    assert [row[0] for row in rows.resource_classes] == list(range(21))
    assert [row[1] for row in rows.trait_names] == sorted(row[1] for row in rows.trait_names)
    store.dispose()


SYNC = """
import sys
from roost.store.migrations import migrate
from roost.store import standard_names
from roost.store.store import Store
store = Store.open(sys.argv[1])
migrate.sync(store.engine)
standard_names.synchronise(store)
"""


@pytest.mark.process
def test_several_processes_may_sync_at_once(database_url: str) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", SYNC, database_url], stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors.decode()
    store = Store.open(database_url)
    _, rows = store.load()
    assert len(rows.resource_classes) == 21
    assert len(rows.trait_names) == len({row[1] for row in rows.trait_names}) > 300
    store.dispose()


def test_new_standard_names_are_added_and_announced(database_url: str) -> None:
    """As after an upgrade of os-traits, while another process is running."""
    store, running = Store.open(database_url), Store.open(database_url)
    migrate.sync(store.engine)
    standard_names.synchronise(store)
    with store.engine.begin() as connection:
        connection.execute(traits.delete().where(traits.c.name == "HW_CPU_X86_AVX"))
        connection.execute(resource_classes.delete().where(resource_classes.c.id == 0))
    position, _ = running.load()
    standard_names.synchronise(store)
    news = running.changes_since(position)
    assert news is not None
    assert [row[1] for row in news[1].rows.trait_names] == ["HW_CPU_X86_AVX"]
    assert [row[:2] for row in news[1].rows.resource_classes] == [(0, "VCPU")]
    for each in (store, running):
        each.dispose()


def test_a_database_of_the_first_revision_is_migrated(database_url: str) -> None:
    engine = create_engine(database_url)
    migrate.sync(engine)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("DROP TABLE roost_placements"))
        connection.execute(sqlalchemy.text("UPDATE roost_alembic_version SET version_num='0001'"))
    assert not migrate.is_current(engine)
    migrate.sync(engine)
    assert migrate.is_current(engine)
    assert "roost_placements" in sqlalchemy.inspect(engine).get_table_names()
    engine.dispose()


def test_the_revision_creates_what_the_schema_says(database_url: str) -> None:
    """roost's own tables are defined twice: in the revision, which is frozen, and in `schema`."""
    engine = create_engine(database_url)
    migrate.sync(engine)
    inspector = sqlalchemy.inspect(engine)
    for name in (table.name for table in ROOST_TABLES):
        found = {
            column["name"]: str(column["type"].as_generic())
            for column in inspector.get_columns(name)
        }
        assert list(found) == list(metadata.tables[name].c.keys())
    with engine.begin() as connection:
        writers = metadata.tables["roost_writers"]
        connection.execute(writers.insert().values(id=2**52, token="t", sequence=2**62))
        connection.execute(update(writers).values(sequence=2**62 + 1))
        assert connection.scalar(select(writers.c.sequence)) == 2**62 + 1
    engine.dispose()
