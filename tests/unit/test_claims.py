"""The rules for claims, without a database: `roost.claims`."""

from typing import Any

import pytest

from roost.claims import InventoryState, check_capacity, check_consumer_generation, check_not_in_use
from roost.errors import (
    CapacityExceeded,
    ConstraintViolated,
    ConsumerGenerationConflict,
    InventoryInUse,
    MissingInventory,
)
from roost.model import ConsumerChange, Inventory

IDS = {"VCPU": 0, "MEMORY_MB": 1, "DISK_GB": 2}


def state(used: int, *, class_id: int = 0, **fields: Any) -> InventoryState:
    return InventoryState(
        class_id=class_id, inventory=Inventory(**{"total": 10, **fields}), used=used
    )


def change(**allocations: dict[str, int]) -> ConsumerChange:
    return ConsumerChange(consumer_uuid="c", allocations=allocations)


@pytest.mark.parametrize(
    ("used", "released", "amount", "fits"),
    [
        (0, 0, 10, True),
        (0, 0, 11, False),
        (8, 0, 2, True),
        (8, 0, 3, False),
        (8, 4, 6, True),
        (8, 4, 7, False),
        # Used beyond capacity: a claim may not make it worse.
        (16, 6, 6, True),
        (16, 6, 5, True),
        (16, 6, 7, False),
        (16, 0, 1, False),
    ],
)
def test_claims_may_not_exceed_the_capacity(
    used: int, released: int, amount: int, fits: bool
) -> None:
    inventories = {"p": {"VCPU": state(used)}}
    changes = [change(p={"VCPU": amount})]
    if fits:
        check_capacity(inventories, {("p", "VCPU"): released}, changes, IDS)
    else:
        with pytest.raises(CapacityExceeded):
            check_capacity(inventories, {("p", "VCPU"): released}, changes, IDS)


def test_changes_are_checked_together() -> None:
    """One consumer may take what another releases; the amounts of two are added up."""
    inventories = {"p": {"VCPU": state(16)}}
    released = {("p", "VCPU"): 8}
    check_capacity(inventories, released, [change(p={"VCPU": 5}), change(p={"VCPU": 3})], IDS)
    with pytest.raises(CapacityExceeded):
        check_capacity(inventories, released, [change(p={"VCPU": 5}), change(p={"VCPU": 4})], IDS)


@pytest.mark.parametrize("amount", [1, 3, 8, 2**40])
def test_units_are_checked_for_every_amount(amount: int) -> None:
    inventories = {"p": {"VCPU": state(amount, total=100, min_unit=2, max_unit=6, step_size=2)}}
    with pytest.raises(ConstraintViolated):
        check_capacity(inventories, {("p", "VCPU"): amount}, [change(p={"VCPU": amount})], IDS)


def test_a_provider_without_any_class_asked_for_is_named_first() -> None:
    inventories = {"p": {"VCPU": state(0)}, "q": {"DISK_GB": state(0, class_id=2)}}
    changes = [change(p={"VCPU": 99}, q={"MEMORY_MB": 1})]
    with pytest.raises(MissingInventory) as refusal:
        check_capacity(inventories, {}, changes, IDS)
    assert "'VCPU, MEMORY_MB' on resource provider 'q'" in str(refusal.value)
    # A provider with another one of the classes is checked in the order of the request.
    inventories["q"]["VCPU"] = state(0)
    with pytest.raises(CapacityExceeded):
        check_capacity(inventories, {}, changes, IDS)


@pytest.mark.parametrize(
    ("expected", "current", "fits"),
    [(None, None, True), (1, 1, True), (None, 1, False), (1, None, False)],
)
def test_the_generation_of_a_consumer_is_checked(
    expected: int | None, current: int | None, fits: bool
) -> None:
    checked = ConsumerChange(
        consumer_uuid="c", allocations={}, checks_generation=True, expected_generation=expected
    )
    if fits:
        check_consumer_generation(checked, current)
    else:
        with pytest.raises(ConsumerGenerationConflict):
            check_consumer_generation(checked, current)
    # A client that does not check the generation is not refused.
    check_consumer_generation(ConsumerChange(consumer_uuid="c", allocations={}), current)


def test_inventories_in_use_are_named_in_the_order_of_their_ids() -> None:
    inventories = {
        "VCPU": state(1),
        "MEMORY_MB": state(0, class_id=1),
        "DISK_GB": state(2, class_id=2),
    }
    check_not_in_use("p", inventories, ["MEMORY_MB"])
    with pytest.raises(InventoryInUse, match="'VCPU, DISK_GB'"):
        check_not_in_use("p", inventories, ["DISK_GB", "MEMORY_MB", "VCPU"])
