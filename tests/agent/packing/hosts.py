"""Hosts with NUMA nodes, and consumers that come from their root."""

from roost.agent.reshape.packing import Demand, Offer
from roost.agent.reshape.packing.problem import Problem
from roost.agent.reshape.packing.search import Search
from roost.agent.reshape.packing.wholeness import Wholeness
from roost.model import Inventory


def nodes(count, **totals):
    """Offers and branches of a host with equal NUMA nodes."""
    names = [f"node{number}" for number in range(count)]
    offers = {
        resource_class: {name: Offer(Inventory(total=total), 0) for name in names}
        for resource_class, total in totals.items()
    }
    return offers, {name: name for name in names}


def from_root(number, **amounts):
    """A consumer that holds everything on the root, which no longer offers it."""
    current = {name: {"root": amount} for name, amount in amounts.items()}
    return Demand(f"consumer{number}", amounts, current, {})


def staying(number, provider, **amounts):
    """A consumer that holds everything on one provider, which may still offer it."""
    current = {name: {provider: amount} for name, amount in amounts.items()}
    return Demand(f"consumer{number}", amounts, current, {})


def search(demands, offers, branches):
    """A search that has run, for its counters."""
    problem = Problem(demands, offers, branches)
    wholeness = Wholeness(problem)
    found = Search(problem, [wholeness.components(flavour) for flavour in problem.flavours])
    found.run()
    return found


def cut(random, total, count):
    """A number as a sum of so many positive numbers."""
    cuts = sorted(random.sample(range(1, total), count - 1))
    return [b - a for a, b in zip([0, *cuts], [*cuts, total], strict=True)]


def cut_nodes(random, node_count, consumer_count, *, cores=32, memory_gb=128):
    """Consumers that fill all nodes, so that a packing exists in which all are whole."""
    amounts = []
    for number in range(node_count):
        here = consumer_count // node_count + (number < consumer_count % node_count)
        amounts += zip(cut(random, cores, here), cut(random, memory_gb, here), strict=True)
    random.shuffle(amounts)
    return [
        from_root(number, VCPU=vcpus, MEMORY_MB=1024 * gigabytes)
        for number, (vcpus, gigabytes) in enumerate(amounts)
    ]
