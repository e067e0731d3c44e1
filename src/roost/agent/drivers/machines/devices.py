"""The PCI devices of a machine that consumers can get: virtual functions and GPUs."""

import logging
import re
from collections import Counter
from collections.abc import Mapping

import os_resource_classes  # type: ignore[import-untyped]
import os_traits  # type: ignore[import-untyped]

from roost.model import Value

LOG = logging.getLogger(__name__)

# Vendors of GPUs that consumers want. Other display controllers belong to the management controller
# of a server, or to the hypervisor that the machine runs on.
_GPU_VENDORS = {0x10DE: "NVIDIA", 0x1002: "AMD", 0x8086: "INTEL"}


class Instances(Value, frozen=True, kw_only=True):
    """Mediated devices of one type that a device is divided into."""

    available: int  # that can still be created
    used: int  # that exist


# Type of mediated devices, such as nvidia-35 -> its instances.
MediatedTypes = Mapping[str, Instances]

# The types that the operator wants, the first that a card supports; each with the number that one
# card has room for, or None if the card itself says so.
VgpuTypes = Mapping[str, int | None]


class PciDevice(Value, frozen=True, kw_only=True):
    """What is known of a PCI device."""

    address: str  # 0000:3b:00.0
    code: int  # its class, in 24 bits
    vendor: int
    product: int
    numa_node: int | None  # None: it is not near any node
    is_console: bool  # the host's own screen
    mediated_types: MediatedTypes
    # One for each virtual function that exists: what it can be divided into in turn.
    functions: tuple[MediatedTypes, ...]


class Device(Value, frozen=True, kw_only=True):
    """A PCI device that becomes a provider."""

    address: str
    numa_node: int | None
    resource_class: str
    total: int
    traits: frozenset[str]


def offer(device: PciDevice, vgpu_types: VgpuTypes) -> Device | None:
    """The device as a provider; None if consumers cannot get anything of it."""
    if device.code >> 16 == 0x02:
        return _network_card(device)
    if device.code >> 16 == 0x03 or device.code >> 8 == 0x1200:
        return _gpu(device, vgpu_types)
    return None


def _network_card(device: PciDevice) -> Device | None:
    if not device.functions:
        return None
    return _device(
        device, os_resource_classes.SRIOV_NET_VF, len(device.functions), os_traits.HW_NIC_SRIOV
    )


def _gpu(device: PciDevice, vgpu_types: VgpuTypes) -> Device | None:
    vendor = _GPU_VENDORS.get(device.vendor)
    if vendor is None or device.is_console:
        return None
    trait = f"CUSTOM_GPU_{vendor}"
    if any(device.functions):
        return _divided_functions(device, vgpu_types, trait)
    if device.functions:
        # A card with virtual functions is not given away as a whole.
        return _device(device, os_resource_classes.VGPU, len(device.functions), trait)
    chosen = _choose_type(device.mediated_types, vgpu_types)
    if chosen is None:
        return _device(device, os_resource_classes.PGPU, 1, trait)
    name, total = chosen
    return _device(device, os_resource_classes.VGPU, total, trait, _type_trait(name))


def _divided_functions(device: PciDevice, vgpu_types: VgpuTypes, trait: str) -> Device | None:
    """A card whose virtual functions carry one mediated device each.

    Every function that is free says that it can carry one, also if the memory of the card is not
    enough for all of them. Only the operator knows how many the card has room for.
    """
    available, used = Counter[str](), Counter[str]()
    for types in device.functions:
        available.update({name: each.available for name, each in types.items()})
        used.update({name: each.used for name, each in types.items()})
    together = {
        name: Instances(available=available[name], used=used[name]) for name in sorted(available)
    }
    candidates = _candidates(together, vgpu_types)
    for name in candidates:
        maximum = vgpu_types.get(name)
        if maximum is not None:
            total = min(maximum, len(device.functions))
            return _device(device, os_resource_classes.VGPU, total, trait, _type_trait(name))
    LOG.warning(
        "%s is not offered: say how many mediated devices it has room for, such as vgpu_types=%s:4",
        device.address,
        next(iter(candidates or together)),
    )
    return None


def _choose_type(types: MediatedTypes, wanted: VgpuTypes) -> tuple[str, int] | None:
    """The type of virtual GPU that a card is divided into, and how many of them it provides."""
    for name in _candidates(types, wanted):
        # Once a card is divided, its other types have no instances left.
        if total := types[name].available + types[name].used:
            return name, min(total, wanted.get(name) or total)
    return None


def _candidates(types: MediatedTypes, wanted: VgpuTypes) -> list[str]:
    """The types that a card may be divided into, the best first.

    These are the ones that the operator wants, in the operator's order, and then the one in use,
    because a card that is divided cannot be given away as a whole. If the operator wants none, it
    is the type in use, or the only one. Otherwise the card is offered as a whole.
    """
    in_use = [name for name, each in types.items() if each.used]
    if wanted:
        return [*(name for name in wanted if name in types), *in_use]
    return in_use or (list(types) if len(types) == 1 else [])


def _type_trait(vgpu_type: str) -> str:
    return f"CUSTOM_VGPU_{re.sub(r'[^A-Z0-9]+', '_', vgpu_type.upper())}"


def _device(device: PciDevice, resource_class: str, total: int, *traits: str) -> Device:
    identity = f"CUSTOM_PCI_{device.vendor:04X}_{device.product:04X}"
    return Device(
        address=device.address,
        numa_node=device.numa_node,
        resource_class=resource_class,
        total=total,
        traits=frozenset({identity, *traits}),
    )
