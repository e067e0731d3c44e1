"""Opening databases, and where the kinds of databases differ."""

import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from oslo_db import exception as driver
from sqlalchemy import insert, text, update

from roost.cli.tables import open_tables, sync_tables, tables_version
from roost.client.direct import direct
from roost.errors import BadRequest, Unavailable
from roost.health.check import check
from roost.health.status import database_outcomes
from roost.model import ConsumerChange, Inventory, InventoryChange
from roost.operations.aggregates import read_aggregates, replace_aggregates
from roost.operations.allocations import read_consumer, replace_allocations
from roost.operations.inventories import read_inventories, replace_inventories
from roost.operations.providers import create_provider, read_provider, update_provider
from roost.operations.usages import read_project_usages
from roost.progress import SILENT
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.connection.engine import create_engine
from roost.store.schema import consumers, projects, resource_providers, traits, users
from roost.store.store import Store

# MySQL and MariaDB have different names for it.
ISOLATION = text("SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')")

HOST = str(uuid.uuid4())


@pytest.fixture
def roost(synchronised_url: str) -> Iterator[Roost]:
    store = Store.open(synchronised_url)
    service = Roost(store, Settings())
    create_provider(service, uuid=HOST, name="host", parent_uuid=None)
    yield service
    service.close()


def put_inventory(roost: Roost, generation: int = 0, **fields: float) -> None:
    inventory = Inventory(total=10, **fields)  # type: ignore[arg-type]
    change = InventoryChange(
        provider_uuid=HOST, inventories={"VCPU": inventory}, expected_generation=generation
    )
    assert replace_inventories(roost, change=change) == read_inventories(roost, provider_uuid=HOST)


def test_sqlite_in_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a SQLite file"):
        Store.open("sqlite://")


def test_a_sqlite_file_in_a_missing_folder_is_unavailable(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path / 'nowhere' / 'roost.db'}")
    with pytest.raises(Unavailable):
        store.load()


def test_sqlite_sessions_check_foreign_keys(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'roost.db'}")
    with engine.connect() as connection:
        assert connection.scalar(text("PRAGMA foreign_keys")) == 1
    engine.dispose()


def set_journal_mode(path: Path, mode: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.close()


def journal_mode(path: Path) -> str:
    connection = sqlite3.connect(path)
    [mode] = connection.execute("PRAGMA journal_mode").fetchone()
    connection.close()
    return str(mode)


def test_sync_and_the_service_give_a_sqlite_file_the_write_ahead_log(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    settings = Settings().on_database(f"sqlite:///{path}")
    sync_tables(settings, SILENT)
    assert journal_mode(path) == "wal"
    set_journal_mode(path, "DELETE")
    with direct(settings.database_url) as client:
        assert client.providers() == []
        assert journal_mode(path) == "wal"


def test_what_only_reads_leaves_a_sqlite_file_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    settings = Settings().on_database(f"sqlite:///{path}")
    sync_tables(settings, SILENT)
    set_journal_mode(path, "DELETE")
    before = path.read_bytes()
    assert tables_version(settings) is not None
    with open_tables(settings) as store:
        assert list(database_outcomes(store, settings))
        assert check(store) == []
    assert path.read_bytes() == before
    assert journal_mode(path) == "delete"
    assert [each.name for each in tmp_path.iterdir()] == ["roost.db"]


@pytest.mark.parametrize("ratio", [1.0, 16.0, 0.1, 1.23456789, 123456.789, 3.40282e38, 1e-9])
def test_a_write_answers_what_a_read_returns(roost: Roost, ratio: float) -> None:
    """MySQL stores six digits of a ratio; the answer to the write must show that."""
    put_inventory(roost, allocation_ratio=ratio)


def test_duplicates_and_broken_references_raise_different_errors(roost: Roost) -> None:
    with (
        pytest.raises(driver.DBDuplicateEntry),
        roost.store.engine.begin() as connection,
    ):
        connection.execute(insert(traits).values(name="HW_CPU_X86_AVX"))
    with (
        pytest.raises(driver.DBReferenceError),
        roost.store.engine.begin() as connection,
    ):
        connection.execute(update(resource_providers).values(parent_provider_id=4711))


def change(consumer: str, generation: int | None = None, **fields: str) -> ConsumerChange:
    return ConsumerChange(
        consumer_uuid=consumer,
        allocations={HOST: {"VCPU": 1}},
        checks_generation=True,
        expected_generation=generation,
        **fields,
    )


def test_values_that_the_database_cannot_store_are_bad_requests(
    roost: Roost, synchronised_url: str
) -> None:
    put_inventory(roost)
    if synchronised_url.startswith("postgresql"):
        with pytest.raises(BadRequest):
            replace_allocations(
                roost, changes=[change(str(uuid.uuid4()), project_id="a\0b", user_id="u")]
            )


def test_names_that_differ_only_in_case_are_accepted(roost: Roost) -> None:
    """MySQL considers them equal, other databases do not; all accept them."""
    put_inventory(roost)
    one, two, three = (str(uuid.uuid4()) for _ in range(3))
    replace_allocations(roost, changes=[change(one, project_id="Project", user_id="User")])
    replace_allocations(roost, changes=[change(two, project_id="project", user_id="user ")])
    replace_allocations(roost, changes=[change(three, project_id="Project", user_id="user ")])
    for project in ("Project", "project"):
        assert read_project_usages(roost, project_id=project)
    upper = change(one.upper(), 1)
    if roost.store.engine.dialect.name == "mysql":
        replace_allocations(roost, changes=[upper])
        held = read_consumer(roost, consumer_uuid=one)
        assert held is not None
        assert held.generation == 2


def test_a_missing_project_and_user_are_the_configured_ones(roost: Roost) -> None:
    put_inventory(roost)
    consumer = str(uuid.uuid4())
    replace_allocations(roost, changes=[change(consumer)])
    held = read_consumer(roost, consumer_uuid=consumer)
    assert held is not None
    assert held.project_id == held.user_id == "00000000-0000-0000-0000-000000000000"
    assert held.consumer_type == "unknown"
    # The same holds for a consumer that had others. Its type stays: these clients cannot set it.
    replace_allocations(
        roost, changes=[change(consumer, 1, project_id="p", user_id="u", consumer_type="T")]
    )
    replace_allocations(roost, changes=[change(consumer, 2)])
    held = read_consumer(roost, consumer_uuid=consumer)
    assert held is not None
    assert held.project_id == held.user_id == "00000000-0000-0000-0000-000000000000"
    assert held.consumer_type == "T"


def test_a_consumer_without_allocations_counts_as_new(roost: Roost) -> None:
    """Placement leaves the row of a consumer whose first write was empty or refused."""
    put_inventory(roost)
    consumer = str(uuid.uuid4())
    with roost.store.engine.begin() as connection:
        connection.execute(insert(projects).values(id=1, external_id="p"))
        connection.execute(insert(users).values(id=1, external_id="u"))
        connection.execute(
            insert(consumers).values(uuid=consumer, project_id=1, user_id=1, generation=0)
        )
    replace_allocations(roost, changes=[change(consumer, project_id="p", user_id="u")])
    held = read_consumer(roost, consumer_uuid=consumer)
    assert held is not None
    assert held.generation == 1


def test_aggregates_are_listed_in_the_order_of_their_creation(roost: Roost) -> None:
    uuids = [str(uuid.uuid4()) for _ in range(5)]
    put = replace_aggregates(roost, provider_uuid=HOST, aggregates=uuids, expected_generation=0)
    assert put.aggregates == tuple(uuids)
    assert read_aggregates(roost, provider_uuid=HOST).aggregates == tuple(uuids)


@pytest.mark.parametrize("database_url", ["mariadb"], indirect=True)
def test_mysql_sessions_have_sql_modes_and_isolation_levels(database_url: str) -> None:
    store = Store.open(database_url, mysql_sql_mode="ANSI")
    with store.engine.connect() as connection:
        modes = str(connection.scalar(text("SELECT @@sql_mode")))
        level = connection.execute(ISOLATION).one().Value
    assert "NO_AUTO_VALUE_ON_ZERO" in modes
    assert "ANSI_QUOTES" in modes
    assert level == "READ-COMMITTED"
    level = store._database.read(lambda connection: connection.execute(ISOLATION).one().Value)
    assert level == "REPEATABLE-READ"
    store.dispose()


def test_rows_without_generation_and_root_are_supported(
    synchronised_url: str, roost: Roost
) -> None:
    """Old releases of Placement left both NULL: the generation is 0, the provider its own root."""
    with roost.store.engine.begin() as connection:
        connection.execute(
            update(resource_providers).values(generation=None, root_provider_id=None)
        )
    adopted = Roost(Store.open(synchronised_url), Settings())
    shown = read_provider(adopted, uuid=HOST)
    assert (shown.generation, shown.root_uuid) == (0, HOST)
    put_inventory(adopted)
    consumer = str(uuid.uuid4())
    replace_allocations(adopted, changes=[change(consumer, project_id="p", user_id="u")])
    assert read_provider(adopted, uuid=HOST).generation == 2
    held = read_consumer(adopted, consumer_uuid=consumer)
    assert held is not None
    assert held.allocations[HOST].provider_generation == 2
    other = str(uuid.uuid4())
    create_provider(adopted, uuid=other, name="other", parent_uuid=None)
    moved = update_provider(adopted, uuid=HOST, name="host", parent_uuid=other, may_reparent=True)
    assert moved.root_uuid == other
    adopted.close()
