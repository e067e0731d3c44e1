"""The kinds of hosts that the demo has, each as the providers of its tree."""

from collections.abc import Mapping
from uuid import UUID, uuid5

from roost.client import Inventory
from roost.model import SHARING_TRAIT, Value

# All UUIDs of the demo are derived from this one and from names. So every run makes the same, and
# `--remove` knows them without having seen them.
NAMESPACE = UUID("6f1d3c52-9a0e-5b7c-8f43-2d1e7a60b9c4")

CUSTOM_BAREMETAL = "CUSTOM_BAREMETAL_GOLD"
DISABLED = "COMPUTE_STATUS_DISABLED"


def demo_uuid(kind: str, name: str) -> str:
    return str(uuid5(NAMESPACE, f"{kind}/{name}"))


class DemoProvider(Value, frozen=True, kw_only=True):
    """One provider of the demo as it is when everything is loaded."""

    name: str
    parent: str | None = None  # its name; None for a root
    inventories: Mapping[str, Inventory]
    traits: frozenset[str] = frozenset()
    rack: str | None = None  # whose aggregate it is in; only roots are in one
    # What it had when its consumers came, if that was more than it has now.
    inventories_before: Mapping[str, Inventory] | None = None

    @property
    def uuid(self) -> str:
        return demo_uuid("provider", self.name)

    @property
    def parent_uuid(self) -> str | None:
        return None if self.parent is None else demo_uuid("provider", self.parent)

    @property
    def aggregates(self) -> frozenset[str]:
        return frozenset() if self.rack is None else frozenset({demo_uuid("rack", self.rack)})

    @property
    def inventories_at_first(self) -> Mapping[str, Inventory]:
        return self.inventories if self.inventories_before is None else self.inventories_before


_COMPUTE_TRAITS = frozenset(
    {
        *("COMPUTE_NODE", "COMPUTE_NET_ATTACH_INTERFACE", "COMPUTE_VOLUME_ATTACH"),
        *("COMPUTE_VOLUME_MULTI_ATTACH", "COMPUTE_IMAGE_TYPE_QCOW2", "COMPUTE_IMAGE_TYPE_RAW"),
        *("COMPUTE_FIRMWARE_UEFI", "HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_CPU_X86_AESNI"),
    }
)
_INTEL = frozenset({"HW_CPU_X86_VMX", "HW_CPU_X86_INTEL_VMX"})
_AVX512 = _INTEL | {"HW_CPU_X86_AVX512F", "HW_CPU_X86_AVX512VNNI"}
_AMD = frozenset({"HW_CPU_X86_SVM", "HW_CPU_X86_AMD_SVM", "HW_CPU_X86_AMD_SEV"})
_AMX = _AVX512 | {"HW_CPU_X86_AMXBF16", "HW_CPU_X86_AMXTILE"}


def _amount(
    total: int, *, reserved: int = 0, ratio: float = 1.0, step_size: int = 1, min_unit: int = 1
) -> Inventory:
    """An inventory of which one consumer gets at most what the hardware has."""
    return Inventory(
        total=total,
        reserved=reserved,
        min_unit=min_unit,
        max_unit=total,
        step_size=step_size,
        allocation_ratio=ratio,
    )


# ---------------------------------------------------------------------------------------------
# Hosts of one provider


def plain(rack: str, name: str, *, disabled: bool = False, lost_memory: int = 0) -> DemoProvider:
    """A compute host as most are. `lost_memory` was taken out while its servers kept running."""
    whole = {
        "VCPU": _amount(32, reserved=2, ratio=4.0),
        "MEMORY_MB": _amount(262144, reserved=8192),
        "DISK_GB": _amount(2000, reserved=100),
    }
    return DemoProvider(
        name=name,
        inventories={**whole, "MEMORY_MB": _amount(262144 - lost_memory, reserved=8192)},
        inventories_before=whole if lost_memory else None,
        traits=_COMPUTE_TRAITS | _INTEL | ({DISABLED} if disabled else set()),
        rack=rack,
    )


def diskless(rack: str, name: str) -> DemoProvider:
    """A compute host whose disks are in the storage of its rack."""
    return DemoProvider(
        name=name,
        inventories={
            "VCPU": _amount(64, reserved=2, ratio=4.0),
            "MEMORY_MB": _amount(524288, reserved=16384),
        },
        traits=_COMPUTE_TRAITS | _AMD,
        rack=rack,
    )


def storage(rack: str, name: str) -> DemoProvider:
    """Storage that all hosts of a rack share."""
    return DemoProvider(
        name=name,
        inventories={"DISK_GB": _amount(100_000, reserved=5000)},
        traits=frozenset({SHARING_TRAIT, "STORAGE_DISK_SSD"}),
        rack=rack,
    )


def bare_metal(rack: str, name: str, *, in_maintenance: bool = False) -> DemoProvider:
    """A machine that is given away as a whole, as ironic reports it."""
    return DemoProvider(
        name=name,
        inventories={CUSTOM_BAREMETAL: _amount(1, reserved=int(in_maintenance))},
        traits=frozenset({"HW_CPU_X86_AVX512F", "COMPUTE_FIRMWARE_UEFI"}),
        rack=rack,
    )


# ---------------------------------------------------------------------------------------------
# Hosts with NUMA nodes: a root with the disk, and processors and memory below it


def _root(rack: str, name: str, disk_gb: int, traits: frozenset[str]) -> DemoProvider:
    disk = {"DISK_GB": _amount(disk_gb, reserved=100)}
    return DemoProvider(name=name, inventories=disk, traits=_COMPUTE_TRAITS | traits, rack=rack)


def _node(host: str, number: int, inventories: Mapping[str, Inventory]) -> DemoProvider:
    return DemoProvider(
        name=f"{host}-numa{number}",
        parent=host,
        inventories=inventories,
        traits=frozenset({"HW_NUMA_ROOT"}),
    )


def _physical_function(parent: str, name: str, network: str, functions: int) -> DemoProvider:
    """A port of an SR-IOV NIC, and its virtual functions."""
    bandwidth = _amount(25_000_000, min_unit=1000, step_size=1000)
    return DemoProvider(
        name=name,
        parent=parent,
        inventories={
            "SRIOV_NET_VF": _amount(functions),
            "NET_BW_EGR_KILOBIT_PER_SEC": bandwidth,
            "NET_BW_IGR_KILOBIT_PER_SEC": bandwidth,
        },
        traits=frozenset({"HW_NIC_SRIOV", network}),
    )


# The networks that a port is connected to, by the number of the port.
_NETWORKS = ("CUSTOM_PHYSNET_DATA", "CUSTOM_PHYSNET_EXTERNAL")

_NUMA_NODE = {
    "VCPU": _amount(16, ratio=4.0),
    "PCPU": _amount(16),
    "MEMORY_MB": _amount(131072, reserved=4096),
}


def numa(rack: str, name: str) -> list[DemoProvider]:
    """A host with two NUMA nodes, and a port of an SR-IOV NIC at each."""
    found = [_root(rack, name, 2000, _AVX512)]
    for number, network in enumerate(_NETWORKS):
        node = _node(name, number, _NUMA_NODE)
        port = _physical_function(node.name, f"{node.name}-ens{number}f0", network, 8)
        found += [node, port]
    return found


def network_functions(rack: str, name: str) -> list[DemoProvider]:
    """A host for network functions: at each NUMA node a NIC, and at each NIC two ports."""
    found = [_root(rack, name, 2000, _AVX512)]
    for number in range(2):
        node = _node(name, number, _NUMA_NODE)
        nic = DemoProvider(
            name=f"{node.name}-nic",
            parent=node.name,
            inventories={},
            traits=frozenset({"CUSTOM_NIC_E810"}),
        )
        found += [node, nic]
        for port, network in enumerate(_NETWORKS):
            port_name = f"{node.name}-ens{number}f{port}"
            found.append(_physical_function(nic.name, port_name, network, 16))
    return found


# ---------------------------------------------------------------------------------------------
# Hosts with GPUs, each of which is a provider below the NUMA node that it is connected to


def _gpu_host(
    rack: str,
    name: str,
    traits: frozenset[str],
    node: Mapping[str, Inventory],
    cards: list[list[DemoProvider]],
) -> list[DemoProvider]:
    found = [_root(rack, name, 8000, traits)]
    for number, cards_of_node in enumerate(cards):
        found += [_node(name, number, node), *cards_of_node]
    return found


def _cards(name: str, count: int, trait: str) -> list[list[DemoProvider]]:
    """So many whole GPUs at each of two NUMA nodes."""
    return [
        [
            DemoProvider(
                name=f"{name}-numa{number}-gpu{card}",
                parent=f"{name}-numa{number}",
                inventories={"PGPU": _amount(1)},
                traits=frozenset({trait}),
            )
            for card in range(count)
        ]
        for number in range(2)
    ]


def a100(rack: str, name: str) -> list[DemoProvider]:
    node = {"VCPU": _amount(32, ratio=2.0), "MEMORY_MB": _amount(524288, reserved=8192)}
    return _gpu_host(rack, name, _AVX512, node, _cards(name, 2, "CUSTOM_A100"))


def h100(rack: str, name: str) -> list[DemoProvider]:
    node = {"PCPU": _amount(56), "MEMORY_MB": _amount(1048576, reserved=16384)}
    return _gpu_host(rack, name, _AMX, node, _cards(name, 4, "CUSTOM_H100"))


def virtual_gpus(rack: str, name: str) -> list[DemoProvider]:
    """A host whose GPUs are divided: one into eight parts, the other into four."""
    node = {"VCPU": _amount(24, ratio=4.0), "MEMORY_MB": _amount(262144, reserved=4096)}
    cards = [
        [
            DemoProvider(
                name=f"{name}-numa{number}-gpu0",
                parent=f"{name}-numa{number}",
                inventories={"VGPU": _amount(parts)},
                traits=frozenset({trait}),
            )
        ]
        for number, (parts, trait) in enumerate(((8, "CUSTOM_A40_6Q"), (4, "CUSTOM_A40_12Q")))
    ]
    return _gpu_host(rack, name, _AVX512, node, cards)
