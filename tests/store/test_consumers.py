"""Reading consumers, in the spellings under which they may be stored."""

from collections.abc import Iterator

import pytest

from roost.model import ConsumerChange, Inventory, InventoryChange
from roost.operations.allocations import replace_allocations
from roost.operations.inventories import replace_inventories
from roost.operations.providers import create_provider
from roost.service.service import Roost
from roost.settings import Settings
from roost.store import standard_names
from roost.store.connection.statements import CHUNK
from roost.store.migrations import migrate
from roost.store.store import Store
from roost.uuids import SPELLINGS_MAX, consumer_spellings
from tests.support.names import uid


@pytest.fixture
def roost(database_url: str) -> Iterator[Roost]:
    store = Store.open(database_url)
    migrate.sync(store.engine)
    standard_names.synchronise(store)
    opened = Roost(store, Settings())
    yield opened
    opened.close()


def claim(consumer_uuid: str) -> ConsumerChange:
    return ConsumerChange(
        consumer_uuid=consumer_uuid,
        allocations={uid("host"): {"VCPU": 1}},
        project_id="project",
        user_id="user",
        consumer_type=None,
        checks_generation=True,
        expected_generation=None,
    )


def test_many_consumers_are_read_once_each(roost: Roost) -> None:
    """Their spellings need several statements. A database may take two spellings for equal."""
    create_provider(roost, uuid=uid("host"), name="host", parent_uuid=None)
    inventories = {"VCPU": Inventory(total=2 * CHUNK)}
    change = InventoryChange(
        provider_uuid=uid("host"), inventories=inventories, expected_generation=0
    )
    replace_inventories(roost, change=change)
    uuids = [uid(f"consumer-{number}") for number in range(CHUNK + 10)]
    replace_allocations(roost, changes=[claim(uuid) for uuid in uuids])
    spellings = {uuid: consumer_spellings(uuid) for uuid in uuids}
    with roost.store.write() as tx:
        found = tx.consumers.read(spellings)
    assert {uuid: len(record.holdings) for uuid, record in found.items()} == dict.fromkeys(uuids, 1)


def test_there_are_not_more_spellings_than_a_statement_allows_for() -> None:
    mixed = uid("consumer")[:18] + uid("consumer")[18:].upper()
    assert len(consumer_spellings(mixed)) == SPELLINGS_MAX
