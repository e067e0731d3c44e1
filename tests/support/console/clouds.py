"""The clouds on which tests open the console."""

from collections.abc import Mapping
from pathlib import Path

import httpx

from benchmarks.datasets import Dataset, build
from benchmarks.load import Dump, create_schema
from roost.model import SHARING_TRAIT, Inventory
from tests.support import world
from tests.support.headers import HEADERS
from tests.support.names import uid
from tests.support.world import World, provider

LARGE_HOSTS = 10_000
HOSTS_IN_RACK = 40

MEGABYTES = 1024
GPU_TRAIT = "CUSTOM_GPU_MODEL_T"
DEPTH = 8

SCRIPT = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(1)>"
QUOTES = "\"'&<>`${alert(1)}"
LINK = "javascript:alert(1)"
RIGHT_TO_LEFT = "שרת \u202etxt.exe\u202c خادم"
# With joiners: an astronaut, and a flag.
EMOJI = "\U0001f469\U0001f3fd\u200d\U0001f680 \U0001f3f3\ufe0f\u200d\U0001f308 host"
LONG = "long-" + "x" * 195
ENTITIES = "&lt;b&gt;bold&lt;/b&gt;"
HOSTILE_NAMES = (SCRIPT, IMAGE, QUOTES, LINK, RIGHT_TO_LEFT, EMOJI, LONG, ENTITIES)


# ---------------------------------------------------------------------------------------------
# All the shapes


def shapes() -> World:
    """Hosts with NUMA nodes, network cards and GPUs, plain ones, shared storage, a deep tree."""
    return world.build(
        *(plan for number in range(4) for plan in _numa_host(number)),
        *(_plain_host(number) for number in range(3)),
        provider(
            "storage",
            {"DISK_GB": Inventory(total=20_000, reserved=500, max_unit=2_000)},
            traits=[SHARING_TRAIT, "STORAGE_DISK_SSD"],
            aggregates=["rack-1", "rack-2"],
        ),
        *_deep_tree(),
        provider("empty-host"),
        traits=["CUSTOM_LONELY"],
    )


def _numa_host(number: int) -> list[world.ProviderPlan]:
    name = f"numa-host-{number}"
    plans = [
        provider(
            name, traits=["COMPUTE_NODE"], aggregates=[f"rack-{1 + number // 2}", "availability-a"]
        )
    ]
    for node in range(2):
        numa = f"{name}-numa{node}"
        plans.append(
            provider(
                numa,
                {
                    "VCPU": Inventory(total=16, allocation_ratio=4.0, max_unit=16),
                    "PCPU": Inventory(total=8),
                    "MEMORY_MB": Inventory(total=64 * MEGABYTES, reserved=2 * MEGABYTES),
                },
                parent=name,
                traits=["HW_NUMA_ROOT", *(["HW_CPU_X86_AVX512F"] if number % 2 else [])],
            )
        )
        plans += [
            provider(
                f"{numa}-pf{port}",
                {"SRIOV_NET_VF": 8},
                parent=numa,
                traits=[f"CUSTOM_PHYSNET_{port}"],
            )
            for port in range(2)
        ]
    if number == 0:
        gpu = provider(f"{name}-gpu", {"VGPU": 4}, parent=f"{name}-numa0", traits=[GPU_TRAIT])
        plans.append(gpu)
    return plans


def _plain_host(number: int) -> world.ProviderPlan:
    return provider(
        f"plain-host-{number}",
        {
            "VCPU": Inventory(total=32, allocation_ratio=2.0, max_unit=32),
            "MEMORY_MB": Inventory(total=128 * MEGABYTES, reserved=1 * MEGABYTES, step_size=256),
            "DISK_GB": Inventory(total=900, reserved=100),
            "CUSTOM_LICENSE": Inventory(total=10, min_unit=2),
        },
        traits=["COMPUTE_NODE", "CUSTOM_PLAIN"],
        aggregates=["availability-b"],
    )


def _deep_tree() -> list[world.ProviderPlan]:
    plans = [provider("deep-0", {"VCPU": 4})]
    plans += [
        provider(f"deep-{level}", {"CUSTOM_DEVICE": 2}, parent=f"deep-{level - 1}")
        for level in range(1, DEPTH)
    ]
    return plans


def load_shapes(client: httpx.Client) -> None:
    world.load(shapes(), client)
    _claim(
        client,
        "server-1",
        {
            "numa-host-0-numa0": {"VCPU": 8, "MEMORY_MB": 16 * MEGABYTES},
            "numa-host-0-numa0-pf0": {"SRIOV_NET_VF": 2},
            "numa-host-0-gpu": {"VGPU": 1},
            "storage": {"DISK_GB": 200},
        },
    )
    _claim(
        client,
        "server-2",
        {
            "numa-host-1-numa0": {"PCPU": 4, "MEMORY_MB": 8 * MEGABYTES},
            "numa-host-1-numa1": {"PCPU": 4, "MEMORY_MB": 8 * MEGABYTES},
            "storage": {"DISK_GB": 400},
        },
        project="research",
    )
    half = {"VCPU": 32, "MEMORY_MB": 63 * MEGABYTES, "DISK_GB": 300}
    _claim(client, "server-3", {"plain-host-0": half})
    _claim(client, "server-4", {"plain-host-0": half}, project="research", user="grace")
    _claim(client, "move-1", {"plain-host-1": {"VCPU": 4, "DISK_GB": 40}}, kind="MIGRATION")


# ---------------------------------------------------------------------------------------------
# Names that a page must show as text


def load_hostile_names(client: httpx.Client) -> None:
    for name in HOSTILE_NAMES:
        plan = provider(name, {"VCPU": 8, "MEMORY_MB": 4096}, traits=["CUSTOM_HOSTILE"])
        child = provider(f"child {name}"[:200], {"VGPU": 2}, parent=name)
        world.load(world.build(plan, child), client)
        _claim(
            client,
            f"user of {name}",
            {name: {"VCPU": 2}, f"child {name}"[:200]: {"VGPU": 1}},
            project=name,
            user=name,
        )


# ---------------------------------------------------------------------------------------------
# Many hosts, straight into the database


def write_large(folder: Path, hosts: int = LARGE_HOSTS, kind: str = "nested") -> None:
    """Make roost.db in the folder: hosts with two NUMA nodes and four devices each, in racks."""
    dataset = build(f"{kind}-{hosts}")
    _put_into_racks(dataset)
    url = f"sqlite:///{folder / 'roost.db'}"
    create_schema(url)
    Dump(dataset, folder).load(url)


def _put_into_racks(dataset: Dataset) -> None:
    roots = [number for number, _, _, root, _ in dataset.providers if number == root]
    for place, root in enumerate(roots):
        if place % HOSTS_IN_RACK == 0:
            rack = dataset.aggregate()
        dataset.member(root, rack)


# ---------------------------------------------------------------------------------------------


def _claim(
    client: httpx.Client,
    consumer: str,
    amounts: Mapping[str, Mapping[str, int]],
    *,
    project: str = "shop",
    user: str = "ada",
    kind: str = "INSTANCE",
) -> None:
    """Give a new consumer these amounts, by the names of providers and classes."""
    body = {
        "allocations": {uid(name): {"resources": taken} for name, taken in amounts.items()},
        "project_id": project,
        "user_id": user,
        "consumer_type": kind,
        "consumer_generation": None,
    }
    answer = client.put(f"/allocations/{uid(consumer)}", headers=HEADERS, json=body)
    if not answer.is_success:
        raise RuntimeError(f"{consumer}: {answer.status_code} {answer.text}")
