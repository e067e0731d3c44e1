"""On which NUMA nodes a consumer is, as the processors and memory nodes that it may use show.

Only what is certain is said. A class for which several nodes are possible is left out, unless the
number of processors on each of them adds up to what the consumer holds.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from roost.agent.driver import Allocations, Whereabouts
from roost.agent.drivers.machines.machine import Machine
from roost.agent.drivers.machines.options import MachineOptions
from roost.agent.drivers.machines.providers import (
    PCPU,
    VCPU,
    has_numa_providers,
    memory_totals,
    node_name,
)
from roost.agent.provider_tree import ProviderTree
from roost.model import Value
from roost.uuids import canonical_uuid

# The number of a NUMA node, or how much is on which node.
Nodes = int | dict[int, int]


class Cpuset(Value, frozen=True, kw_only=True):
    """What the threads of a consumer may use. An empty set is not known."""

    cpus: frozenset[int] = frozenset()
    memory_nodes: frozenset[int] = frozenset()
    # The CPUs of each virtual processor, if they are told apart.
    virtual: tuple[frozenset[int], ...] = ()

    def __or__(self, other: "Cpuset") -> "Cpuset":
        return Cpuset(
            cpus=self.cpus | other.cpus,
            memory_nodes=self.memory_nodes | other.memory_nodes,
            virtual=self.virtual + other.virtual,
        )


class Holdings(NamedTuple):
    """What consumers hold of a tree while it is reshaped."""

    allocations: Allocations
    providers: frozenset[str]  # UUIDs, of the old and of the new tree

    @classmethod
    def collect(
        cls, before: Iterable[str], after: ProviderTree, nodename: str, held: Allocations | None
    ) -> "Holdings":
        """`before` are the UUIDs of the tree as the service has it; `after` is the new tree."""
        # Whereabouts are asked for with UUIDs in this spelling, whichever clients have used.
        spelled = {canonical_uuid(consumer): record for consumer, record in (held or {}).items()}
        return cls(spelled, frozenset([*before, *after.get_provider_uuids(nodename)]))

    def of(self, consumer: str) -> Counter[str]:
        """Resource class -> amount, on all providers of the tree."""
        held: Counter[str] = Counter()
        record = self.allocations.get(consumer, {"allocations": {}})
        for uuid, each in record["allocations"].items():
            if uuid in self.providers:
                held.update(each["resources"])
        return held


def find_whereabouts(
    machine: Machine,
    nodename: str,
    options: MachineOptions,
    cpuset: Cpuset,
    held: Mapping[str, int],
) -> Whereabouts:
    """Resource class -> the NUMA node that a consumer is on, or several with the amounts.

    `held` is what the consumer holds in all, by resource class; of a class that gets another name,
    under the old one.
    """
    if not has_numa_providers(machine, options):
        return {}
    found = _find_processors(machine, cpuset, held, options.renamed_classes)
    near = [node for node in machine.nodes if node.number in cpuset.memory_nodes]
    if len(cpuset.memory_nodes) == len(near) == 1:
        totals = memory_totals(near[0], options)
        found |= {name: near[0].number for name, total in totals.items() if total}
    return {
        name: node_name(nodename, nodes)
        if isinstance(nodes, int)
        else {node_name(nodename, number): amount for number, amount in nodes.items()}
        for name, nodes in found.items()
    }


def _find_processors(
    machine: Machine, cpuset: Cpuset, held: Mapping[str, int], renamed_classes: Mapping[str, str]
) -> dict[str, Nodes]:
    kinds = {VCPU: machine.shared, PCPU: machine.dedicated}
    expected = Counter(held)
    for old, new in renamed_classes.items():
        expected[new] += held.get(old, 0)
    if any(old in kinds and new in kinds for old, new in renamed_classes.items()):
        # To name a class is now to say that the consumer has this one and not the other.
        whole = held.get(VCPU, 0) + held.get(PCPU, 0)
        counted = {name: _count(machine, cpuset.virtual, kinds[name]) for name in kinds}
        if whole and sum(sum(nodes.values()) for nodes in counted.values()) == whole:
            return {name: nodes for name, nodes in counted.items() if nodes}
        kinds = {name: cpus for name, cpus in kinds.items() if cpuset.cpus <= cpus}
        expected = Counter(dict.fromkeys(kinds, whole))
    found = {
        name: _find_nodes(machine, cpuset, name, cpus, expected[name])
        for name, cpus in kinds.items()
    }
    return {name: nodes for name, nodes in found.items() if nodes is not None}


def _find_nodes(
    machine: Machine, cpuset: Cpuset, resource_class: str, cpus: frozenset[int], expected: int
) -> Nodes | None:
    """Where the processors of one class are, if that is certain."""
    usable = {node.number: node.cpus & cpus & cpuset.cpus for node in machine.nodes}
    usable = {number: found for number, found in usable.items() if found}
    if len(usable) == 1:
        return next(iter(usable))
    if cpuset.virtual:
        amounts = _count(machine, cpuset.virtual, cpus)
    elif resource_class == PCPU:
        # Nobody else uses a dedicated processor.
        amounts = {number: len(found) for number, found in usable.items()}
    else:
        return None
    return amounts if amounts and sum(amounts.values()) == expected else None


def _count(
    machine: Machine, virtual: Iterable[frozenset[int]], cpus: frozenset[int]
) -> dict[int, int]:
    """NUMA node -> how many virtual processors can run there only, on these CPUs only."""
    counts = {
        node.number: sum(bool(each) and each <= node.cpus & cpus for each in virtual)
        for node in machine.nodes
    }
    return {number: count for number, count in counts.items() if count}
