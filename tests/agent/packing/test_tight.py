"""Hosts that are full to the brim: if all consumers can be whole, they are."""

from random import Random

import pytest

from roost.agent.reshape.packing import Offer, pack, tight
from roost.model import Inventory
from tests.agent.packing.hosts import cut_nodes, from_root, nodes, search
from tests.agent.packing.oracle import check
from tests.generated.examples import EXAMPLE_COUNT

FULL = {"VCPU": 32, "MEMORY_MB": 128 * 1024}


def with_room(percent):
    return {name: total * (100 + percent) // 100 for name, total in FULL.items()}


@pytest.mark.parametrize("percent", [0, 2, 10, 20])
def test_nobody_is_torn_where_all_fit(percent):
    """One class placed after the other tore consumers in more than half of these hosts."""
    torn = 0
    for seed in range(EXAMPLE_COUNT // 2):
        random = Random(seed)
        count = random.randint(2, 4)
        demands = cut_nodes(random, count, count * random.randint(2, 6))
        offers, branches = nodes(count, **with_room(percent))
        packing = pack(demands, offers, branches)
        check(packing, demands, offers, branches)
        assert packing.is_proven
        torn += bool(packing.torn)
    assert torn == 0


def test_nodes_without_any_room_to_spare_are_filled():
    steps = []
    for seed in range(EXAMPLE_COUNT // 10):
        random = Random(seed)
        count = random.randint(2, 8)
        demands = cut_nodes(random, count, random.randint(20, 60))
        offers, branches = nodes(count, **FULL)
        packing = pack(demands, offers, branches)
        assert (packing.torn, packing.is_proven) == ((), True)
        check(packing, demands, offers, branches)
        found = search(demands, offers, branches)
        assert found.nodes == 0  # no solver is needed
        steps.append(found.steps)
    assert sorted(steps)[len(steps) // 2] < 10_000


def test_one_is_torn_where_one_has_to_be():
    """Even amounts cannot fill nodes with an odd number of processors."""
    for seed in range(EXAMPLE_COUNT // 20):
        random = Random(seed)
        count = random.randint(2, 8)
        demands = [
            each._replace(amounts={**each.amounts, "VCPU": 2 * each.amounts["VCPU"]})
            for each in cut_nodes(random, count, random.randint(20, 60))
        ]
        offers, branches = nodes(count, VCPU=64, MEMORY_MB=128 * 1024)
        offers["VCPU"]["node0"] = Offer(Inventory(total=65), 0)
        offers["VCPU"]["node1"] = Offer(Inventory(total=63), 0)
        packing = pack(demands, offers, branches)
        check(packing, demands, offers, branches)
        assert (len(packing.torn), packing.is_proven) == (1, True)


def test_a_search_that_gives_up_does_not_claim_a_proof(monkeypatch):
    """A bounded search finds a valid packing, and says that there may be a better one."""
    monkeypatch.setattr(tight, "STEPS_MAX", 10)
    monkeypatch.setattr("roost.agent.reshape.packing.integers.VARIABLES_MAX", 10)
    demands = cut_nodes(Random(0), 8, 40)
    offers, branches = nodes(8, **FULL)
    packing = pack(demands, offers, branches)
    check(packing, demands, offers, branches)
    assert packing.torn
    assert not packing.is_proven


def test_a_solver_that_gives_up_does_not_claim_a_proof(monkeypatch):
    monkeypatch.setattr(tight, "STEPS_MAX", 10)
    demands = cut_nodes(Random(1), 3, 12)
    offers, branches = nodes(3, **FULL)
    with monkeypatch.context() as bounded:
        bounded.setattr("roost.agent.reshape.packing.solver.NODES_MAX", 0)
        packing = pack(demands, offers, branches)
        check(packing, demands, offers, branches)
        assert packing.torn
        assert not packing.is_proven
        assert search(demands, offers, branches).nodes == 0
    packing = pack(demands, offers, branches)
    assert (packing.torn, packing.is_proven) == ((), True)
    assert search(demands, offers, branches).nodes > 0


def test_cards_below_the_nodes_are_packed_along():
    """Two cards on each node: the exact model decides which card as well."""
    branches = {"node0": "node0", "node1": "node1"}
    branches |= {f"node{at}_card{card}": f"node{at}" for at in (0, 1) for card in (0, 1)}
    offers = {
        "VCPU": {"node0": Offer(Inventory(total=10), 0), "node1": Offer(Inventory(total=10), 0)},
        "VGPU": {name: Offer(Inventory(total=4), 0) for name in branches if "card" in name},
    }
    wanted = [(1, 3), (1, 3), (4, 1), (4, 1), (5, 2), (3, 2), (1, 2), (1, 2)]
    demands = [from_root(at, VCPU=vcpu, VGPU=vgpu) for at, (vcpu, vgpu) in enumerate(wanted)]
    packing = pack(demands, offers, branches)
    assert check(packing, demands, offers, branches).torn == 0
