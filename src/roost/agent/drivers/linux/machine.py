"""A snapshot of the resources of a Linux machine."""

import os

from roost.agent.driver import DriverError
from roost.agent.drivers.linux.cpus import Processors, read_processors
from roost.agent.drivers.linux.devices import Device, disk_gb, read_devices
from roost.agent.drivers.linux.numa import NumaNode, read_nodes, read_whole
from roost.agent.drivers.linux.options import LinuxOptions
from roost.agent.drivers.linux.system_files import SystemFiles
from roost.model import Value


class Machine(Value, frozen=True, kw_only=True):
    """The resources of a machine, with the operator's choice of CPUs applied."""

    dedicated: frozenset[int]  # CPUs for one consumer each (PCPU)
    shared: frozenset[int]  # CPUs that consumers share (VCPU)
    traits: frozenset[str]  # of the processors and the architecture
    nodes: list[NumaNode]
    whole: NumaNode  # the machine as if it were one node
    devices: list[Device]
    disk_gb: int


def read_machine(files: SystemFiles, options: LinuxOptions) -> Machine:
    processors = read_processors(files)
    dedicated = processors.isolated
    if options.cpu_dedicated_set is not None:
        dedicated = _online(options.cpu_dedicated_set, processors, "cpu_dedicated_set")
    shared = processors.online - dedicated
    if options.cpu_shared_set is not None:
        shared = _online(options.cpu_shared_set, processors, "cpu_shared_set")
    nodes = read_nodes(files, processors.online)
    return Machine(
        # The operator may share CPUs that the kernel isolates.
        dedicated=dedicated - shared,
        shared=shared,
        traits=processors.traits,
        nodes=nodes,
        whole=read_whole(files, nodes, processors.online),
        devices=read_devices(files, list(options.vgpu_types)),
        disk_gb=_disk_gb(files, options),
    )


def _online(chosen: frozenset[int], processors: Processors, option: str) -> frozenset[int]:
    if missing := sorted(chosen - processors.present):
        raise DriverError(
            f"Option {option}: the machine has no CPU {', '.join(map(str, missing))}."
        )
    return chosen & processors.online


def _disk_gb(files: SystemFiles, options: LinuxOptions) -> int:
    if options.disk_folder is None:
        return disk_gb(files)
    try:
        found = os.statvfs(files.path(options.disk_folder))
    except OSError as error:
        raise DriverError(f"Option disk_folder: {error}") from error
    return found.f_blocks * found.f_frsize // 2**30
