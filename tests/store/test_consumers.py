"""Reading consumers, in the spellings under which they may be stored."""

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from roost.errors import ConsumerGenerationConflict
from roost.model import ConsumerChange, Inventory, InventoryChange
from roost.operations.aggregates import read_aggregates, replace_aggregates
from roost.operations.allocations import delete_allocations, replace_allocations
from roost.operations.inventories import replace_inventories
from roost.operations.providers import create_provider
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.connection.engine import create_engine
from roost.store.connection.statements import CHUNK
from roost.store.store import Store
from roost.uuids import SPELLINGS_MAX, consumer_spellings
from tests.support.database_servers import MariaDB
from tests.support.names import uid
from tests.support.synchronised_databases import synchronise


@pytest.fixture
def roost(synchronised_url: str) -> Iterator[Roost]:
    yield from opened(synchronised_url)


@pytest.fixture
def exact_roost(mariadb: MariaDB) -> Iterator[Roost]:
    """On a database whose collation does not ignore case, as those of MariaDB usually do."""
    url = mariadb.create_database()
    engine = create_engine(url)
    with engine.connect() as connection:
        connection.execute(text("ALTER DATABASE CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"))
    engine.dispose()
    yield from opened(synchronise(url))
    mariadb.drop_database(url)


def opened(url: str) -> Iterator[Roost]:
    store = Store.open(url)
    roost = Roost(store, Settings())
    create_provider(roost, uuid=uid("host"), name="host", parent_uuid=None)
    inventories = {"VCPU": Inventory(total=2 * CHUNK)}
    change = InventoryChange(
        provider_uuid=uid("host"), inventories=inventories, expected_generation=0
    )
    replace_inventories(roost, change=change)
    yield roost
    roost.close()


def claim(consumer_uuid: str, sent_as: str = "") -> ConsumerChange:
    return ConsumerChange(
        consumer_uuid=consumer_uuid,
        allocations={uid("host"): {"VCPU": 1}},
        project_id="project",
        user_id="user",
        consumer_type=None,
        checks_generation=True,
        expected_generation=None,
        sent_as=sent_as,
    )


def test_many_consumers_are_read_once_each(roost: Roost) -> None:
    """Their spellings need several statements. A database may take two spellings for equal."""
    uuids = [uid(f"consumer-{number}") for number in range(CHUNK + 10)]
    replace_allocations(roost, changes=[claim(uuid) for uuid in uuids])
    spellings = {uuid: consumer_spellings(uuid) for uuid in uuids}
    with roost.store.write() as tx:
        found = tx.consumers.read(spellings)
    assert {uuid: len(record.holdings) for uuid, record in found.items()} == dict.fromkeys(uuids, 1)


def test_there_are_not_more_spellings_than_a_statement_allows_for() -> None:
    mixed = uid("consumer")[:18] + uid("consumer")[18:].upper()
    assert len(consumer_spellings(mixed)) == SPELLINGS_MAX


def test_a_consumer_is_not_created_in_another_case(roost: Roost) -> None:
    assert_created_once(roost)


def test_a_consumer_is_not_created_in_another_case_where_case_counts(exact_roost: Roost) -> None:
    assert not exact_roost.store.ignores_case
    assert_created_once(exact_roost)
    for spelling in (uid("rack").upper(), uid("rack")):
        replace_aggregates(
            exact_roost,
            provider_uuid=uid("host"),
            aggregates=[spelling],
            expected_generation=None,
        )
    found = read_aggregates(exact_roost, provider_uuid=uid("host"))
    assert found.aggregates == (uid("rack"),)


def assert_created_once(roost: Roost) -> None:
    lower, upper = uid("consumer"), uid("consumer").upper()
    for first, second in ((lower, upper), (upper, lower)):
        replace_allocations(roost, changes=[claim(first)])
        with pytest.raises(ConsumerGenerationConflict):
            replace_allocations(roost, changes=[claim(second)])
        delete_allocations(roost, consumer_uuid=second)


def test_a_consumer_in_mixed_case_is_found_by_its_own_spelling(roost: Roost) -> None:
    """PUT names it in the canonical spelling, and says how the client spelled it."""
    mixed = uid("consumer")[:18].upper() + uid("consumer")[18:]
    replace_allocations(roost, changes=[claim(mixed)])
    with pytest.raises(ConsumerGenerationConflict):
        replace_allocations(roost, changes=[claim(uid("consumer"), sent_as=mixed)])
