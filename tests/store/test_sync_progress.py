"""How far `roost db sync` is: on an empty database, and on one that an old Placement left."""

from collections.abc import Iterator

import pytest
from sqlalchemy import delete, update

from roost.store import standard_names
from roost.store.adoption.adopt import NEWEST, stamp
from roost.store.migrations import migrate
from roost.store.schema import PLACEMENT_TABLES, consumers, metadata, resource_providers
from roost.store.store import Store
from tests.health.broken import make_cloud
from tests.support.recorded_progress import RecordedProgress


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    store = Store.open(database_url)
    yield store
    store.dispose()


def synchronise(store: Store) -> RecordedProgress:
    progress = RecordedProgress()
    migrate.sync(store.engine, progress=progress)
    standard_names.synchronise(store, progress)
    return progress


def test_each_migration_counts(store: Store) -> None:
    progress = synchronise(store)
    assert progress.titles == [
        "waiting for a turn to change the tables",
        "migrating the tables",
        "storing the changes",
        "adding standard resource classes and traits",
    ]
    assert progress.counted == {"migrating the tables": 2}
    again = synchronise(store)
    assert again.counted == {"migrating the tables": 0}
    assert "adding standard resource classes and traits" not in again.titles


def test_an_adoption_counts_the_roots_that_it_stores(store: Store, database_url: str) -> None:
    make_cloud(database_url).dispose()
    with store.engine.begin() as connection:
        providers = connection.execute(
            update(resource_providers).values(root_provider_id=None)
        ).rowcount
        connection.execute(delete(consumers))
        # As a Placement left it, without the tables of roost.
        for table in reversed(metadata.sorted_tables):
            if table not in PLACEMENT_TABLES:
                table.drop(connection)
        connection.exec_driver_sql("DROP TABLE roost_alembic_version")
        stamp(connection, NEWEST)
    progress = synchronise(store)
    assert progress.counted == {
        "storing the roots of providers": providers,
        "migrating the tables": 2,
    }
    assert "adding missing records of consumers" in progress.titles
