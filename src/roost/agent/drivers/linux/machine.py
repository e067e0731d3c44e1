"""A snapshot of the resources of a Linux machine."""

import os

from roost.agent.driver import DriverError
from roost.agent.drivers.linux.cpus import read_processors
from roost.agent.drivers.linux.devices import disk_gb, read_devices
from roost.agent.drivers.linux.numa import read_nodes, read_whole
from roost.agent.drivers.linux.options import LinuxOptions
from roost.agent.drivers.linux.system_files import SystemFiles
from roost.agent.drivers.machines.machine import Machine, choose_cpus


def read_machine(files: SystemFiles, options: LinuxOptions) -> Machine:
    processors = read_processors(files)
    dedicated, shared = choose_cpus(processors, options)
    nodes = read_nodes(files, processors.online)
    return Machine(
        dedicated=dedicated,
        shared=shared,
        traits=processors.traits,
        nodes=nodes,
        whole=read_whole(files, nodes, processors.online),
        devices=read_devices(files, options.vgpu_types),
        disk_gb=_disk_gb(files, options),
    )


def _disk_gb(files: SystemFiles, options: LinuxOptions) -> int:
    if options.disk_folder is None:
        return disk_gb(files)
    try:
        found = os.statvfs(files.path(options.disk_folder))
    except OSError as error:
        raise DriverError(f"Option disk_folder: {error}") from error
    return found.f_blocks * found.f_frsize // 2**30
