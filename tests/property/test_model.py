"""The capacity rule at its limits, and its vector form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.model import INTEGER_MAX, Inventory, capacity, fits, fits_units
from roost.search.index.index import Index
from roost.search.match import fits_mask
from tests.support.world import build, provider, rows

RATIOS = st.sampled_from([1.0, 0.1, 0.29, 0.5, 1.1, 1.5, 16.0, 1e-9]) | st.floats(0.0, 1e6)


@st.composite
def inventories(draw: st.DrawFn) -> Inventory:
    total = draw(st.integers(1, 100) | st.integers(1, INTEGER_MAX))
    minimum = draw(st.integers(1, 12))
    return Inventory(
        total=total,
        reserved=draw(st.integers(0, total)),
        min_unit=minimum,
        max_unit=draw(st.integers(minimum, 100) | st.integers(minimum, INTEGER_MAX)),
        step_size=draw(st.integers(1, 7)),
        allocation_ratio=draw(RATIOS),
    )


@pytest.mark.parametrize(
    ("total", "reserved", "ratio", "expected"),
    [
        (7, 0, 0.5, 3),
        (100, 0, 0.29, 28),  # 100 * 0.29 is 28.999... in binary, and is not rounded up
        (10, 9, 1.1, 1),
        (10, 10, 16.0, 0),
        (1, 0, 0.5, 0),
        (8, 0, 16.0, 128),
        (10, 2, 1.5, 12),
        (INTEGER_MAX, 0, 1.0, INTEGER_MAX),
        (INTEGER_MAX, INTEGER_MAX, 16.0, 0),
        (INTEGER_MAX, 1, 1.0, INTEGER_MAX - 1),
        (INTEGER_MAX, 0, 2.0, 2 * INTEGER_MAX),  # beyond 32 bits
        (INTEGER_MAX, 0, 0.0, 0),
    ],
)
def test_capacity_at_its_limits(total: int, reserved: int, ratio: float, expected: int) -> None:
    assert capacity(total, reserved, ratio) == expected


@given(inventories())
def test_capacity_is_whole_and_never_too_large(inventory: Inventory) -> None:
    free = (inventory.total - inventory.reserved) * inventory.allocation_ratio
    assert isinstance(inventory.capacity, int)
    assert inventory.capacity <= free < inventory.capacity + 1


@given(inventories())
def test_capacity_is_the_last_amount_that_fits(inventory: Inventory) -> None:
    unlimited = Inventory(
        total=inventory.total,
        reserved=inventory.reserved,
        allocation_ratio=inventory.allocation_ratio,
        max_unit=2**63,
    )
    assert not fits(unlimited, 0, inventory.capacity + 1)
    if inventory.capacity:
        assert fits(unlimited, 0, inventory.capacity)
        assert fits(unlimited, inventory.capacity - 1, 1)
        assert not fits(unlimited, inventory.capacity, 1)


@given(inventories(), st.integers(1, 200))
def test_amounts_respect_min_unit_max_unit_and_step_size(inventory: Inventory, amount: int) -> None:
    expected = (
        amount >= inventory.min_unit
        and amount <= inventory.max_unit
        and amount in range(0, amount + 1, inventory.step_size)
    )
    assert fits_units(inventory, amount) == expected


@given(
    st.lists(st.tuples(inventories(), st.integers(0, INTEGER_MAX)), min_size=1, max_size=6),
    st.integers(1, 120) | st.integers(1, INTEGER_MAX),
)
def test_the_vector_form_is_the_same_rule(
    inventories_and_usage: list[tuple[Inventory, int]], amount: int
) -> None:
    world = build(
        *(
            provider(f"p{number}", {"VCPU": inventory}, used={"VCPU": used})
            for number, (inventory, used) in enumerate(inventories_and_usage)
        )
    )
    index = Index.build(rows(world))
    column = index.columns[index.classes.ids["VCPU"]]
    mask = fits_mask(column, np.arange(len(inventories_and_usage)), amount)
    found = {index.uuids[int(row)] for row in column.row[: len(inventories_and_usage)][mask]}
    assert found == {
        one.uuid
        for one in world.providers.values()
        if fits(one.inventories["VCPU"], one.used["VCPU"], amount)
    }
