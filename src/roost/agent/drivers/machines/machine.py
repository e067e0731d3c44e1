"""The resources of a machine, wherever a driver read them."""

from roost.agent.driver import DriverError
from roost.agent.drivers.machines.devices import Device
from roost.agent.drivers.machines.options import MachineOptions
from roost.model import Value


class NumaNode(Value, frozen=True, kw_only=True):
    """Processors and the memory that is near to them."""

    number: int
    cpus: frozenset[int]
    memory_mb: int  # including huge pages
    huge_pages: dict[int, int]  # size of a page in KiB -> number of pages


class Processors(Value, frozen=True, kw_only=True):
    """The CPUs that can be used."""

    online: frozenset[int]
    present: frozenset[int]  # including those that are offline
    isolated: frozenset[int]  # the kernel's scheduler leaves them alone (isolcpus)
    traits: frozenset[str]


class Machine(Value, frozen=True, kw_only=True):
    """The resources of a machine, with the operator's choice of CPUs applied."""

    dedicated: frozenset[int]  # CPUs for one consumer each (PCPU)
    shared: frozenset[int]  # CPUs that consumers share (VCPU)
    traits: frozenset[str]  # of the processors and the architecture
    nodes: list[NumaNode]
    whole: NumaNode  # the machine as if it were one node
    devices: list[Device]
    disk_gb: int


def choose_cpus(
    processors: Processors, options: MachineOptions
) -> tuple[frozenset[int], frozenset[int]]:
    """The CPUs for one consumer each, and those that consumers share."""
    dedicated = processors.isolated
    if options.cpu_dedicated_set is not None:
        dedicated = _online(options.cpu_dedicated_set, processors, "cpu_dedicated_set")
    shared = processors.online - dedicated
    if options.cpu_shared_set is not None:
        shared = _online(options.cpu_shared_set, processors, "cpu_shared_set")
    # The operator may share CPUs that the kernel isolates.
    return dedicated - shared, shared


def _online(chosen: frozenset[int], processors: Processors, option: str) -> frozenset[int]:
    if missing := sorted(chosen - processors.present):
        raise DriverError(
            f"Option {option}: the machine has no CPU {', '.join(map(str, missing))}."
        )
    return chosen & processors.online
