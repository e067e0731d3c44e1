"""The devices of a Linux machine that consumers can get: virtual functions, GPUs, disks."""

import re

import os_resource_classes  # type: ignore[import-untyped]
import os_traits  # type: ignore[import-untyped]

from roost.agent.drivers.linux.system_files import SystemFiles
from roost.model import Value

_PCI = "/sys/bus/pci/devices"
_BLOCK = "/sys/block"
_SECTOR_BYTES = 512  # the unit of `size`, whatever the device's own sectors are
_GIB = 2**30

# Vendors of GPUs that consumers want. Other display controllers belong to the management controller
# of a server, or to the hypervisor that the machine runs on.
_GPU_VENDORS = {"10de": "NVIDIA", "1002": "AMD", "8086": "INTEL"}


class Device(Value, frozen=True, kw_only=True):
    """A PCI device that becomes a provider."""

    address: str
    numa_node: int | None  # None: it is not near any node
    resource_class: str
    total: int
    traits: frozenset[str]


def read_devices(files: SystemFiles, vgpu_types: list[str]) -> list[Device]:
    """Network cards with virtual functions, and GPUs."""
    devices = []
    for address in files.names(_PCI):
        folder = f"{_PCI}/{address}"
        code = files.integer(f"{folder}/class") or 0
        if files.exists(f"{folder}/physfn"):
            continue  # a virtual function: it is counted with its card
        if code >> 16 == 0x02:
            found = _network_card(files, folder, address)
        elif code >> 16 == 0x03 or code >> 8 == 0x1200:
            found = _gpu(files, folder, address, vgpu_types)
        else:
            found = None
        if found:
            devices.append(found)
    return devices


def _network_card(files: SystemFiles, folder: str, address: str) -> Device | None:
    functions = files.integer(f"{folder}/sriov_numvfs") or 0
    if not functions:
        return None
    traits = {os_traits.HW_NIC_SRIOV, _identity(files, folder)}
    for interface in files.names(f"{folder}/net"):
        queues = files.names(f"{folder}/net/{interface}/queues")
        if sum(name.startswith("tx-") for name in queues) > 1:
            traits.add(os_traits.HW_NIC_MULTIQUEUE)
    return Device(
        address=address,
        numa_node=_numa_node(files, folder),
        resource_class=os_resource_classes.SRIOV_NET_VF,
        total=functions,
        traits=frozenset(traits),
    )


def _gpu(files: SystemFiles, folder: str, address: str, vgpu_types: list[str]) -> Device | None:
    vendor = _GPU_VENDORS.get(_hexadecimal(files, f"{folder}/vendor"))
    if vendor is None or files.integer(f"{folder}/boot_vga") == 1:
        return None
    traits = {_identity(files, folder), f"CUSTOM_GPU_{vendor}"}
    resource_class, total = os_resource_classes.PGPU, 1
    chosen = _vgpu_type(files, f"{folder}/mdev_supported_types", vgpu_types)
    if chosen:
        resource_class, total = os_resource_classes.VGPU, chosen[1]
        traits.add(f"CUSTOM_VGPU_{re.sub(r'[^A-Z0-9]+', '_', chosen[0].upper())}")
    return Device(
        address=address,
        numa_node=_numa_node(files, folder),
        resource_class=resource_class,
        total=total,
        traits=frozenset(traits),
    )


def _vgpu_type(files: SystemFiles, folder: str, wanted: list[str]) -> tuple[str, int] | None:
    """The type of virtual GPU that a card is divided into, and how many of them it provides.

    This is the first type that the operator wants and the card supports. If the operator named
    none, it is the type in use, or the only one. Otherwise the card is offered as a whole.
    """
    counts = {}
    used = {}
    for name in files.names(folder):
        used[name] = len(files.names(f"{folder}/{name}/devices"))
        counts[name] = (files.integer(f"{folder}/{name}/available_instances") or 0) + used[name]
    in_use = [name for name in counts if used[name]]
    only = list(counts) if len(counts) == 1 else []
    candidates = [name for name in wanted if name in counts] if wanted else in_use or only
    # Once a card is divided, its other types have no instances left.
    return next(((name, counts[name]) for name in candidates if counts[name]), None)


def _identity(files: SystemFiles, folder: str) -> str:
    vendor = _hexadecimal(files, f"{folder}/vendor")
    device = _hexadecimal(files, f"{folder}/device")
    return f"CUSTOM_PCI_{vendor}_{device}".upper()


def _hexadecimal(files: SystemFiles, path: str) -> str:
    return f"{files.integer(path) or 0:04x}"


def _numa_node(files: SystemFiles, folder: str) -> int | None:
    node = files.integer(f"{folder}/numa_node")
    return None if node is None or node < 0 else node


# ---------------------------------------------------------------------------------------------
# Disks


def disk_gb(files: SystemFiles) -> int:
    """All disks together. Volumes, loops and arrays consist of other disks and are not counted."""
    sectors = sum(
        files.integer(f"{_BLOCK}/{name}/size") or 0
        for name in files.names(_BLOCK)
        if files.exists(f"{_BLOCK}/{name}/device")
        and files.integer(f"{_BLOCK}/{name}/removable") != 1
    )
    return sectors * _SECTOR_BYTES // _GIB
