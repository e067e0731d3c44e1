"""Clouds to measure on: seeded, and the same for everyone who asks with the same name.

flat-N     N single providers
nested-N   N trees of 7: a root with disk, two NUMA nodes, three FPGAs, a GPU
cloud-N    N hosts as clouds have them: 2-4 NUMA nodes, SR-IOV PFs on physical networks, GPUs,
           a sharing storage provider for each aggregate of 50-200 hosts, 20 aggregates at
           1,000 hosts, and 60-80 % of everything allocated
"""

import random
import uuid
from collections import Counter
from collections.abc import Callable

import os_resource_classes
import os_traits

CUSTOM_CLASS_ID_MIN = 10_000
PHYSICAL_NETWORKS = [f"CUSTOM_PHYSNET_{number}" for number in range(4)]
RARE_TRAIT = "CUSTOM_RARE"
RARE_HOSTS = 20
WIDE_CLASS = "CUSTOM_PCI_DEVICE"
WIDE_DEVICES = 8


class World:
    """Rows for the tables, with ids of their own; traits and classes by name."""

    def __init__(self, name: str, seed: int = 1) -> None:
        self.name = name
        self.random = random.Random(f"{name} {seed}")
        self.providers: list[tuple[int, str, str, int, int | None]] = []  # id uuid name root parent
        # provider, class, total, reserved, min_unit, max_unit, step_size, allocation_ratio
        self.inventories: list[tuple[int, str, int, int, int, int, int, float]] = []
        self.consumers: list[tuple[int, str]] = []  # id, uuid
        self.allocations: list[tuple[int, str, str, int]] = []  # provider, class, consumer, used
        self.traits: list[tuple[int, str]] = []  # provider, trait
        self.aggregates: list[tuple[int, int]] = []  # provider, aggregate id
        self.aggregate_uuids: dict[int, str] = {}
        self._capacity: dict[tuple[int, str], int] = {}
        self.used: Counter[tuple[int, str]] = Counter()

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    # -- building ------------------------------------------------------------------------------

    def provider(self, name: str, parent: int | None = None) -> int:
        number = len(self.providers) + 1
        root = number if parent is None else self.providers[parent - 1][3]
        self.providers.append((number, self.uuid(), name, root, parent))
        return number

    def inventory(
        self,
        provider: int,
        resource_class: str,
        total: int,
        *,
        reserved: int = 0,
        max_unit: int | None = None,
        step_size: int = 1,
        ratio: float = 1.0,
    ) -> None:
        row = (provider, resource_class, total, reserved, 1, max_unit or total, step_size, ratio)
        self.inventories.append(row)
        self._capacity[provider, resource_class] = int((total - reserved) * ratio)

    def aggregate(self) -> int:
        number = len(self.aggregate_uuids) + 1
        self.aggregate_uuids[number] = self.uuid()
        return number

    def trait(self, provider: int, *names: str) -> None:
        self.traits.extend((provider, name) for name in names)

    def member(self, provider: int, aggregate: int) -> None:
        self.aggregates.append((provider, aggregate))

    def claim(self, amounts: dict[tuple[int, str], int]) -> bool:
        """One more consumer with these amounts, if they fit."""
        if any(self.used[key] + amount > self._capacity[key] for key, amount in amounts.items()):
            return False
        consumer = (len(self.consumers) + 1, self.uuid())
        self.consumers.append(consumer)
        for (provider, resource_class), amount in amounts.items():
            self.used[provider, resource_class] += amount
            self.allocations.append((provider, resource_class, consumer[1], amount))
        return True

    def share(self, key: tuple[int, str]) -> float:
        return self.used[key] / self._capacity[key]


def build(name: str, seed: int = 1) -> World:
    """The world of that name, such as `cloud-1000`."""
    kind, _, count = name.partition("-")
    makers: dict[str, Callable[[World, int], None]] = {
        "flat": _flat,
        "nested": _nested,
        "cloud": _cloud,
    }
    if kind not in makers or not count.isdigit() or int(count) < 1:
        raise ValueError(f"no world {name!r}: expected flat-N, nested-N or cloud-N")
    world = World(name, seed)
    makers[kind](world, int(count))
    return world


def _flat(world: World, count: int) -> None:
    for number in range(count):
        host = world.provider(f"host{number:06}")
        world.inventory(host, "VCPU", 32, ratio=4.0, max_unit=32)
        world.inventory(host, "MEMORY_MB", 131072, reserved=512)
        world.inventory(host, "DISK_GB", 2000, reserved=100)
        if number % max(1, count // RARE_HOSTS) == 0:
            world.trait(host, RARE_TRAIT)
        for _ in range(world.random.randrange(6)):
            memory = world.random.choice([4096, 8192, 16384])
            world.claim({(host, "VCPU"): 4, (host, "MEMORY_MB"): memory, (host, "DISK_GB"): 40})


def _nested(world: World, count: int) -> None:
    for number in range(count):
        host = world.provider(f"host{number:06}")
        world.inventory(host, "DISK_GB", 2000)
        for node in range(2):
            numa = world.provider(f"host{number:06}-numa{node}", host)
            world.trait(numa, "HW_NUMA_ROOT")
            if node == 0 and number % max(1, count // RARE_HOSTS) == 0:
                world.trait(numa, RARE_TRAIT)
            world.inventory(numa, "VCPU", 16, ratio=2.0, max_unit=16)
            world.inventory(numa, "MEMORY_MB", 65536, step_size=256)
            # Two devices on the first node, one on the second.
            for device in range(2 - node):
                name = f"host{number:06}-fpga{node}-{device}"
                fpga = world.provider(name, numa)
                world.inventory(fpga, "FPGA", 1)
                world.trait(fpga, "CUSTOM_FPGA_A" if device == 0 else "CUSTOM_FPGA_B")
            if node == 1:
                gpu = world.provider(f"host{number:06}-gpu", numa)
                world.inventory(gpu, "VGPU", 8)
            for _ in range(world.random.randrange(4)):
                world.claim({(numa, "VCPU"): 2, (numa, "MEMORY_MB"): 4096, (host, "DISK_GB"): 20})


def _cloud(world: World, count: int) -> None:
    # One aggregate for 50 hosts: those around a storage pool, and some that cut across them.
    sizes: list[int] = []
    while (left := count - sum(sizes)) > 0:
        sizes.append(min(left, world.random.randint(50, 200)))
    pools = [_storage_pool(world, size) for size in sizes]
    zones = [world.aggregate() for _ in range(max(1, count // 50 - len(pools)))]
    number = 0
    for (pool, storage), size in zip(pools, sizes, strict=True):
        for _ in range(size):
            aggregates = (storage, zones[number % len(zones)])
            rare = number % max(1, count // RARE_HOSTS) == 0
            _cloud_host(world, number, pool, aggregates, rare)
            number += 1


def _storage_pool(world: World, hosts: int) -> tuple[int, int]:
    """A provider that shares its disk with the hosts of an aggregate; and that aggregate."""
    storage = world.aggregate()
    pool = world.provider(f"storage{storage:05}")
    world.inventory(pool, "DISK_GB", 1100 * hosts, max_unit=2000)
    world.trait(pool, "MISC_SHARES_VIA_AGGREGATE", "STORAGE_DISK_SSD")
    world.member(pool, storage)
    return pool, storage


def _cloud_host(
    world: World, number: int, pool: int, aggregates: tuple[int, int], rare: bool
) -> None:
    rng, name = world.random, f"host{number:06}"
    host = world.provider(name)
    world.trait(host, "COMPUTE_NODE", "COMPUTE_VOLUME_MULTI_ATTACH")
    for aggregate in aggregates:
        world.member(host, aggregate)
    has_disk = rng.random() < 0.5
    if has_disk:
        world.inventory(host, "DISK_GB", 700, reserved=50)
    nodes: list[int] = []
    ports: dict[int, list[int]] = {}
    avx512 = rng.random() < 0.5
    for node in range(rng.choice([2, 3, 4])):
        numa = world.provider(f"{name}-numa{node}", host)
        nodes.append(numa)
        world.trait(numa, "HW_NUMA_ROOT", "HW_CPU_X86_AVX2")
        if avx512:
            world.trait(numa, "HW_CPU_X86_AVX512F")
        if rare and node == 0:
            world.trait(numa, RARE_TRAIT)
        world.inventory(numa, "VCPU", 24, ratio=4.0, max_unit=24)
        world.inventory(numa, "PCPU", 8)
        world.inventory(numa, "MEMORY_MB", 98304, reserved=2048, step_size=256)
        # Network cards sit on the first two nodes, as two sockets have them.
        ports[numa] = []
        for port in range(2 if node < 2 else 0):
            card = world.provider(f"{name}-numa{node}-pf{port}", numa)
            world.inventory(card, "SRIOV_NET_VF", 8)
            world.trait(card, rng.choice(PHYSICAL_NETWORKS))
            ports[numa].append(card)
    gpus: dict[int, int] = {}
    if rng.random() < 0.4:
        node = rng.choice(nodes)
        gpus[node] = world.provider(f"{name}-gpu", node)
        world.inventory(gpus[node], "VGPU", 8)
        world.trait(gpus[node], "CUSTOM_GPU_MODEL_T")
    target = rng.uniform(0.6, 0.8)
    for numa in nodes:
        _fill_node(
            world, numa, ports[numa], gpus.get(numa), (host if has_disk else pool, pool), target
        )


def _fill_node(
    world: World,
    numa: int,
    ports: list[int],
    gpu: int | None,
    disks: tuple[int, int],
    target: float,
) -> None:
    """Machines on one NUMA node, until its processors or its memory are used to the target."""
    rng = world.random
    for _ in range(40):
        if max(world.share((numa, name)) for name in ("VCPU", "MEMORY_MB")) >= target:
            break
        amounts = {
            (numa, "VCPU"): rng.choice([2, 4, 8, 16]),
            (numa, "MEMORY_MB"): rng.choice([2048, 4096, 8192, 16384]),
            (rng.choice(disks), "DISK_GB"): rng.choice([10, 20, 40, 80]),
        }
        if rng.random() < 0.3:
            amounts[numa, "PCPU"] = rng.choice([1, 2, 3])
        if ports and rng.random() < 0.6:
            amounts[rng.choice(ports), "SRIOV_NET_VF"] = rng.choice([1, 2, 3])
        if gpu is not None and rng.random() < 0.6:
            amounts[gpu, "VGPU"] = 1
        world.claim(amounts)


def add_wide_host(world: World) -> None:
    """A host with nothing but equal devices: in how many ways can equal groups be served by it?

    Nobody else has its class, so the other requests do not see it.
    """
    host = world.provider("wide")
    for number in range(WIDE_DEVICES):
        device = world.provider(f"wide-device{number}", host)
        world.inventory(device, WIDE_CLASS, 1)


def class_ids(world: World) -> dict[str, int]:
    """Ids of the resource classes in use, as every Placement database has them."""
    names = {row[1] for row in world.inventories}
    custom = sorted(name for name in names if name not in os_resource_classes.STANDARDS)
    return {
        **{name: os_resource_classes.STANDARDS.index(name) for name in names - set(custom)},
        **{name: number for number, name in enumerate(custom, CUSTOM_CLASS_ID_MIN)},
    }


def custom_traits(world: World) -> list[str]:
    return sorted({name for _, name in world.traits} - set(os_traits.get_traits()))
