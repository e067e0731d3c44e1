"""Any number of consumers: what they need is counted by flavour, and the work stays small."""

from random import Random

from roost.agent.reshape.packing import pack
from tests.agent.packing.hosts import from_root, nodes, search, staying
from tests.agent.packing.oracle import check

FLAVOURS = [(1, 2048), (2, 4096), (4, 8192), (8, 16384), (2, 16384), (4, 4096)]


def consumers(count, make):
    random = Random(0)
    return [make(number, *random.choice(FLAVOURS)) for number in range(count)]


def needed(demands, name):
    return sum(each.amounts[name] for each in demands)


def test_20000_consumers_on_eight_nodes():
    demands = consumers(
        20_000, lambda number, vcpus, memory: from_root(number, VCPU=vcpus, MEMORY_MB=memory)
    )
    offers, branches = nodes(
        8, VCPU=needed(demands, "VCPU") // 7, MEMORY_MB=needed(demands, "MEMORY_MB") // 7
    )
    packing = pack(demands, offers, branches)
    assert (packing.torn, packing.is_proven) == ((), True)
    check(packing, demands, offers, branches)
    found = search(demands, offers, branches)
    assert found.nodes == 0
    assert found.steps < 3 * len(demands)


def test_20000_consumers_on_nodes_that_they_fill():
    demands = consumers(
        20_000, lambda number, vcpus, memory: from_root(number, VCPU=vcpus, MEMORY_MB=memory)
    )
    offers, branches = nodes(
        8, VCPU=-(-needed(demands, "VCPU") // 8), MEMORY_MB=-(-needed(demands, "MEMORY_MB") // 8)
    )
    packing = pack(demands, offers, branches)
    check(packing, demands, offers, branches)
    assert len(packing.torn) <= 8


def test_60000_consumers_of_one_class():
    demands = [from_root(number, VGPU=1) for number in range(60_000)]
    offers, branches = nodes(1_200, VGPU=50)
    packing = pack(demands, offers, branches)
    assert (packing.torn, packing.is_proven) == ((), True)
    check(packing, demands, offers, branches)
    assert search(demands, offers, branches).steps < 3 * len(demands)


def test_60000_different_amounts():
    random = Random(0)
    demands = [from_root(number, DISK_GB=random.randint(1, 10_000)) for number in range(60_000)]
    offers, branches = nodes(64, DISK_GB=needed(demands, "DISK_GB") // 62)
    packing = pack(demands, offers, branches)
    assert (packing.torn, packing.is_proven) == ((), True)
    check(packing, demands, offers, branches)


def test_one_amount_over_1200_targets():
    demands = [from_root(0, VGPU=1_200)]
    offers, branches = nodes(1_200, VGPU=1)
    packing = pack(demands, offers, branches)
    assert packing.pieces["consumer0"]["VGPU"] == dict.fromkeys(branches, 1)
    assert (packing.torn, packing.is_proven) == (("consumer0",), True)


def test_two_nodes_become_four_under_20000_consumers():
    """Half of everything moves, and nothing that could stay."""
    demands = consumers(
        20_000,
        lambda number, vcpus, memory: staying(
            number, f"node{number % 2}", VCPU=vcpus, MEMORY_MB=memory
        ),
    )
    room = {name: int(needed(demands, name) / 4 / 0.9) for name in ("VCPU", "MEMORY_MB")}
    offers, branches = nodes(4, **room)
    packing = pack(demands, offers, branches)
    found = check(packing, demands, offers, branches)
    assert found.torn == 0
    held = dict.fromkeys(((name, at) for name in room for at in ("node0", "node1")), 0)
    for each in demands:
        for name, providers in each.current.items():
            for provider, amount in providers.items():
                held[name, provider] += amount
    least = sum(amount - room[name] for (name, _), amount in held.items())
    assert least <= found.moved <= 1.001 * least
