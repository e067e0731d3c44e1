"""The options of the linux driver, parsed and validated."""

from collections.abc import Mapping
from functools import partial

from roost.agent.drivers.machines import options as machine_options
from roost.agent.drivers.machines.options import MachineOptions, parse_uuid

# Instead of a UUID: one that is derived from /etc/machine-id.
MACHINE_ID = "machine-id"


class LinuxOptions(MachineOptions, frozen=True, kw_only=True):
    """One field for each option, of the same name."""

    root: str = "/"  # the folder that holds /sys and /proc
    uuid: str | None = None  # of the root provider; MACHINE_ID: what the machine says
    disk_folder: str | None = None  # its file system is DISK_GB; None: all disks


def read_options(options: Mapping[str, str]) -> LinuxOptions:
    parsers = {"uuid": partial(parse_uuid, MACHINE_ID)}
    return machine_options.read_options(LinuxOptions, "linux", options, parsers)
