"""The devices of a Linux machine that consumers can get: virtual functions, GPUs, disks."""

import os_traits  # type: ignore[import-untyped]
from msgspec.structs import replace

from roost.agent.drivers.linux.system_files import SystemFiles
from roost.agent.drivers.machines.devices import (
    Device,
    Instances,
    MediatedTypes,
    PciDevice,
    VgpuTypes,
    offer,
)

_PCI = "/sys/bus/pci/devices"
_BLOCK = "/sys/block"
_SECTOR_BYTES = 512  # the unit of `size`, whatever the device's own sectors are
_GIB = 2**30


def read_devices(files: SystemFiles, vgpu_types: VgpuTypes) -> list[Device]:
    """Network cards with virtual functions, and GPUs."""
    devices = []
    for address in files.names(_PCI):
        folder = f"{_PCI}/{address}"
        if files.exists(f"{folder}/physfn"):
            continue  # a virtual function: it is counted with its card
        found = offer(_read_device(files, folder, address), vgpu_types)
        if found and _has_queues(files, folder):
            found = replace(found, traits=found.traits | {os_traits.HW_NIC_MULTIQUEUE})
        if found:
            devices.append(found)
    return devices


def _read_device(files: SystemFiles, folder: str, address: str) -> PciDevice:
    functions = files.integer(f"{folder}/sriov_numvfs") or 0
    return PciDevice(
        address=address,
        code=files.integer(f"{folder}/class") or 0,
        vendor=files.integer(f"{folder}/vendor") or 0,
        product=files.integer(f"{folder}/device") or 0,
        numa_node=_numa_node(files, folder),
        is_console=files.integer(f"{folder}/boot_vga") == 1,
        mediated_types=_mediated_types(files, folder),
        functions=tuple(
            _mediated_types(files, f"{folder}/virtfn{number}") for number in range(functions)
        ),
    )


def _has_queues(files: SystemFiles, folder: str) -> bool:
    """Whether an interface of a network card sends from several queues."""
    for interface in files.names(f"{folder}/net"):
        queues = files.names(f"{folder}/net/{interface}/queues")
        if sum(name.startswith("tx-") for name in queues) > 1:
            return True
    return False


def _mediated_types(files: SystemFiles, folder: str) -> MediatedTypes:
    types = f"{folder}/mdev_supported_types"
    return {
        name: Instances(
            available=files.integer(f"{types}/{name}/available_instances") or 0,
            used=len(files.names(f"{types}/{name}/devices")),
        )
        for name in files.names(types)
    }


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
