"""What the agent moves when the shape of a tree has changed, whichever driver changed it."""

import copy

import pytest

from roost.agent.reshape import ReshapeImpossible
from roost.agent.reshape.changes import is_sensitive
from roost.agent.reshape.settlement import Excess, reshape_needed
from tests.agent.settling import held, holding, host, settled


def total(number, **fields):
    return {"total": number, **fields}


def used_per_provider(allocations, resource_class):
    used = {}
    for providers in held(allocations).values():
        for uuid, resources in providers.items():
            used[uuid] = used.get(uuid, 0) + resources.get(resource_class, 0)
    return {uuid: amount for uuid, amount in used.items() if amount}


# -- a class that leaves, in whole or in part

ROOT_8 = host({"VGPU": total(8)})
ROOT_4_CHILD_4 = host({"VGPU": total(4)}, gpu0={"VGPU": total(4)})


def test_a_class_that_leaves_in_part_is_moved_in_part():
    """Six of eight are held. The root has four of them afterwards, and the child four."""
    allocations = holding(**{f"c{n}": {"host": {"VGPU": 1}} for n in range(6)})
    settlement = settled(ROOT_8, ROOT_4_CHILD_4, allocations)
    used = used_per_provider(allocations, "VGPU")
    assert sum(used.values()) == 6
    assert max(used.values()) <= 4
    # What fits stays; nobody said who is on the card.
    assert used == {"host": 4, "gpu0": 2}
    assert len(settlement.guessed) == 2


def test_a_driver_says_who_is_on_the_card():
    allocations = holding(**{f"c{n}": {"host": {"VGPU": 1}} for n in range(6)})
    where = {"c5": {"VGPU": "gpu0"}, "c4": {"VGPU": "gpu0"}, "c3": {"VGPU": "gpu0"}}
    settlement = settled(ROOT_8, ROOT_4_CHILD_4, allocations, where)
    assert {name for name, providers in held(allocations).items() if "gpu0" in providers} == {
        "c3",
        "c4",
        "c5",
    }
    assert settlement.guessed == frozenset()


def test_a_driver_says_how_much_is_where():
    allocations = holding(a={"host": {"VGPU": 6}})
    settled(ROOT_8, ROOT_4_CHILD_4, allocations, {"a": {"VGPU": {"host": 3, "gpu0": 3}}})
    assert held(allocations)["a"] == {"host": {"VGPU": 3}, "gpu0": {"VGPU": 3}}


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ("gpu7", "6 VGPU of consumer a are on gpu7, which is not in the tree"),
        ("bare", "on bare, which offers none"),
        ("gpu0", "on gpu0, but 6 of 4 would be in use there"),
        ({"host": 1, "gpu0": 2}, "has 3 VGPU on host, gpu0, but it holds 6"),
    ],
)
def test_what_a_driver_says_has_to_be_possible(known, words):
    allocations = holding(a={"host": {"VGPU": 6}})
    before = copy.deepcopy(allocations)
    after = ROOT_4_CHILD_4.copy()
    after.new_child("bare", "host", uuid="bare")
    with pytest.raises(ReshapeImpossible, match=words):
        settled(ROOT_8, after, allocations, {"a": {"VGPU": known}})
    assert allocations == before


def test_what_a_driver_says_may_count_in_what_stays():
    before = host({"VGPU": total(8)}, gpu0={"VGPU": total(4)})
    after = host({}, gpu0={"VGPU": total(4)}, gpu1={"VGPU": total(8)})
    allocations = holding(a={"host": {"VGPU": 2}, "gpu0": {"VGPU": 1}})
    settled(before, after, allocations, {"a": {"VGPU": {"gpu0": 1, "gpu1": 2}}})
    assert held(allocations)["a"] == {"gpu0": {"VGPU": 1}, "gpu1": {"VGPU": 2}}


def test_a_move_to_the_only_possible_provider_is_not_guessed():
    after = host({}, gpu0={"VGPU": total(8)})
    allocations = holding(a={"host": {"VGPU": 6}})
    assert settled(ROOT_8, after, allocations).guessed == frozenset()
    assert held(allocations)["a"] == {"gpu0": {"VGPU": 6}}


def test_two_numa_nodes_become_four():
    before = host({}, **{f"numa{n}": {"VCPU": total(16), "MEMORY_MB": total(64)} for n in range(2)})
    after = host({}, **{f"numa{n}": {"VCPU": total(8), "MEMORY_MB": total(32)} for n in range(4)})
    allocations = holding(
        **{f"c{n}": {f"numa{n % 2}": {"VCPU": 4, "MEMORY_MB": 16}} for n in range(8)}
    )
    settled(before, after, allocations)
    assert used_per_provider(allocations, "VCPU") == {f"numa{n}": 8 for n in range(4)}
    # Each consumer is on one node.
    assert all(len(providers) == 1 for providers in held(allocations).values())


def test_guests_of_two_numa_nodes_stay_apart():
    """What a consumer holds of two nodes is not gathered on one that has room for both."""
    before = host({}, **{f"numa{n}": {"VCPU": total(16)} for n in range(2)})
    after = host({}, **{f"numa{n}": {"VCPU": total(8)} for n in range(4)})
    allocations = holding(
        wide={"numa0": {"VCPU": 4}, "numa1": {"VCPU": 4}},
        **{f"c{n}": {f"numa{n % 2}": {"VCPU": 6}} for n in range(2)},
    )
    settled(before, after, allocations)
    assert sorted(each["VCPU"] for each in held(allocations)["wide"].values()) == [4, 4]


def test_a_smaller_ratio_moves_nothing_that_fits():
    before = host({"VCPU": total(8, allocation_ratio=4.0)})
    after = host({"VCPU": total(8, allocation_ratio=1.0)})
    allocations = holding(a={"host": {"VCPU": 8}})
    unchanged = copy.deepcopy(allocations)
    settled(before, after, allocations)
    assert allocations == unchanged


# -- nowhere to go


@pytest.mark.parametrize("fields", [{"total": 4}, {"total": 8, "allocation_ratio": 0.5}])
def test_a_shrink_below_what_is_held_is_refused_unless_it_is_allowed(fields):
    after = host({"VGPU": fields})
    allocations = holding(a={"host": {"VGPU": 6}})
    before = copy.deepcopy(allocations)
    with pytest.raises(ReshapeImpossible, match="6 of 4 VGPU of host are in use"):
        settled(ROOT_8, after, allocations)
    settlement = settled(ROOT_8, after, allocations, allow_excess=True)
    assert allocations == before
    assert settlement.excess == (Excess("host", "VGPU", 6, 4),)


def test_what_is_only_reserved_may_be_held_on():
    """It is still there. Drivers of bare metal reserve all of a node that is in use."""
    after = host({"VGPU": total(8, reserved=4)})
    allocations = holding(a={"host": {"VGPU": 6}})
    before = copy.deepcopy(allocations)
    settlement = settled(ROOT_8, after, allocations)
    assert allocations == before
    assert settlement.excess == (Excess("host", "VGPU", 6, 4),)


def test_a_shrink_with_room_on_other_providers_that_have_not_grown_is_refused():
    """A card that has been there all the time has not got the resources of another."""
    before = host({}, gpu0={"VGPU": total(8)}, gpu1={"VGPU": total(8)})
    after = host({}, gpu0={"VGPU": total(4)}, gpu1={"VGPU": total(8)})
    allocations = holding(a={"gpu0": {"VGPU": 6}})
    with pytest.raises(ReshapeImpossible, match="6 of 4 VGPU of gpu0 are in use"):
        settled(before, after, allocations)
    # Unless the driver knows better.
    settled(before, after, allocations, {"a": {"VGPU": "gpu1"}})
    assert held(allocations)["a"] == {"gpu1": {"VGPU": 6}}


def test_a_device_that_is_gone_while_it_is_held_is_refused_in_any_case():
    before = host({}, gpu0={"PGPU": total(1)}, gpu1={"PGPU": total(1)})
    after = host({}, gpu1={"PGPU": total(1)})
    for allow_excess in (False, True):
        with pytest.raises(ReshapeImpossible, match=r"gpu0 offers no PGPU any more, but 1 consum"):
            settled(before, after, holding(a={"gpu0": {"PGPU": 1}}), allow_excess=allow_excess)


def test_more_than_there_is_room_for_is_refused_in_any_case():
    after = host({"VGPU": total(2)}, gpu0={"VGPU": total(2)})
    for allow_excess in (False, True):
        with pytest.raises(ReshapeImpossible, match=r"VGPU moves from host to host, gpu0, but"):
            settled(ROOT_8, after, holding(a={"host": {"VGPU": 6}}), allow_excess=allow_excess)


def test_an_excess_that_was_there_before_stays():
    before = host({"VGPU": total(4), "VCPU": total(4)})
    before.set_used("host", {"VGPU": 6})
    after = host({"VGPU": total(4), "VCPU": total(2)})
    allocations = holding(a={"host": {"VGPU": 6}})
    assert settled(before, after, allocations).excess == ()


def test_a_driver_that_moves_too_much_itself_is_refused():
    before = host({"VGPU": total(8)}, gpu0={"VGPU": total(4)})
    before.set_used("gpu0", {"VGPU": 0})
    after = host({}, gpu0={"VGPU": total(4)})
    with pytest.raises(ReshapeImpossible, match="6 of 4 VGPU of gpu0 are in use"):
        settled(before, after, holding(a={"gpu0": {"VGPU": 6}}))


def test_units_that_other_allocations_of_a_mover_break_are_named():
    """The service would refuse to write such a consumer at all."""
    before = host({"VGPU": total(8), "VCPU": total(8)})
    after = host({"VCPU": total(8, max_unit=2)}, gpu0={"VGPU": total(8)})
    with pytest.raises(ReshapeImpossible, match="would hold 4 VCPU of host, which its min_unit"):
        settled(before, after, holding(a={"host": {"VGPU": 1, "VCPU": 4}}))
    # Those who need not move keep what they have.
    settled(before, after, holding(a={"host": {"VCPU": 4}}))


# -- whether a reshape is needed


def test_usages_decide_whether_a_reshape_is_needed():
    before = ROOT_8.copy()
    assert reshape_needed(before, ROOT_4_CHILD_4, "host") == (
        "VGPU moves from host (consumers may hold some) to gpu0"
    )
    before.set_used("host", {"VGPU": 6})
    assert reshape_needed(before, ROOT_4_CHILD_4, "host") == (
        "VGPU moves from host (consumers hold 6) to gpu0"
    )
    assert reshape_needed(before, host({"VGPU": total(5)}), "host") == (
        "VGPU of host (consumers hold 6) shrinks"
    )
    assert reshape_needed(before, host({"VGPU": total(6)}), "host") is None
    assert reshape_needed(before, host({"VGPU": total(9)}), "host") is None
    before.set_used("host", {"VGPU": 0})
    assert reshape_needed(before, ROOT_4_CHILD_4, "host") is None
    assert reshape_needed(before, host({}), "host") is None


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (host({"VGPU": total(8)}), False),
        (host({"VGPU": total(9)}, gpu0={"VGPU": total(1)}), False),
        (host({"VGPU": total(8, allocation_ratio=2.0)}), False),
        (host({"VGPU": total(7)}), True),
        (host({"VGPU": total(8, reserved=1)}), True),
        (host({"VGPU": total(8, max_unit=4)}), True),
        (host({"VGPU": total(8, step_size=2)}), True),
        (host({}), True),
    ],
)
def test_what_shrinks_is_sensitive(after, expected):
    assert is_sensitive(ROOT_8, after) is expected


# -- classes with new names


def renamed(tree, **names):
    tree.renamed_classes.update(names)
    return tree


def test_a_class_is_renamed_and_spreads_at_once():
    before = host({"CUSTOM_GPUZ": total(8)})
    after = renamed(host({}, gpu0={"PGPU": total(4)}, gpu1={"PGPU": total(4)}), CUSTOM_GPUZ="PGPU")
    allocations = holding(**{f"c{n}": {"host": {"CUSTOM_GPUZ": 2}} for n in range(4)})
    assert reshape_needed(before, after, "host") == (
        "CUSTOM_GPUZ of host (consumers may hold some) becomes PGPU"
    )
    settled(before, after, allocations)
    assert used_per_provider(allocations, "PGPU") == {"gpu0": 4, "gpu1": 4}
    assert used_per_provider(allocations, "CUSTOM_GPUZ") == {}


def test_a_part_of_a_class_is_renamed():
    before = host({"VCPU": total(16)})
    after = renamed(host({"VCPU": total(8), "PCPU": total(8)}), VCPU="PCPU")
    allocations = holding(a={"host": {"VCPU": 8}}, b={"host": {"VCPU": 2}}, c={"host": {"VCPU": 4}})
    settlement = settled(before, after, allocations)
    # As many as possible keep what they have.
    assert held(allocations) == {
        "a": {"host": {"PCPU": 8}},
        "b": {"host": {"VCPU": 2}},
        "c": {"host": {"VCPU": 4}},
    }
    assert settlement.guessed == {("a", "PCPU")}


def test_a_driver_says_who_gets_the_new_name():
    before = host({"VCPU": total(16)})
    after = renamed(
        host(
            {},
            numa0={"VCPU": total(4), "PCPU": total(4)},
            numa1={"VCPU": total(4), "PCPU": total(4)},
        ),
        VCPU="PCPU",
    )
    allocations = holding(**{name: {"host": {"VCPU": 4}} for name in "abcd"})
    where = {
        "a": {"VCPU": "numa0"},
        "b": {"PCPU": "numa0"},
        "c": {"PCPU": "numa1"},
        "d": {"VCPU": {"numa1": 4}},
    }
    settlement = settled(before, after, allocations, where)
    assert held(allocations) == {
        "a": {"numa0": {"VCPU": 4}},
        "b": {"numa0": {"PCPU": 4}},
        "c": {"numa1": {"PCPU": 4}},
        "d": {"numa1": {"VCPU": 4}},
    }
    assert settlement.guessed == frozenset()


def test_two_classes_swap_their_names():
    before = host({"VCPU": total(8), "PCPU": total(4)})
    after = renamed(host({"VCPU": total(4), "PCPU": total(8)}), VCPU="PCPU", PCPU="VCPU")
    allocations = holding(a={"host": {"VCPU": 8}})
    settled(before, after, allocations)
    assert held(allocations) == {"a": {"host": {"PCPU": 8}}}


def test_a_rename_that_is_done_does_nothing():
    tree = renamed(host({"VCPU": total(8), "PCPU": total(8)}), VCPU="PCPU")
    allocations = holding(a={"host": {"VCPU": 8}})
    assert reshape_needed(tree, tree, "host") is None
    settled(tree, tree, allocations)
    assert held(allocations) == {"a": {"host": {"VCPU": 8}}}


def test_a_sentence_about_hundreds_of_providers_is_short():
    cards = {f"gpu{number}": {"VGPU": total(1)} for number in range(300)}
    before = host({"VGPU": total(300)})
    before.set_used("host", {"VGPU": 6})
    reason = reshape_needed(before, host({}, **cards), before.data("host").uuid)
    assert reason == (
        "VGPU moves from host (consumers hold 6) to gpu0, gpu1, gpu2, gpu3, gpu4, gpu5, gpu6, "
        "gpu7, 292 more"
    )
