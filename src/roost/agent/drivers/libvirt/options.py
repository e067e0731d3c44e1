"""The options of the libvirt driver, parsed and validated."""

import re
from collections.abc import Mapping
from functools import partial

from roost.agent.driver import DriverError
from roost.agent.drivers.machines import options as machine_options
from roost.agent.drivers.machines.options import MachineOptions, Parser, parse_list, parse_uuid

# Instead of a UUID: the one that libvirt gives the host.
HOST_UUID = "host"


class LibvirtOptions(MachineOptions, frozen=True, kw_only=True):
    """One field for each option, of the same name."""

    uri: str = "qemu:///system"
    uuid: str | None = None  # of the root provider; HOST_UUID: what libvirt says
    pool: str | None = None  # the storage pool that is DISK_GB; None: `default`, if it is active
    excluded_devices: tuple[str, ...] = ()  # PCI devices that the host uses itself


def read_options(options: Mapping[str, str]) -> LibvirtOptions:
    parsers: dict[str, Parser] = {
        "uuid": partial(parse_uuid, HOST_UUID),
        "excluded_devices": _addresses,
    }
    return machine_options.read_options(LibvirtOptions, "libvirt", options, parsers)


def _addresses(name: str, text: str) -> tuple[str, ...]:
    found = tuple(part.lower() for part in parse_list(name, text))
    for each in found:
        if not re.fullmatch(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", each):
            raise DriverError(f"Option {name}: {each!r} is not an address such as 0000:3b:00.0.")
    return found
