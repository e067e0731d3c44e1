"""Generates the clouds on which the benchmark runs. The same name always gives the same dataset.

flat-N     N single providers
nested-N   N trees of 7: a root with disk, two NUMA nodes, three FPGAs, a GPU
cloud-N    N hosts as in real clouds: 2-4 NUMA nodes, SR-IOV PFs on physical networks, GPUs,
           a sharing storage provider for each aggregate of 50-200 hosts, 20 aggregates at
           1,000 hosts, and 60-80 % of everything allocated
"""

import random
import uuid
from collections import Counter
from collections.abc import Callable

import os_resource_classes  # type: ignore[import-untyped]
import os_traits  # type: ignore[import-untyped]

CUSTOM_CLASS_ID_MIN = 10_000
PHYSICAL_NETWORKS = [f"CUSTOM_PHYSNET_{number}" for number in range(4)]
RARE_TRAIT = "CUSTOM_RARE"
RARE_HOSTS = 20
WIDE_CLASS = "CUSTOM_PCI_DEVICE"
WIDE_DEVICES = 8


class Dataset:
    """The rows of all tables, with ids; traits and classes are given by name."""

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
        """Add a consumer with these amounts, if they fit."""
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


def build(name: str, seed: int = 1) -> Dataset:
    """The dataset of that name, such as `cloud-1000`."""
    kind, _, count = name.partition("-")
    makers: dict[str, Callable[[Dataset, int], None]] = {
        "flat": _flat,
        "nested": _nested,
        "cloud": _cloud,
    }
    if kind not in makers or not count.isdigit() or int(count) < 1:
        raise ValueError(f"no dataset {name!r}: expected flat-N, nested-N or cloud-N")
    dataset = Dataset(name, seed)
    makers[kind](dataset, int(count))
    return dataset


def _flat(dataset: Dataset, count: int) -> None:
    for number in range(count):
        host = dataset.provider(f"host{number:06}")
        dataset.inventory(host, "VCPU", 32, ratio=4.0, max_unit=32)
        dataset.inventory(host, "MEMORY_MB", 131072, reserved=512)
        dataset.inventory(host, "DISK_GB", 2000, reserved=100)
        if number % max(1, count // RARE_HOSTS) == 0:
            dataset.trait(host, RARE_TRAIT)
        for _ in range(dataset.random.randrange(6)):
            memory = dataset.random.choice([4096, 8192, 16384])
            dataset.claim({(host, "VCPU"): 4, (host, "MEMORY_MB"): memory, (host, "DISK_GB"): 40})


def _nested(dataset: Dataset, count: int) -> None:
    for number in range(count):
        host = dataset.provider(f"host{number:06}")
        dataset.inventory(host, "DISK_GB", 2000)
        for node in range(2):
            numa = dataset.provider(f"host{number:06}-numa{node}", host)
            dataset.trait(numa, "HW_NUMA_ROOT")
            if node == 0 and number % max(1, count // RARE_HOSTS) == 0:
                dataset.trait(numa, RARE_TRAIT)
            dataset.inventory(numa, "VCPU", 16, ratio=2.0, max_unit=16)
            dataset.inventory(numa, "MEMORY_MB", 65536, step_size=256)
            # Two devices on the first node, one on the second.
            for device in range(2 - node):
                name = f"host{number:06}-fpga{node}-{device}"
                fpga = dataset.provider(name, numa)
                dataset.inventory(fpga, "FPGA", 1)
                dataset.trait(fpga, "CUSTOM_FPGA_A" if device == 0 else "CUSTOM_FPGA_B")
            if node == 1:
                gpu = dataset.provider(f"host{number:06}-gpu", numa)
                dataset.inventory(gpu, "VGPU", 8)
            for _ in range(dataset.random.randrange(4)):
                dataset.claim({(numa, "VCPU"): 2, (numa, "MEMORY_MB"): 4096, (host, "DISK_GB"): 20})


def _cloud(dataset: Dataset, count: int) -> None:
    # One aggregate per 50 hosts. Some contain a storage pool and its hosts, the others cut
    # across them.
    sizes: list[int] = []
    while (left := count - sum(sizes)) > 0:
        sizes.append(min(left, dataset.random.randint(50, 200)))
    pools = [_storage_pool(dataset, size) for size in sizes]
    zones = [dataset.aggregate() for _ in range(max(1, count // 50 - len(pools)))]
    number = 0
    for (pool, storage), size in zip(pools, sizes, strict=True):
        for _ in range(size):
            aggregates = (storage, zones[number % len(zones)])
            rare = number % max(1, count // RARE_HOSTS) == 0
            _cloud_host(dataset, number, pool, aggregates, rare)
            number += 1


def _storage_pool(dataset: Dataset, hosts: int) -> tuple[int, int]:
    """A sharing provider with disk for the hosts of an aggregate, and the id of that aggregate."""
    storage = dataset.aggregate()
    pool = dataset.provider(f"storage{storage:05}")
    dataset.inventory(pool, "DISK_GB", 1100 * hosts, max_unit=2000)
    dataset.trait(pool, "MISC_SHARES_VIA_AGGREGATE", "STORAGE_DISK_SSD")
    dataset.member(pool, storage)
    return pool, storage


def _cloud_host(
    dataset: Dataset, number: int, pool: int, aggregates: tuple[int, int], rare: bool
) -> None:
    rng, name = dataset.random, f"host{number:06}"
    host = dataset.provider(name)
    dataset.trait(host, "COMPUTE_NODE", "COMPUTE_VOLUME_MULTI_ATTACH")
    for aggregate in aggregates:
        dataset.member(host, aggregate)
    has_disk = rng.random() < 0.5
    if has_disk:
        dataset.inventory(host, "DISK_GB", 700, reserved=50)
    nodes: list[int] = []
    ports: dict[int, list[int]] = {}
    avx512 = rng.random() < 0.5
    for node in range(rng.choice([2, 3, 4])):
        numa = dataset.provider(f"{name}-numa{node}", host)
        nodes.append(numa)
        dataset.trait(numa, "HW_NUMA_ROOT", "HW_CPU_X86_AVX2")
        if avx512:
            dataset.trait(numa, "HW_CPU_X86_AVX512F")
        if rare and node == 0:
            dataset.trait(numa, RARE_TRAIT)
        dataset.inventory(numa, "VCPU", 24, ratio=4.0, max_unit=24)
        dataset.inventory(numa, "PCPU", 8)
        dataset.inventory(numa, "MEMORY_MB", 98304, reserved=2048, step_size=256)
        # Network cards belong to the first two nodes, as on a machine with two sockets.
        ports[numa] = []
        for port in range(2 if node < 2 else 0):
            card = dataset.provider(f"{name}-numa{node}-pf{port}", numa)
            dataset.inventory(card, "SRIOV_NET_VF", 8)
            dataset.trait(card, rng.choice(PHYSICAL_NETWORKS))
            ports[numa].append(card)
    gpus: dict[int, int] = {}
    if rng.random() < 0.4:
        node = rng.choice(nodes)
        gpus[node] = dataset.provider(f"{name}-gpu", node)
        dataset.inventory(gpus[node], "VGPU", 8)
        dataset.trait(gpus[node], "CUSTOM_GPU_MODEL_T")
    target = rng.uniform(0.6, 0.8)
    for numa in nodes:
        _fill_node(
            dataset, numa, ports[numa], gpus.get(numa), (host if has_disk else pool, pool), target
        )


def _fill_node(
    dataset: Dataset,
    numa: int,
    ports: list[int],
    gpu: int | None,
    disks: tuple[int, int],
    target: float,
) -> None:
    """Add consumers to a NUMA node until usage of its processors or memory reaches the target."""
    rng = dataset.random
    for _ in range(40):
        if max(dataset.share((numa, name)) for name in ("VCPU", "MEMORY_MB")) >= target:
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
        dataset.claim(amounts)


def add_wide_host(dataset: Dataset) -> None:
    """Add a host with nothing but equal devices, which can serve equal groups in very many ways.

    No other host has this class, so the host does not affect other requests.
    """
    host = dataset.provider("wide")
    for number in range(WIDE_DEVICES):
        device = dataset.provider(f"wide-device{number}", host)
        dataset.inventory(device, WIDE_CLASS, 1)


def class_ids(dataset: Dataset) -> dict[str, int]:
    """The ids of the resource classes in use; those of standard classes are the usual ones."""
    names = {row[1] for row in dataset.inventories}
    custom = sorted(name for name in names if name not in os_resource_classes.STANDARDS)
    return {
        **{name: os_resource_classes.STANDARDS.index(name) for name in names - set(custom)},
        **{name: number for number, name in enumerate(custom, CUSTOM_CLASS_ID_MIN)},
    }


def custom_traits(dataset: Dataset) -> list[str]:
    return sorted({name for _, name in dataset.traits} - set(os_traits.get_traits()))
