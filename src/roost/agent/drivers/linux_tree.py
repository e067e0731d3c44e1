"""A Linux machine as a tree of providers.

    host                         DISK_GB; without NUMA also all that the nodes have
    ├── host_numa0               VCPU, PCPU, MEMORY_MB, CUSTOM_MEMORY_PAGES_2048KB, ...
    │   ├── host_0000:3b:00.0    SRIOV_NET_VF
    │   └── host_0000:5e:00.0    PGPU or VGPU
    └── host_numa1               ...

Processors' traits are on the nodes, where a request for VCPU looks for them, and on the root,
where `root_required` does.
"""

from collections.abc import Mapping

import os_resource_classes  # type: ignore[import-untyped]
import os_traits  # type: ignore[import-untyped]

from roost.agent.description import Description, Ownership
from roost.agent.drivers.linux_devices import Device
from roost.agent.drivers.linux_machine import Machine
from roost.agent.drivers.linux_memory import NumaNode
from roost.agent.drivers.linux_options import LinuxOptions
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
_OWN_CLASSES = frozenset({VCPU, PCPU, MEMORY_MB, DISK_GB, *_DEVICE_CLASSES})
_OWN_TRAITS = frozenset(
    {
        os_traits.COMPUTE_NODE,
        os_traits.HW_NUMA_ROOT,
        os_traits.HW_NIC_SRIOV,
        os_traits.HW_NIC_MULTIQUEUE,
    }
)
_OWN_TRAIT_PREFIXES = (
    "HW_CPU_",
    "HW_ARCH_",
    "COMPUTE_ARCH_",
    "CUSTOM_PCI_",
    "CUSTOM_GPU_",
    "CUSTOM_VGPU_",
)

# What others hang below a host, and what operators say of it, is not ours to change.
OWNERSHIP = Ownership(
    resource_class=lambda name: name in _OWN_CLASSES or name.startswith(_PAGES),
    trait=lambda name: name in _OWN_TRAITS or name.startswith(_OWN_TRAIT_PREFIXES),
    removes_unknown=False,
)

# Resource class -> allocation ratio; 1 where there is none.
Ratios = Mapping[str, float]


def describe(machine: Machine, nodename: str, options: LinuxOptions, ratios: Ratios) -> Description:
    root_inventories = _stock(
        {DISK_GB: machine.disk_gb}, {DISK_GB: options.reserved_disk_gb}, ratios
    )
    root_traits = machine.traits | {os_traits.COMPUTE_NODE}
    if options.numa == "never" or (options.numa == "auto" and len(machine.nodes) == 1):
        stock = _node_stock(machine, machine.whole, options, options.reserved_memory_mb, ratios)
        return Description(
            name=nodename,
            inventories=root_inventories | stock,
            traits=root_traits,
            children=_devices(nodename, machine.devices),
        )
    numbers = {node.number for node in machine.nodes}
    far = [device for device in machine.devices if device.numa_node not in numbers]
    return Description(
        name=nodename,
        inventories=root_inventories,
        traits=root_traits,
        children=_nodes(nodename, machine, options, ratios) + _devices(nodename, far),
    )


def _nodes(
    nodename: str, machine: Machine, options: LinuxOptions, ratios: Ratios
) -> tuple[Description, ...]:
    reserved = spread(options.reserved_memory_mb, [node.memory_mb for node in machine.nodes])
    processor_traits = frozenset(name for name in machine.traits if name.startswith("HW_CPU_"))
    return tuple(
        Description(
            name=f"{nodename}_numa{node.number}",
            inventories=_node_stock(machine, node, options, reserved_mb, ratios),
            traits=processor_traits | {os_traits.HW_NUMA_ROOT},
            children=_devices(
                nodename, [each for each in machine.devices if each.numa_node == node.number]
            ),
        )
        for node, reserved_mb in zip(machine.nodes, reserved, strict=True)
    )


def _devices(nodename: str, devices: list[Device]) -> tuple[Description, ...]:
    return tuple(
        Description(
            name=f"{nodename}_{device.address}",
            inventories=_stock({device.resource_class: device.total}, {}, {}),
            traits=device.traits,
        )
        for device in devices
    )


def _node_stock(
    machine: Machine, node: NumaNode, options: LinuxOptions, reserved_mb: int, ratios: Ratios
) -> dict[str, Inventory]:
    totals = {
        VCPU: len(node.cpus & machine.shared),
        PCPU: len(node.cpus & machine.dedicated),
        MEMORY_MB: node.memory_mb,
    }
    if options.huge_pages == "separate":
        # A huge page is taken out of the memory for good.
        taken_kib = sum(size * count for size, count in node.huge_pages.items())
        totals[MEMORY_MB] = max(0, node.memory_mb - taken_kib // 1024)
        totals |= {f"{_PAGES}{size}KB": count for size, count in node.huge_pages.items()}
    return _stock(totals, {MEMORY_MB: reserved_mb}, ratios)


def _stock(
    totals: Mapping[str, int], reserved: Mapping[str, int], ratios: Ratios
) -> dict[str, Inventory]:
    """Inventories of what there is some of."""
    return {
        name: Inventory(
            total=total,
            reserved=min(total, reserved.get(name, 0)),
            # More than all of it, one consumer cannot use, however much is overcommitted.
            max_unit=total,
            allocation_ratio=ratios.get(name, 1.0),
        )
        for name, total in totals.items()
        if total
    }


def spread(amount: int, weights: list[int]) -> list[int]:
    """An amount in parts like the weights, with nothing lost to rounding."""
    whole = sum(weights) or 1
    ends = [amount * sum(weights[: place + 1]) // whole for place in range(len(weights))]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]
