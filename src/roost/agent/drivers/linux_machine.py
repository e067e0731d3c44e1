"""A Linux machine, as read at one moment."""

import os

from roost.agent.drivers.base import DriverError
from roost.agent.drivers.linux_cpus import Processors, read_processors
from roost.agent.drivers.linux_devices import Device, disk_gb, read_devices
from roost.agent.drivers.linux_files import Files
from roost.agent.drivers.linux_memory import NumaNode, read_nodes, read_whole
from roost.agent.drivers.linux_options import LinuxOptions
from roost.model import Value


class Machine(Value, frozen=True, kw_only=True):
    """What there is to give away."""

    dedicated: frozenset[int]  # CPUs that are given away one by one
    shared: frozenset[int]  # CPUs that several consumers may use
    traits: frozenset[str]  # of the processors, and of what they make the machine
    nodes: list[NumaNode]
    whole: NumaNode  # the machine as if it were one node
    devices: list[Device]
    disk_gb: int


def read_machine(files: Files, options: LinuxOptions) -> Machine:
    processors = read_processors(files)
    dedicated = processors.isolated
    if options.cpu_dedicated_set is not None:
        dedicated = _online(options.cpu_dedicated_set, processors, "cpu_dedicated_set")
    shared = processors.online - dedicated
    if options.cpu_shared_set is not None:
        shared = _online(options.cpu_shared_set, processors, "cpu_shared_set")
    nodes = read_nodes(files, processors.online)
    return Machine(
        # What the kernel isolates, but the operator shares, is shared.
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


def _disk_gb(files: Files, options: LinuxOptions) -> int:
    if options.disk_folder is None:
        return disk_gb(files)
    try:
        found = os.statvfs(files.path(options.disk_folder))
    except OSError as error:
        raise DriverError(f"Option disk_folder: {error}") from error
    return found.f_blocks * found.f_frsize // 2**30
