"""What a packing prefers, and what it says where something does not fit."""

import pytest

from roost.agent.reshape.packing import Demand, DoesNotFit, Offer, pack
from roost.model import Inventory
from tests.agent.packing.hosts import from_root, nodes, staying
from tests.agent.packing.oracle import check


def offer(total, used=0, **fields):
    return Offer(Inventory(total=total, **fields), used)


def placed(packing):
    return {
        consumer: {provider for parts in pieces.values() for provider in parts}
        for consumer, pieces in packing.pieces.items()
    }


def test_everything_of_a_consumer_is_on_one_node():
    """Processors and memory fit each for itself in other ways, too."""
    offers, branches = nodes(2, VCPU=8, MEMORY_MB=80)
    wanted = [(6, 20), (2, 60), (5, 30), (3, 50)]
    demands = [from_root(at, VCPU=vcpus, MEMORY_MB=n) for at, (vcpus, n) in enumerate(wanted)]
    packing = pack(demands, offers, branches)
    assert (packing.torn, packing.is_proven) == ((), True)
    found = placed(packing)
    assert found["consumer0"] == found["consumer1"] != found["consumer2"] == found["consumer3"]


def test_what_can_stay_stays():
    offers, branches = nodes(2, VCPU=4)
    demands = [
        staying(0, "node0", VCPU=3),
        staying(1, "node0", VCPU=2),
        staying(2, "node1", VCPU=1),
    ]
    assert placed(pack(demands, offers, branches)) == {
        "consumer0": {"node0"},
        "consumer1": {"node1"},
        "consumer2": {"node1"},
    }


def test_those_that_move_are_those_who_hold_least():
    """Four have to leave: two and two, rather than five."""
    offers, branches = nodes(2, VCPU=9)
    demands = [staying(number, "node0", VCPU=n) for number, n in enumerate([5, 4, 2, 2])]
    packing = pack(demands, offers, branches)
    assert check(packing, demands, offers, branches).moved == 4


def test_room_is_shared_evenly():
    offers, branches = nodes(4, VCPU=10, MEMORY_MB=100)
    demands = [from_root(number, VCPU=1, MEMORY_MB=10) for number in range(20)]
    packing = pack(demands, offers, branches)
    found = [next(iter(providers)) for providers in placed(packing).values()]
    assert {name: found.count(name) for name in branches} == dict.fromkeys(branches, 5)


def test_what_is_fixed_keeps_the_rest_near():
    offers, branches = nodes(2, VCPU=8, MEMORY_MB=80)
    offers["VCPU"]["node1"] = offer(8, used=4)
    demands = [Demand("one", {"MEMORY_MB": 10}, {}, {"VCPU": {"node1": 4}})]
    assert placed(pack(demands, offers, branches)) == {"one": {"node1"}}


def test_what_is_fixed_counts_for_the_units():
    """Three are there already, and one allocation may have four."""
    offers = {"VGPU": {"card0": offer(8, used=3, max_unit=4), "card1": offer(8, max_unit=4)}}
    branches = {"card0": "card0", "card1": "card1"}
    demands = [Demand("one", {"VGPU": 2}, {}, {"VGPU": {"card0": 3}})]
    packing = pack(demands, offers, branches)
    check(packing, demands, offers, branches)
    assert packing.torn == ("one",)


def test_a_root_is_near_every_branch():
    offers, branches = nodes(2, VCPU=2, MEMORY_MB=1)
    offers["MEMORY_MB"]["root"] = offer(10)
    branches["root"] = None
    demands = [from_root(number, VCPU=2, MEMORY_MB=5) for number in range(2)]
    demands = [each._replace(current={}) for each in demands]
    assert pack(demands, offers, branches).torn == ()


def test_classes_that_no_branch_offers_together_are_not_torn():
    offers = {
        "VCPU": {"node0": offer(4), "node1": offer(4)},
        "VGPU": {"card0": offer(4), "card1": offer(4)},
    }
    branches = {name: name for name in ("node0", "node1", "card0", "card1")}
    demands = [from_root(number, VCPU=2, VGPU=2) for number in range(4)]
    assert pack(demands, offers, branches).torn == ()


def test_a_consumer_larger_than_any_node_is_split_and_the_others_stay_whole():
    offers, branches = nodes(2, VCPU=8)
    demands = [from_root(0, VCPU=10), from_root(1, VCPU=3), from_root(2, VCPU=3)]
    packing = pack(demands, offers, branches)
    check(packing, demands, offers, branches)
    assert (packing.torn, packing.is_proven) == (("consumer0",), True)


def test_nothing_needed_is_nothing_torn():
    offers, branches = nodes(2, VCPU=1)
    demands = [Demand("one", {}, {}, {}), Demand("two", {"VCPU": 0}, {}, {})]
    packing = pack(demands, offers, branches)
    assert packing == ({"one": {}, "two": {}}, (), True)
    assert pack([], {}, {}) == ({}, (), True)


def test_only_the_order_of_providers_matters():
    # The caller orders them: UUIDs of new providers are others in each plan.
    offers, branches = nodes(4, VCPU=10, MEMORY_MB=100)
    demands = [from_root(at, VCPU=1 + at % 3, MEMORY_MB=7 * (1 + at % 4)) for at in range(16)]
    turned = dict(reversed(offers.items()))
    one = pack(demands, offers, branches)
    other = pack(demands, turned, dict(reversed(branches.items())))
    assert one == other


@pytest.mark.parametrize(
    ("offered", "amounts", "expected", "text"),
    [
        (
            [offer(4), offer(4)],
            [5, 4],
            ("VGPU", None, 9, 8),
            "9 VGPU do not fit: 8 of it are free.",
        ),
        (
            [offer(4, used=6), offer(4)],
            [5],
            ("VGPU", None, 5, 4),
            "5 VGPU do not fit: 4 of it are free.",
        ),
        (
            [offer(4, step_size=2), offer(4, step_size=2)],
            [3],
            ("VGPU", "consumer0", 3, 8),
            "3 VGPU of consumer consumer0 do not fit: 8 of it are free, "
            "but not in units that would do.",
        ),
        (
            [offer(4, min_unit=3), offer(4, min_unit=3)],
            [3, 3, 2],
            ("VGPU", "consumer2", 2, 8),
            "2 VGPU of consumer consumer2 do not fit: 8 of it are free, "
            "but not in units that would do.",
        ),
        (
            [offer(4, min_unit=3), offer(5, min_unit=3)],
            [3, 3, 3],
            ("VGPU", None, 9, 9),
            "9 VGPU do not fit: 9 of it are free, but not in units that would do.",
        ),
    ],
)
def test_what_does_not_fit_is_named(offered, amounts, expected, text):
    offers = {"VGPU": {f"card{at}": each for at, each in enumerate(offered)}}
    demands = [from_root(at, VGPU=amount) for at, amount in enumerate(amounts)]
    with pytest.raises(DoesNotFit) as raised:
        pack(demands, offers, {name: name for name in offers["VGPU"]})
    error = raised.value
    assert (error.resource_class, error.consumer, error.needed, error.free) == expected
    assert (error.is_certain, str(error)) == (True, text)


def test_a_class_that_nobody_offers():
    with pytest.raises(DoesNotFit) as raised:
        pack([from_root(0, VGPU=1)], {}, {})
    assert str(raised.value) == "1 VGPU do not fit: 0 of it are free."


def test_a_bounded_search_does_not_call_it_certain(monkeypatch):
    """Three and three fit only in one way, which the first guess does not try."""
    monkeypatch.setattr("roost.agent.reshape.packing.integers.VARIABLES_MAX", 1)
    offers = {"VGPU": {"card0": offer(4, min_unit=2), "card1": offer(3, min_unit=2)}}
    demands = [from_root(0, VGPU=5)]
    with pytest.raises(DoesNotFit) as raised:
        pack(demands, offers, {"card0": "card0", "card1": "card1"})
    assert not raised.value.is_certain
    assert "found no place in a bounded search" in str(raised.value)
    monkeypatch.undo()
    packing = pack(demands, offers, {"card0": "card0", "card1": "card1"})
    assert sorted(packing.pieces["consumer0"]["VGPU"].values()) == [2, 3]
