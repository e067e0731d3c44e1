"""Racing claims: as many succeed as there is capacity for, no more and no fewer."""

from collections.abc import Callable
from functools import partial

from roost.errors import (
    CapacityExceeded,
    ConsumerGenerationConflict,
    InventoryInUse,
    MissingInventory,
)
from roost.operations.allocations import read_consumer
from roost.operations.inventories import delete_inventories
from roost.operations.providers import delete_provider, read_provider
from roost.operations.usages import read_usages
from roost.service.service import Roost
from tests.concurrency.races import add_provider, claim, put, refusals, run_concurrently, used
from tests.support.names import uid

OpenRoost = Callable[[], Roost]


def test_exactly_as_many_claims_succeed_as_fit(open_roost: OpenRoost) -> None:
    """Twenty threads of two services claim 3 of 20 each: six fit."""
    first, second = open_roost(), open_roost()
    add_provider(first, "host", VCPU=20)
    claims = [
        partial(put, service, claim(f"{number}-{index}", {"host": {"VCPU": 3}}))
        for number in range(10)
        for index, service in enumerate([first, second])
    ]
    results = run_concurrently(claims)
    assert used(first, "host", "VCPU") == 18
    assert results.count(None) == 6
    assert {type(refusal) for refusal in refusals(results)} == {CapacityExceeded}


def test_no_claim_is_refused_while_there_is_room(open_roost: OpenRoost) -> None:
    first, second = open_roost(), open_roost()
    add_provider(first, "host", VCPU=20)
    claims = [
        partial(put, service, claim(f"{number}-{index}", {"host": {"VCPU": 1}}))
        for number in range(10)
        for index, service in enumerate([first, second])
    ]
    assert run_concurrently(claims) == [None] * 20
    assert used(first, "host", "VCPU") == 20
    # Each claim moved the generation once.
    assert read_provider(first, uuid=uid("host")).generation == 1 + 20
    for service in (first, second):
        assert read_usages(service, provider_uuid=uid("host")).usages == {"VCPU": 20}


def test_one_of_many_first_writes_of_a_consumer_wins(open_roost: OpenRoost) -> None:
    first, second = open_roost(), open_roost()
    for number in range(5):
        add_provider(first, f"host{number}", VCPU=8)
    claims = [
        partial(put, service, claim("consumer", {f"host{number}": {"VCPU": 1}}))
        for number in range(5)
        for service in (first, second)
    ]
    results = run_concurrently(claims)
    assert results.count(None) == 1
    assert {type(refusal) for refusal in refusals(results)} == {ConsumerGenerationConflict}
    held = read_consumer(first, consumer_uuid=uid("consumer"))
    assert held is not None
    assert held.generation == 1
    assert sum(used(first, f"host{number}", "VCPU") for number in range(5)) == 1


def test_writers_that_give_no_generation_all_succeed(open_roost: OpenRoost) -> None:
    """Before 1.28 the last write wins, and no write is applied by half."""
    first, second = open_roost(), open_roost()
    add_provider(first, "left", VCPU=8)
    add_provider(first, "right", VCPU=8)
    claims = [
        partial(
            put,
            service,
            claim("consumer", {side: {"VCPU": number + 1}}, checks_generation=False),
        )
        for number in range(4)
        for service, side in ((first, "left"), (second, "right"))
    ]
    assert run_concurrently(claims) == [None] * 8
    held = read_consumer(first, consumer_uuid=uid("consumer"))
    assert held is not None
    assert held.generation == 8
    assert len(held.allocations) == 1
    total = used(first, "left", "VCPU") + used(first, "right", "VCPU")
    assert total == sum(
        amount for share in held.allocations.values() for amount in share.resources.values()
    )


def test_claims_in_opposite_order_all_succeed(open_roost: OpenRoost) -> None:
    """Multi-provider claims that name the same providers in opposite order."""
    first, second = open_roost(), open_roost()
    names = [f"host{number}" for number in range(4)]
    for name in names:
        add_provider(first, name, VCPU=100)
    claims = [
        partial(
            put,
            service,
            claim(f"{number}-{index}", {name: {"VCPU": 1} for name in order}),
        )
        for number in range(6)
        for index, (service, order) in enumerate([(first, names), (second, names[::-1])])
    ]
    assert run_concurrently(claims) == [None] * 12
    assert [used(first, name, "VCPU") for name in names] == [12] * 4


def test_an_inventory_is_deleted_or_claimed_but_not_both(open_roost: OpenRoost) -> None:
    first, second = open_roost(), open_roost()
    for number in range(12):
        name = f"host{number}"
        add_provider(first, name, VCPU=8)
        deleted, claimed = run_concurrently(
            [
                partial(delete_inventories, first, provider_uuid=uid(name), resource_class="VCPU"),
                partial(put, second, claim(f"consumer{number}", {name: {"VCPU": 1}})),
            ]
        )
        if isinstance(deleted, InventoryInUse):
            assert claimed is None
            assert used(first, name, "VCPU") == 1
        else:
            assert isinstance(claimed, MissingInventory)
            assert used(first, name, "VCPU") == 0


def test_a_provider_is_deleted_or_claimed_but_not_both(open_roost: OpenRoost) -> None:
    first, second = open_roost(), open_roost()
    for number in range(12):
        name = f"host{number}"
        add_provider(first, name, VCPU=8)
        results = run_concurrently(
            [
                partial(delete_provider, first, uuid=uid(name)),
                partial(put, second, claim(f"consumer{number}", {name: {"VCPU": 1}})),
            ]
        )
        assert len(refusals(results)) == 1
        # Either the provider exists and has the claim, or both are gone.
        assert used(first, name, "VCPU") == (1 if results[1] is None else 0)
