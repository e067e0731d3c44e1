"""The strategies of the write loop: when each is used, and what none of them may do."""

import threading
from collections.abc import Callable, Iterable

import pytest
from sqlalchemy import delete, select, text

from roost.errors import (
    ConsumerGenerationConflict,
    MissingInventory,
    ProviderGenerationConflict,
)
from roost.model import Inventory, InventoryChange
from roost.operations import optimistic
from roost.operations.inventories import read_inventories, replace_inventories
from roost.operations.providers import delete_provider
from roost.operations.resource_classes import create_resource_class, rename_resource_class
from roost.operations.state_readers import (
    IndexReader,
    LockedIndexReader,
    StateReader,
    TableReader,
)
from roost.operations.traits import read_traits, replace_traits
from roost.service.service import Roost
from roost.store.schema import resource_providers, roost_changes, roost_writers
from roost.store.tables.providers import Providers
from roost.store.transaction import Transaction
from tests.concurrency.races import add_provider, claim, put, used
from tests.concurrency.transactions import Transactions
from tests.support.names import uid

OpenRoost = Callable[[], Roost]


pytestmark = pytest.mark.usefixtures("stale_index")


def strategies_of(roost: Roost, lost: int, *, contended: bool = False) -> list[type[StateReader]]:
    """The strategies that a write tries if it loses this many races."""
    if contended:
        roost.contention.record_lost_race([uid("host")])
    used: list[type[StateReader]] = []

    def unit(_: Transaction, state: StateReader) -> None:
        used.append(type(state))
        if len(used) <= lost:
            raise optimistic.LostRace("lost")

    optimistic.write(roost, unit, providers={uid("host"): None})
    return used


def test_the_strategies_come_in_order(roost: Roost) -> None:
    add_provider(roost, "host", VCPU=4)
    # Without an index there is nothing to be optimistic about.
    assert strategies_of(roost, 0) == [TableReader]
    roost.catch_up()
    assert strategies_of(roost, 0) == [IndexReader]
    assert strategies_of(roost, 2) == [IndexReader, LockedIndexReader, TableReader]
    # Those two races were lost for this provider.
    assert strategies_of(roost, 1) == [LockedIndexReader, TableReader]


def test_a_contended_provider_is_locked_first(roost: Roost) -> None:
    add_provider(roost, "host", VCPU=4)
    roost.catch_up()
    assert strategies_of(roost, 0, contended=True) == [LockedIndexReader]


def test_a_locked_provider_needs_no_sum_over_its_allocations(
    pair: tuple[Roost, Roost], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What others claimed since the snapshot comes from the change feed."""
    first, second = pair
    for number in range(3):
        put(first, claim(f"c{number}", {"host": {"VCPU": 1}}))
    second.contention.record_lost_race([uid("host")])

    def no_sums(*_: object) -> None:
        raise AssertionError("the usage was added up from the tables")

    monkeypatch.setattr("roost.store.tables.inventories.Inventories.states", no_sums)
    put(second, claim("mine", {"host": {"VCPU": 1}}))
    assert used(first, "host", "VCPU") == 4


def test_a_locked_provider_whose_inventory_changed_is_read_from_the_tables(
    pair: tuple[Roost, Roost],
) -> None:
    first, second = pair
    put(first, claim("c", {"host": {"VCPU": 1}}))
    change = InventoryChange(
        provider_uuid=uid("host"),
        inventories={"VCPU": Inventory(total=200)},
        expected_generation=2,
    )
    replace_inventories(first, change=change)
    second.contention.record_lost_race([uid("host")])
    put(second, claim("mine", {"host": {"VCPU": 150}}))
    assert used(first, "host", "VCPU") == 151


def test_a_write_does_not_wait_for_an_index_that_must_be_reloaded(
    pair: tuple[Roost, Roost],
) -> None:
    """A reload registers the writer, which on SQLite needs the lock that the write holds."""
    first, second = pair
    put(first, claim("c", {"host": {"VCPU": 1}}))
    # As after a backup was restored: the feed has neither the record nor the second writer.
    with first.store.engine.begin() as connection:
        connection.execute(delete(roost_changes))
        connection.execute(delete(roost_writers))
    second.contention.record_lost_race([uid("host")])
    writing = threading.Thread(
        target=put, args=[second, claim("mine", {"host": {"VCPU": 1}})], daemon=True
    )
    writing.start()
    writing.join(20)
    assert not writing.is_alive()
    assert used(first, "host", "VCPU") == 2


# ---------------------------------------------------------------------------------------------
# Nothing to change


def set_traits(roost: Roost, *names: str, generation: int | None) -> int:
    return replace_traits(
        roost, provider_uuid=uid("host"), traits=set(names), expected_generation=generation
    ).generation


def test_unchanged_traits_are_a_read(roost: Roost) -> None:
    add_provider(roost, "host", VCPU=4)
    generation = set_traits(roost, "HW_CPU_X86_AVX2", generation=1)
    roost.catch_up()
    transactions = Transactions(roost)
    assert set_traits(roost, "HW_CPU_X86_AVX2", generation=generation) == generation
    assert set_traits(roost, "HW_CPU_X86_AVX2", generation=None) == generation
    assert transactions.count == 0
    assert not roost.contention.includes_any([uid("host")])


def test_traits_that_are_unchanged_only_in_a_stale_index_are_written(
    pair: tuple[Roost, Roost],
) -> None:
    first, second = pair
    generation = set_traits(first, "HW_CPU_X86_AVX2", generation=1)
    second.catch_up()
    after = set_traits(first, "HW_CPU_X86_SSE", generation=generation)
    with pytest.raises(ProviderGenerationConflict):
        set_traits(second, "HW_CPU_X86_AVX2", generation=generation)
    assert read_traits(first, provider_uuid=uid("host")).generation == after
    # A client that names no generation means the state at this moment.
    set_traits(second, "HW_CPU_X86_AVX2", generation=None)
    assert read_traits(first, provider_uuid=uid("host")).traits == ("HW_CPU_X86_AVX2",)


def test_a_unit_that_changes_nothing_is_verified_by_the_tables_and_marks_nothing(
    roost: Roost,
) -> None:
    add_provider(roost, "host", VCPU=4)
    roost.catch_up()
    used: list[type[StateReader]] = []

    def unit(_: Transaction, state: StateReader) -> optimistic.Unchanged[str]:
        used.append(type(state))
        return optimistic.Unchanged("as it was")

    assert optimistic.write(roost, unit, providers={uid("host"): None}) == "as it was"
    assert used == [IndexReader, TableReader]
    assert not roost.contention.includes_any([uid("host")])
    assert read_inventories(roost, provider_uuid=uid("host")).generation == 1


# ---------------------------------------------------------------------------------------------
# What no generation shows


def test_a_class_that_was_renamed_after_the_snapshot_is_not_confused_with_its_successor(
    roost: Roost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread applies the rename to the index before the transaction begins."""
    create_resource_class(roost, name="CUSTOM_A")
    add_provider(roost, "host", CUSTOM_A=8)
    roost.catch_up()
    attempt = roost.attempt

    def attempt_later(unit: Callable[[Transaction], object]) -> object:
        monkeypatch.setattr(roost, "attempt", attempt)
        rename_resource_class(roost, name="CUSTOM_A", new_name="CUSTOM_B")
        create_resource_class(roost, name="CUSTOM_A")
        roost.catch_up()
        return attempt(unit)

    monkeypatch.setattr(roost, "attempt", attempt_later)
    with pytest.raises(MissingInventory):
        put(roost, claim("c", {"host": {"CUSTOM_A": 5}}))
    assert used(roost, "host", "CUSTOM_A") == used(roost, "host", "CUSTOM_B") == 0


def test_a_provider_that_was_recreated_is_not_taken_for_its_predecessor(roost: Roost) -> None:
    """It has the same UUID and the same generation, and on an old SQLite file the same id."""
    add_provider(roost, "host", VCPU=4)
    roost.catch_up()
    delete_provider(roost, uuid=uid("host"))
    if roost.store.engine.dialect.name == "sqlite":
        # As in a file that an earlier release made.
        with roost.store.engine.begin() as connection:
            connection.execute(text("DELETE FROM sqlite_sequence"))
    add_provider(roost, "host", MEMORY_MB=100)
    change = InventoryChange(
        provider_uuid=uid("host"),
        inventories={"DISK_GB": Inventory(total=1)},
        expected_generation=1,
    )
    replace_inventories(roost, change=change)
    assert read_inventories(roost, provider_uuid=uid("host")).inventories.keys() == {"DISK_GB"}


def test_ids_of_providers_are_not_given_twice(roost: Roost) -> None:
    def id_of(name: str) -> int:
        with roost.store.engine.connect() as connection:
            return connection.scalar(
                select(resource_providers.c.id).where(resource_providers.c.uuid == uid(name))
            )

    add_provider(roost, "host")
    before = id_of("host")
    delete_provider(roost, uuid=uid("host"))
    add_provider(roost, "host")
    assert id_of("host") > before


def test_a_provider_that_vanishes_while_its_consumer_is_emptied_is_a_lost_race(
    roost: Roost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The consumer was read; then another client released it, and a third deleted the provider."""
    add_provider(roost, "host", VCPU=4)
    put(roost, claim("c", {"host": {"VCPU": 1}}))
    lock_states = Providers.lock_states
    vanished: list[bool] = []

    def lock_none(self: Providers, uuids: Iterable[str], ids: Iterable[int] = ()) -> object:
        if vanished:
            return lock_states(self, uuids, ids)
        vanished.append(True)
        return {}

    monkeypatch.setattr(Providers, "lock_states", lock_none)
    put(roost, claim("c", {}, checks_generation=False))
    assert used(roost, "host", "VCPU") == 0


def test_a_consumer_that_exists_is_no_race_for_its_providers(roost: Roost) -> None:
    add_provider(roost, "host", VCPU=4)
    put(roost, claim("c", {"host": {"VCPU": 1}}))
    roost.catch_up()
    transactions = Transactions(roost)
    with pytest.raises(ConsumerGenerationConflict):
        put(roost, claim("c", {"host": {"VCPU": 1}}))
    assert transactions.count == 2
    assert not roost.contention.includes_any([uid("host")])
