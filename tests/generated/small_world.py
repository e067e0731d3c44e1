"""A small cloud with one of everything, and the code that restores it after a change.

cn1            VCPU, MEMORY_MB; two traits; in aggregate 1; consumer 1 holds some
└── cn1_numa0  CUSTOM_MAGIC
cn2            VCPU, MEMORY_MB; in aggregates 1 and 2; consumer 2 holds some
ss1            DISK_GB, shared by aggregate 1; consumer 1 holds some
spare          nothing
"""

from collections.abc import Callable, Mapping
from typing import Any

CN1 = "c0000001-0000-4000-8000-000000000001"
NUMA = "c0000001-0000-4000-8000-00000000a000"
CN2 = "c0000002-0000-4000-8000-000000000002"
SS1 = "d0000001-0000-4000-8000-000000000001"
SPARE = "e0000001-0000-4000-8000-000000000001"
NOBODY = "ffffffff-ffff-4fff-8fff-ffffffffffff"

AGGREGATE_1 = "a0000001-0000-4000-8000-000000000001"
AGGREGATE_2 = "a0000002-0000-4000-8000-000000000002"

CONSUMER_1 = "b0000001-0000-4000-8000-000000000001"
CONSUMER_2 = "b0000002-0000-4000-8000-000000000002"
CONSUMER_NEW = "b0000009-0000-4000-8000-000000000009"

PROJECT, USER = "project-1", "user-1"

TRAIT, TRAIT_STANDARD, TRAIT_UNUSED = "CUSTOM_GOLD", "HW_CPU_X86_AVX2", "CUSTOM_UNUSED"
SHARING = "MISC_SHARES_VIA_AGGREGATE"
CLASS, CLASS_UNUSED = "CUSTOM_MAGIC", "CUSTOM_SPARE"

# Parents first.
PROVIDERS = {CN1: "cn1", NUMA: "cn1_numa0", CN2: "cn2", SS1: "ss1", SPARE: "spare"}
PARENTS = {NUMA: CN1}
INVENTORIES = {
    CN1: {"VCPU": {"total": 16, "allocation_ratio": 4.0}, "MEMORY_MB": {"total": 32768}},
    NUMA: {CLASS: {"total": 4}},
    CN2: {"VCPU": {"total": 8, "max_unit": 4}, "MEMORY_MB": {"total": 8192, "reserved": 512}},
    SS1: {"DISK_GB": {"total": 1000, "step_size": 10, "min_unit": 10}},
}
TRAITS = {CN1: [TRAIT_STANDARD, TRAIT], SS1: [SHARING]}
AGGREGATES = {CN1: [AGGREGATE_1], CN2: [AGGREGATE_1, AGGREGATE_2], SS1: [AGGREGATE_1]}
ALLOCATIONS: Mapping[str, Mapping[str, Mapping[str, int]]] = {
    CONSUMER_1: {CN1: {"VCPU": 2, "MEMORY_MB": 1024}, SS1: {"DISK_GB": 20}},
    CONSUMER_2: {CN2: {"VCPU": 1}},
}

# Each write above and each consumer raises the generation by one.
GENERATIONS = {
    uuid: sum(uuid in each for each in (INVENTORIES, TRAITS, AGGREGATES, *ALLOCATIONS.values()))
    for uuid in PROVIDERS
}
CONSUMER_GENERATION = 1

# Reads that together show most of the world, whatever the last write changed.
READS = (
    "/resource_providers?resources=VCPU:1",
    f"/resource_providers/{CN1}/inventories",
    f"/resource_providers/{CN2}/inventories",
    f"/resource_providers/{SPARE}/inventories",
    f"/resource_providers/{SPARE}/usages",
    f"/allocations/{CONSUMER_1}",
    f"/allocations/{CONSUMER_NEW}",
    f"/usages?project_id={PROJECT}",
    "/allocation_candidates?resources=VCPU:1&limit=50",
    "/allocation_candidates?resources=MEMORY_MB:1,DISK_GB:10&limit=50",
)

# Sends a request, returns the body of the answer, and raises if the request is refused.
Ask = Callable[..., Any]


def restore(ask: Ask) -> None:
    """Restore the world, whatever state it is in."""
    _clear(ask)
    for name in (TRAIT, TRAIT_UNUSED):
        ask("PUT", f"/traits/{name}")
    for name in (CLASS, CLASS_UNUSED):
        ask("PUT", f"/resource_classes/{name}")
    for uuid, name in PROVIDERS.items():
        parent = PARENTS.get(uuid)
        body = {"uuid": uuid, "name": name, "parent_provider_uuid": parent}
        ask("POST", "/resource_providers", body)
        _fill(ask, uuid)
    for consumer in ALLOCATIONS:
        ask("PUT", f"/allocations/{consumer}", consumer_body(consumer))
    found = ask("GET", "/resource_providers")["resource_providers"]
    assert {each["uuid"]: each["generation"] for each in found} == GENERATIONS


def _fill(ask: Ask, uuid: str) -> None:
    parts: list[tuple[str, Mapping[str, Any]]] = [
        ("inventories", INVENTORIES),
        ("traits", TRAITS),
        ("aggregates", AGGREGATES),
    ]
    generation = 0
    for part, contents in parts:
        if uuid in contents:
            body = {part: contents[uuid], "resource_provider_generation": generation}
            ask("PUT", f"/resource_providers/{uuid}/{part}", body)
            generation += 1


def _clear(ask: Ask) -> None:
    providers = {
        each["uuid"]: each for each in ask("GET", "/resource_providers")["resource_providers"]
    }
    consumers = {
        consumer
        for uuid in providers
        for consumer in ask("GET", f"/resource_providers/{uuid}/allocations")["allocations"]
    }
    for consumer in consumers:
        ask("DELETE", f"/allocations/{consumer}")
    while providers:
        parents = {each["parent_provider_uuid"] for each in providers.values()}
        for uuid in providers.keys() - parents:
            ask("DELETE", f"/resource_providers/{uuid}")
            del providers[uuid]
    for trait in ask("GET", "/traits?name=startswith:CUSTOM_")["traits"]:
        ask("DELETE", f"/traits/{trait}")
    for found in ask("GET", "/resource_classes")["resource_classes"]:
        if found["name"].startswith("CUSTOM_"):
            ask("DELETE", f"/resource_classes/{found['name']}")


def consumer_body(
    consumer: str, generation: int | None = None, **changes: object
) -> dict[str, Any]:
    """A body that sets the allocations of one consumer, in the form of the newest version."""
    held = ALLOCATIONS.get(consumer, {CN2: {"VCPU": 1}})
    return {
        "allocations": {uuid: {"resources": dict(amounts)} for uuid, amounts in held.items()},
        "project_id": PROJECT,
        "user_id": USER,
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
        **changes,
    }
