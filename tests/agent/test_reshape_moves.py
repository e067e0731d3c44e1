"""Moving allocations to other providers, and to other classes."""

import copy
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.agent.driver import ReshapeNeeded
from roost.agent.reshape import (
    ReshapeImpossible,
    move_inventory,
    rename_class,
)
from roost.model import Inventory, fits
from tests.agent.settling import held, holding, host
from tests.support.names import uid


def vgpus(*totals, **fields):
    cards = {f"gpu{place}": {"VGPU": {"total": n, **fields}} for place, n in enumerate(totals)}
    return host({"VGPU": {"total": sum(totals)}, "DISK_GB": {"total": 100}}, **cards)


CARDS = ["gpu0", "gpu1"]


# -- one class from the root to children


def test_vgpus_move_to_the_cards():
    tree = vgpus(4, 4)
    allocations = holding(
        a={"host": {"VGPU": 3, "DISK_GB": 10}}, b={"host": {"VGPU": 3}}, c={"host": {"VGPU": 1}}
    )
    move_inventory(tree, allocations, "VGPU", "host", CARDS)
    assert set(tree.data("host").inventory) == {"DISK_GB"}
    found = held(allocations)
    assert found["a"].pop("host") == {"DISK_GB": 10}
    assert sorted(map(str, (found["a"], found["b"]))) == [
        "{'gpu0': {'VGPU': 3}}",
        "{'gpu1': {'VGPU': 3}}",
    ]
    assert list(found["c"].values()) == [{"VGPU": 1}]
    assert allocations["a"]["project_id"] == "project"


def test_without_allocations_a_reshape_is_needed():
    tree = vgpus(4, 4)
    before = tree.data("host")
    with pytest.raises(ReshapeNeeded, match="VGPU moves from host to gpu0, gpu1"):
        move_inventory(tree, None, "VGPU", "host", CARDS)
    assert tree.data("host") == before


def test_a_move_that_is_done_needs_no_reshape():
    tree = vgpus(4, 4)
    move_inventory(tree, holding(), "VGPU", "host", CARDS)
    move_inventory(tree, None, "VGPU", "host", CARDS)


def test_consumers_may_fill_all_cards():
    tree = vgpus(4, 4)
    allocations = holding(
        **{f"c{n}": {"host": {"VGPU": n}} for n in (1, 2, 3)}, d={"host": {"VGPU": 2}}
    )
    move_inventory(tree, allocations, "VGPU", "host", CARDS)
    assert all(len(providers) == 1 for providers in held(allocations).values())


def test_an_amount_larger_than_a_card_is_split():
    tree = vgpus(4, 4)
    allocations = holding(big={"host": {"VGPU": 6}}, small={"host": {"VGPU": 2}})
    move_inventory(tree, allocations, "VGPU", "host", CARDS)
    found = held(allocations)
    assert sorted(each["VGPU"] for each in found["big"].values()) == [2, 4]
    assert len(found["small"]) == 1


def test_pieces_respect_the_units():
    tree = vgpus(6, 6, min_unit=2, max_unit=4, step_size=2)
    allocations = holding(big={"host": {"VGPU": 6}})
    move_inventory(tree, allocations, "VGPU", "host", CARDS)
    assert sorted(each["VGPU"] for each in held(allocations)["big"].values()) == [2, 4]


def test_the_search_for_a_way_backtracks():
    """6 and 3 on one card and 4 and 4 on the other would leave no card for the last 3."""
    tree = vgpus(10, 10)
    amounts = [6, 4, 4, 3, 3]
    allocations = holding(**{f"c{n}": {"host": {"VGPU": each}} for n, each in enumerate(amounts)})
    move_inventory(tree, allocations, "VGPU", "host", CARDS)
    assert all(len(providers) == 1 for providers in held(allocations).values())


@pytest.mark.parametrize(
    ("tree", "amount"),
    [
        (vgpus(4, 4), 9),  # more than the cards have
        (vgpus(4, 4, step_size=2), 3),  # not a multiple of the step
        (vgpus(4, 4, min_unit=4, max_unit=4), 6),  # 4 and 2, and 2 is below min_unit
        (vgpus(4, 4, reserved=2), 5),
        (vgpus(4, 4, allocation_ratio=0.5), 5),
    ],
)
def test_a_move_that_does_not_fit_changes_nothing(tree, amount):
    allocations = holding(a={"host": {"VGPU": amount}}, b={"host": {"DISK_GB": 1}})
    before, inventory = copy.deepcopy(allocations), tree.data("host").inventory
    with pytest.raises(ReshapeImpossible, match=f"VGPU moves from host .* {amount} .*do not fit"):
        move_inventory(tree, allocations, "VGPU", "host", CARDS)
    assert allocations == before
    assert tree.data("host").inventory == inventory


def test_a_refusal_says_if_it_is_the_units_and_if_it_is_certain(monkeypatch):
    with pytest.raises(ReshapeImpossible, match=r"do not fit .*, but not in units that would do"):
        move_inventory(
            vgpus(4, 4, step_size=2), holding(a={"host": {"VGPU": 3}}), "VGPU", "host", CARDS
        )
    # Three and two would do, which takes a model.
    monkeypatch.setattr("roost.agent.reshape.packing.integers.VARIABLES_MAX", 1)
    with pytest.raises(ReshapeImpossible, match=r"5 .* found no place in a bounded search"):
        move_inventory(
            vgpus(4, 3, min_unit=2), holding(a={"host": {"VGPU": 5}}), "VGPU", "host", CARDS
        )


def test_what_a_consumer_holds_of_the_target_counts():
    tree = vgpus(4, 4, max_unit=3)
    allocations = holding(a={"host": {"VGPU": 2}, "gpu0": {"VGPU": 2}}, b={"gpu1": {"VGPU": 3}})
    move_inventory(tree, allocations, "VGPU", "host", CARDS)
    # 2 and 2 are more than the 3 that one consumer may have of a card, and gpu1 has 1 left.
    assert held(allocations)["a"] == {"gpu0": {"VGPU": 3}, "gpu1": {"VGPU": 1}}


def test_a_target_without_an_inventory_is_refused():
    tree = vgpus(4, 4)
    tree.update_inventory("gpu1", {})
    with pytest.raises(ReshapeImpossible, match="gpu1 has no inventory of VGPU"):
        move_inventory(tree, holding(a={"host": {"VGPU": 1}}), "VGPU", "host", CARDS)


def test_vgpus_move_back_to_the_root():
    tree = vgpus(4, 4)
    allocations = holding(a={"gpu0": {"VGPU": 2}, "gpu1": {"VGPU": 1}}, b={"gpu1": {"VGPU": 3}})
    for card in CARDS:
        move_inventory(tree, allocations, "VGPU", card, ["host"])
    assert held(allocations) == {"a": {"host": {"VGPU": 3}}, "b": {"host": {"VGPU": 3}}}
    assert not tree.has_inventory("gpu0")


def test_many_consumers_are_moved():
    tree = vgpus(500, 500)
    allocations = holding(**{f"c{n}": {"host": {"VGPU": 1}} for n in range(1000)})
    move_inventory(tree, allocations, "VGPU", "host", CARDS)
    used = [uuid for providers in held(allocations).values() for uuid in providers]
    assert used.count("gpu0") == used.count("gpu1") == 500


# -- what the driver knows


def test_what_the_driver_knows_counts():
    tree = vgpus(4, 4)
    allocations = holding(
        a={"host": {"VGPU": 1}}, b={"host": {"VGPU": 4}}, c={"host": {"VGPU": 3}}, d={}
    )
    known = {"a": {"VGPU": "gpu1"}, "c": {"VGPU": {"gpu1": 3}, "DISK_GB": "host"}}
    move_inventory(tree, allocations, "VGPU", "host", CARDS, where=lambda each: known.get(each, {}))
    assert held(allocations) == {
        "a": {"gpu1": {"VGPU": 1}},
        "b": {"gpu0": {"VGPU": 4}},
        "c": {"gpu1": {"VGPU": 3}},
        "d": {},
    }
    assert tree.guessed == {("b", "VGPU")}
    assert "VGPU" not in tree.data("host").inventory


def test_the_driver_is_asked_for_the_usual_spelling_of_a_consumer():
    spelled, asked = uid("a").upper(), []
    allocations = holding(**{spelled: {"host": {"VGPU": 2}, "gpu0": {"VGPU": 1}}})

    def where(consumer):
        asked.append(consumer)
        # With what it holds there already.
        return {"VGPU": {"gpu0": 2, "gpu1": 1}}

    move_inventory(vgpus(4, 4), allocations, "VGPU", "host", CARDS, where=where)
    assert asked == [uid("a")]
    assert held(allocations)[spelled] == {"gpu0": {"VGPU": 2}, "gpu1": {"VGPU": 1}}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("gpu2", "which is not in the tree"),
        ("host", "but the driver says that 3 of consumer a are on host"),
        ({"gpu0": 2}, "but it holds 3 that have to move"),
        ("gpu1", "consumer a has 3 VGPU on gpu1, which do not fit: 5 of 4 would be in use"),
    ],
)
def test_what_the_driver_says_has_to_be_possible(answer, words):
    tree = vgpus(4, 4)
    allocations = holding(a={"host": {"VGPU": 3}}, b={"gpu1": {"VGPU": 2}})
    before, inventory = copy.deepcopy(allocations), tree.data("host").inventory
    known = {"a": {"VGPU": answer}}
    with pytest.raises(ReshapeImpossible, match=words):
        move_inventory(
            tree, allocations, "VGPU", "host", CARDS, where=lambda each: known.get(each, {})
        )
    assert allocations == before
    assert tree.data("host").inventory == inventory


# -- renaming a class


def test_a_class_is_renamed():
    tree = host({"CUSTOM_GPU": {"total": 8, "reserved": 1}, "VCPU": {"total": 4}})
    allocations = holding(a={"host": {"CUSTOM_GPU": 5, "VCPU": 1}}, b={"host": {"CUSTOM_GPU": 2}})
    rename_class(tree, allocations, "host", "CUSTOM_GPU", "PGPU")
    assert tree.data("host").inventory["PGPU"]["reserved"] == 1
    assert set(tree.data("host").inventory) == {"PGPU", "VCPU"}
    assert held(allocations) == {
        "a": {"host": {"VCPU": 1, "PGPU": 5}},
        "b": {"host": {"PGPU": 2}},
    }
    rename_class(tree, None, "host", "CUSTOM_GPU", "PGPU")


def test_without_allocations_a_rename_needs_a_reshape():
    tree = host({"CUSTOM_GPU": {"total": 8}})
    with pytest.raises(ReshapeNeeded, match="CUSTOM_GPU of host becomes PGPU"):
        rename_class(tree, None, "host", "CUSTOM_GPU", "PGPU")


def test_amounts_of_both_names_are_added():
    tree = host({"CUSTOM_GPU": {"total": 8}, "PGPU": {"total": 4}})
    allocations = holding(a={"host": {"CUSTOM_GPU": 1, "PGPU": 2}})
    rename_class(tree, allocations, "host", "CUSTOM_GPU", "PGPU")
    assert held(allocations) == {"a": {"host": {"PGPU": 3}}}


def test_a_rename_that_does_not_fit_changes_nothing():
    tree = host({"CUSTOM_GPU": {"total": 8}, "PGPU": {"total": 4}})
    allocations = holding(a={"host": {"CUSTOM_GPU": 5}})
    before = copy.deepcopy(allocations)
    with pytest.raises(ReshapeImpossible, match="5 CUSTOM_GPU of consumer a on host"):
        rename_class(tree, allocations, "host", "CUSTOM_GPU", "PGPU")
    assert allocations == before
    assert tree.data("host").inventory["CUSTOM_GPU"]["total"] == 8


# -- compared with all possible ways

INVENTORIES = st.builds(
    Inventory,
    total=st.integers(1, 6),
    min_unit=st.integers(1, 2),
    max_unit=st.integers(2, 6),
    step_size=st.integers(1, 2),
)


def ways(amount, inventories):
    """All ways to split an amount into pieces that respect the units."""
    return [
        pieces
        for pieces in itertools.product(range(amount + 1), repeat=len(inventories))
        if sum(pieces) == amount
        and all(
            not piece or fits(inventory, 0, piece)
            for inventory, piece in zip(inventories, pieces, strict=True)
        )
    ]


@given(
    inventories=st.lists(INVENTORIES, min_size=1, max_size=3),
    amounts=st.lists(st.integers(1, 6), min_size=1, max_size=3),
)
@settings(max_examples=200, deadline=None)
def test_a_way_is_found_if_there_is_one(inventories, amounts):
    names = [f"gpu{place}" for place in range(len(inventories))]
    tree = host(
        {"VGPU": {"total": 100}},
        **{name: {"VGPU": each} for name, each in zip(names, inventories, strict=True)},
    )
    allocations = holding(**{f"c{n}": {"host": {"VGPU": each}} for n, each in enumerate(amounts)})
    possible = [
        chosen
        for chosen in itertools.product(*(ways(each, inventories) for each in amounts))
        if all(
            sum(column) <= inventory.capacity
            for inventory, column in zip(inventories, zip(*chosen, strict=True), strict=True)
        )
    ]
    try:
        move_inventory(tree, allocations, "VGPU", "host", names)
    except ReshapeImpossible:
        assert not possible
        return
    found = held(allocations)
    chosen = tuple(
        tuple(found[f"c{n}"].get(name, {}).get("VGPU", 0) for name in names)
        for n in range(len(amounts))
    )
    assert chosen in possible
    if any(all(each.count(0) == len(names) - 1 for each in way) for way in possible):
        assert all(each.count(0) == len(names) - 1 for each in chosen)
