"""A machine as a tree of providers.

    host                         DISK_GB; without NUMA also everything that the nodes have
    ├── host_numa0               VCPU, PCPU, MEMORY_MB, CUSTOM_MEMORY_PAGES_2048KB, ...
    │   ├── host_0000:3b:00.0    SRIOV_NET_VF
    │   └── host_0000:5e:00.0    PGPU or VGPU
    └── host_numa1               ...

The traits of the processors are on the nodes, for requests of VCPU with `required`, and on the
root, for `root_required`.
"""

from collections.abc import Mapping
from typing import assert_never

import os_resource_classes  # type: ignore[import-untyped]
import os_traits  # type: ignore[import-untyped]

from roost.agent.desired_tree import DesiredProvider, Ownership
from roost.agent.driver import DriverError
from roost.agent.drivers.machines.devices import Device
from roost.agent.drivers.machines.machine import Machine, NumaNode
from roost.agent.drivers.machines.options import HugePages, MachineOptions, NumaProviders
from roost.agent.provider_tree import ProviderTree
from roost.model import Inventory

VCPU: str = os_resource_classes.VCPU
PCPU: str = os_resource_classes.PCPU
MEMORY_MB: str = os_resource_classes.MEMORY_MB
DISK_GB: str = os_resource_classes.DISK_GB

_DEVICE_CLASSES = (
    os_resource_classes.SRIOV_NET_VF,
    os_resource_classes.PGPU,
    os_resource_classes.VGPU,
)
_PAGES = "CUSTOM_MEMORY_PAGES_"
_OWNED_CLASSES = frozenset({VCPU, PCPU, MEMORY_MB, DISK_GB, *_DEVICE_CLASSES})
_OWNED_TRAITS = frozenset(
    {
        os_traits.COMPUTE_NODE,
        os_traits.HW_NUMA_ROOT,
        os_traits.HW_NIC_SRIOV,
        os_traits.HW_NIC_MULTIQUEUE,
    }
)
_OWNED_TRAIT_PREFIXES = (
    "HW_CPU_",
    "HW_ARCH_",
    "COMPUTE_ARCH_",
    "CUSTOM_PCI_",
    "CUSTOM_GPU_",
    "CUSTOM_VGPU_",
)

# Providers that other clients add below a host, and traits that operators set, are left alone.
OWNERSHIP = Ownership(
    resource_class=lambda name: name in _OWNED_CLASSES or name.startswith(_PAGES),
    trait=lambda name: name in _OWNED_TRAITS or name.startswith(_OWNED_TRAIT_PREFIXES),
    removes_unknown=False,
)

# Resource class -> allocation ratio; 1.0 if it is not in the mapping.
Ratios = Mapping[str, float]


def check_renamed_classes(options: MachineOptions) -> None:
    """What gets another name must be offered under that name, or nobody could keep it."""
    for new in options.renamed_classes.values():
        if not OWNERSHIP.resource_class(new):
            raise DriverError(f"Option renamed_classes: the driver does not report {new}.")


def allocation_ratios(
    provider_tree: ProviderTree, nodename: str, options: MachineOptions
) -> dict[str, float]:
    """Resource class -> allocation ratio: the configured one, or else that of the service.

    If providers of the tree differ, the one nearest to the root counts.
    """
    ratios: dict[str, float] = {
        name: fields["allocation_ratio"]
        for uuid in reversed(provider_tree.get_provider_uuids(nodename))
        for name, fields in provider_tree.data(uuid).inventory.items()
    }
    configured = {
        VCPU: options.vcpu_ratio,
        MEMORY_MB: options.memory_ratio,
        DISK_GB: options.disk_ratio,
    }
    return ratios | {name: ratio for name, ratio in configured.items() if ratio is not None}


def desired_root(
    machine: Machine, nodename: str, options: MachineOptions, ratios: Ratios
) -> DesiredProvider:
    """The root of a machine, with everything below it."""
    disks = _inventories({DISK_GB: machine.disk_gb}, {DISK_GB: options.reserved_disk_gb}, ratios)
    traits = machine.traits | {os_traits.COMPUTE_NODE}
    if not has_numa_providers(machine, options):
        reserved_mb = options.reserved_memory_mb
        others = _node_inventories(machine, machine.whole, options, reserved_mb, ratios)
        return DesiredProvider(
            name=nodename,
            inventories=disks | others,
            traits=traits,
            children=_devices(nodename, machine.devices),
        )
    numbers = {node.number for node in machine.nodes}
    far = [device for device in machine.devices if device.numa_node not in numbers]
    return DesiredProvider(
        name=nodename,
        inventories=disks,
        traits=traits,
        children=_nodes(nodename, machine, options, ratios) + _devices(nodename, far),
    )


def node_name(nodename: str, number: int) -> str:
    """The name of the provider of a NUMA node."""
    return f"{nodename}_numa{number}"


def device_name(nodename: str, address: str) -> str:
    """The name of the provider of a PCI device."""
    return f"{nodename}_{address}"


def pages_class(size_kib: int) -> str:
    """The resource class of huge pages of a size."""
    return f"{_PAGES}{size_kib}KB"


def has_numa_providers(machine: Machine, options: MachineOptions) -> bool:
    """Whether each NUMA node of the machine is a provider."""
    match options.numa:
        case NumaProviders.AUTO:
            return len(machine.nodes) > 1
        case NumaProviders.ALWAYS:
            return True
        case NumaProviders.NEVER:
            return False
        case _:
            assert_never(options.numa)


def _nodes(
    nodename: str, machine: Machine, options: MachineOptions, ratios: Ratios
) -> tuple[DesiredProvider, ...]:
    reserved = distribute(options.reserved_memory_mb, [node.memory_mb for node in machine.nodes])
    processor_traits = frozenset(name for name in machine.traits if name.startswith("HW_CPU_"))
    return tuple(
        DesiredProvider(
            name=node_name(nodename, node.number),
            inventories=_node_inventories(machine, node, options, reserved_mb, ratios),
            traits=processor_traits | {os_traits.HW_NUMA_ROOT},
            children=_devices(
                nodename, [each for each in machine.devices if each.numa_node == node.number]
            ),
        )
        for node, reserved_mb in zip(machine.nodes, reserved, strict=True)
    )


def _devices(nodename: str, devices: list[Device]) -> tuple[DesiredProvider, ...]:
    return tuple(
        DesiredProvider(
            name=device_name(nodename, device.address),
            inventories=_inventories({device.resource_class: device.total}, {}, {}),
            traits=device.traits,
        )
        for device in devices
    )


def _node_inventories(
    machine: Machine, node: NumaNode, options: MachineOptions, reserved_mb: int, ratios: Ratios
) -> dict[str, Inventory]:
    totals = {
        VCPU: len(node.cpus & machine.shared),
        PCPU: len(node.cpus & machine.dedicated),
        **memory_totals(node, options),
    }
    return _inventories(totals, {MEMORY_MB: reserved_mb}, ratios)


def memory_totals(node: NumaNode, options: MachineOptions) -> dict[str, int]:
    """Memory and huge pages of a node, by resource class."""
    if options.huge_pages is HugePages.MEMORY:
        return {MEMORY_MB: node.memory_mb}
    # Memory that is reserved for huge pages cannot be used for anything else.
    taken_kib = sum(size * count for size, count in node.huge_pages.items())
    pages = {pages_class(size): count for size, count in node.huge_pages.items()}
    return {MEMORY_MB: max(0, node.memory_mb - taken_kib // 1024), **pages}


def _inventories(
    totals: Mapping[str, int], reserved: Mapping[str, int], ratios: Ratios
) -> dict[str, Inventory]:
    """An inventory for each class whose total is not zero."""
    return {
        name: Inventory(
            total=total,
            reserved=min(total, reserved.get(name, 0)),
            # Whatever is overcommitted, one consumer cannot use more than there is.
            max_unit=total,
            allocation_ratio=ratios.get(name, 1.0),
        )
        for name, total in totals.items()
        if total
    }


def distribute(amount: int, weights: list[int]) -> list[int]:
    """Divide an amount in proportion to the weights, without losing anything to rounding."""
    whole = sum(weights) or 1
    ends = [amount * sum(weights[: place + 1]) // whole for place in range(len(weights))]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]
