"""Writes that are decided from a stale index: the transaction verifies them."""

from collections.abc import Callable
from functools import partial

import pytest

from roost.errors import (
    CapacityExceeded,
    ConsumerGenerationConflict,
    ProviderGenerationConflict,
    UnknownProvider,
    UnknownResourceClass,
    UnknownTrait,
)
from roost.model import Inventory, InventoryChange
from roost.operations.aggregates import read_aggregates, replace_aggregates
from roost.operations.allocations import delete_allocations
from roost.operations.inventories import read_inventories, replace_inventories
from roost.operations.providers import delete_provider, read_provider
from roost.operations.resource_classes import ensure_resource_class, rename_resource_class
from roost.operations.traits import delete_trait, ensure_trait, read_traits, replace_traits
from roost.search.index.index import Index
from roost.service.service import Roost
from tests.concurrency.races import add_provider, claim, put, refusals, run_concurrently, used
from tests.support.names import uid

OpenRoost = Callable[[], Roost]


pytestmark = pytest.mark.usefixtures("stale_index")


def catch_up(roost: Roost) -> None:
    roost.current_index()


def inventories(generation: int, **totals: int) -> InventoryChange:
    return InventoryChange(
        provider_uuid=uid("host"),
        inventories={name: Inventory(total=total) for name, total in totals.items()},
        expected_generation=generation,
    )


def test_what_another_service_claimed_is_not_granted_again(pair: tuple[Roost, Roost]) -> None:
    first, second = pair
    put(first, claim("a", {"host": {"VCPU": 3}}))
    with pytest.raises(CapacityExceeded):
        put(second, claim("b", {"host": {"VCPU": 2}}))
    put(second, claim("b", {"host": {"VCPU": 1}}))
    assert used(first, "host", "VCPU") == 4


def test_what_another_service_released_can_be_claimed(pair: tuple[Roost, Roost]) -> None:
    first, second = pair
    put(first, claim("a", {"host": {"VCPU": 4}}))
    catch_up(second)
    # Moves no generation, so only the refusal shows that the index is stale.
    delete_allocations(first, consumer_uuid=uid("a"))
    put(second, claim("b", {"host": {"VCPU": 4}}))
    assert used(first, "host", "VCPU") == 4


def test_a_smaller_inventory_limits_claims_at_once(pair: tuple[Roost, Roost]) -> None:
    first, second = pair
    replace_inventories(first, change=inventories(1, VCPU=1, MEMORY_MB=100))
    with pytest.raises(CapacityExceeded):
        put(second, claim("a", {"host": {"VCPU": 2}}))


def test_a_deleted_provider_is_unknown(pair: tuple[Roost, Roost]) -> None:
    first, second = pair
    delete_provider(first, uuid=uid("host"))
    # SQLite gives the id of the deleted provider to the new one.
    add_provider(first, "other", VCPU=4, MEMORY_MB=100)
    with pytest.raises(UnknownProvider):
        put(second, claim("a", {"host": {"VCPU": 1}}))
    assert used(first, "other", "VCPU") == 0


def test_a_consumer_that_exists_is_not_new(pair: tuple[Roost, Roost]) -> None:
    first, second = pair
    put(first, claim("a", {"host": {"VCPU": 1}}))
    catch_up(second)
    with pytest.raises(ConsumerGenerationConflict):
        put(second, claim("a", {"host": {"VCPU": 1}}))
    with pytest.raises(ConsumerGenerationConflict):
        put(second, claim("a", {}))
    put(second, claim("a", {"host": {"VCPU": 2}}, expected_generation=1))
    assert used(first, "host", "VCPU") == 2


def test_a_renamed_class_is_known_by_its_new_name_only(pair: tuple[Roost, Roost]) -> None:
    first, second = pair
    ensure_resource_class(first, name="CUSTOM_OLD")
    replace_inventories(first, change=inventories(1, CUSTOM_OLD=4))
    catch_up(second)
    rename_resource_class(first, name="CUSTOM_OLD", new_name="CUSTOM_NEW")
    with pytest.raises(UnknownResourceClass):
        put(second, claim("a", {"host": {"CUSTOM_OLD": 1}}))
    put(second, claim("a", {"host": {"CUSTOM_NEW": 1}}))
    # The class is in use, under its new name, so its inventory must stay.
    replace_inventories(second, change=inventories(3, CUSTOM_NEW=5, VCPU=1))
    assert read_inventories(first, provider_uuid=uid("host")).inventories == {
        "VCPU": Inventory(total=1),
        "CUSTOM_NEW": Inventory(total=5),
    }


def test_writers_that_saw_an_older_generation_are_refused(pair: tuple[Roost, Roost]) -> None:
    first, second = pair
    replace_inventories(first, change=inventories(1, VCPU=2))
    with pytest.raises(ProviderGenerationConflict):
        # The generation in the index of the second service.
        replace_inventories(second, change=inventories(1, VCPU=3))
    replace_inventories(second, change=inventories(2, VCPU=3))
    assert read_provider(first, uuid=uid("host")).generation == 3


def test_traits_are_those_of_the_last_writer(pair: tuple[Roost, Roost]) -> None:
    first, second = pair
    host = uid("host")
    ensure_trait(first, name="CUSTOM_A")
    catch_up(second)
    avx = {"HW_CPU_X86_AVX"}
    replace_traits(first, provider_uuid=host, traits={"CUSTOM_A"}, expected_generation=1)
    with pytest.raises(ProviderGenerationConflict):
        # By the index of the second service nothing would change, but that index is stale.
        replace_traits(second, provider_uuid=host, traits=set(), expected_generation=1)
    replace_traits(second, provider_uuid=host, traits=avx, expected_generation=2)
    assert read_traits(first, provider_uuid=host).traits == tuple(avx)
    delete_trait(first, name="CUSTOM_A")
    # The new trait may get the id of the deleted one.
    ensure_trait(first, name="CUSTOM_B")
    with pytest.raises(UnknownTrait):
        replace_traits(second, provider_uuid=host, traits={"CUSTOM_A"}, expected_generation=3)


def test_aggregates_are_those_of_the_last_writer(pair: tuple[Roost, Roost]) -> None:
    first, second = pair
    host = uid("host")
    # Before 1.19 the generation does not move.
    replace_aggregates(first, provider_uuid=host, aggregates=[uid("one")], expected_generation=None)
    replace_aggregates(second, provider_uuid=host, aggregates=[uid("two")], expected_generation=1)
    assert read_aggregates(first, provider_uuid=host).aggregates == (uid("two"),)
    with pytest.raises(ProviderGenerationConflict):
        replace_aggregates(first, provider_uuid=host, aggregates=[], expected_generation=1)


def test_racing_claims_never_exceed_capacity(open_roost: OpenRoost) -> None:
    """Thirty claims of three services with equally stale indexes: as many succeed as fit."""
    services = [open_roost() for _ in range(3)]
    add_provider(services[0], "host", VCPU=20)
    add_provider(services[0], "storage", DISK_GB=1000)
    for each in services:
        catch_up(each)
    claims = [
        partial(put, each, claim(f"{n}-{m}", {"host": {"VCPU": 3}, "storage": {"DISK_GB": 10}}))
        for n, each in enumerate(services)
        for m in range(10)
    ]
    results = run_concurrently(claims)
    assert used(services[0], "host", "VCPU") == 18
    assert used(services[0], "storage", "DISK_GB") == 60
    assert results.count(None) == 6
    assert {type(refusal) for refusal in refusals(results)} == {CapacityExceeded}
    # A process applies its own writes without reading them back; the result must be the same.
    for each in services:
        index = each.current_index()
        _, rows = each.store.load()
        assert index.contents() == Index.build(rows).contents()
