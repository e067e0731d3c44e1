"""A valid request for every route, and for every form of body that the API has ever accepted."""

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from roost.api.routes import Route
from tests.generated.small_world import (
    AGGREGATE_1,
    AGGREGATE_2,
    CLASS,
    CLASS_UNUSED,
    CN1,
    CN2,
    CONSUMER_1,
    CONSUMER_2,
    CONSUMER_GENERATION,
    CONSUMER_NEW,
    GENERATIONS,
    INVENTORIES,
    NUMA,
    PROJECT,
    SHARING,
    SPARE,
    SS1,
    TRAIT,
    TRAIT_STANDARD,
    TRAIT_UNUSED,
    USER,
    consumer_body,
)

NEWEST = "1.39"


@dataclasses.dataclass(frozen=True)
class Valid:
    """A request that succeeds in the small world, or finds nothing."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Any = None  # None: no body
    version: str = NEWEST
    is_answered_404: bool = False  # the service alone chooses the names of what the path names

    def is_served_by(self, route: Route) -> bool:
        version = tuple(map(int, self.version.split(".")))
        pattern = re.sub(r"\{\w+\}", "[^/]+", route.path)
        return (
            route.method == self.method
            and route.since <= version <= route.until
            and re.fullmatch(pattern, self.path) is not None
        )

    def __str__(self) -> str:
        parameters = "&".join(f"{name}={value}" for name, value in self.query)
        return f"{self.version} {self.method} {self.path}{'?' if parameters else ''}{parameters}"


def get(path: str, version: str = NEWEST, *query: tuple[str, str]) -> Valid:
    return Valid("GET", path, query, version=version)


def put(path: str, body: Any = None, version: str = NEWEST) -> Valid:
    return Valid("PUT", path, body=body, version=version)


def post(path: str, body: Any, version: str = NEWEST) -> Valid:
    return Valid("POST", path, body=body, version=version)


def delete(path: str, version: str = NEWEST) -> Valid:
    return Valid("DELETE", path, version=version)


def _providers() -> Iterator[Valid]:
    path = "/resource_providers"
    yield get(path)
    yield get(path, NEWEST, ("name", "cn1"))
    yield get(path, NEWEST, ("uuid", CN1), ("in_tree", CN1))
    yield get(path, NEWEST, ("resources", "VCPU:1,MEMORY_MB:512"), ("required", f"!{SHARING}"))
    yield get(path, NEWEST, ("required", f"in:{TRAIT},{TRAIT_STANDARD}"), ("required", TRAIT))
    yield get(path, NEWEST, ("member_of", f"in:{AGGREGATE_1},{AGGREGATE_2}"))
    yield get(path, NEWEST, ("member_of", AGGREGATE_1), ("member_of", f"!{AGGREGATE_2}"))
    yield get(path, "1.4", ("resources", "VCPU:1"), ("member_of", AGGREGATE_1))
    yield get(path, NEWEST, ("include", "inventories,usages,traits,aggregates"), ("limit", "2"))
    yield get(path, NEWEST, ("tree", NUMA), ("include", "usages"), ("required", TRAIT))
    yield get("/summary")
    yield get("/summary", NEWEST, ("by", "aggregates,traits"), ("resource_class", f"VCPU,{CLASS}"))
    yield post(path, {"name": "new"}, "1.0")
    yield post(path, {"name": "new", "uuid": CONSUMER_NEW, "parent_provider_uuid": CN1})
    yield get(f"{path}/{CN1}")
    yield put(f"{path}/{SPARE}", {"name": "renamed"}, "1.0")
    yield put(f"{path}/{SPARE}", {"name": "renamed", "parent_provider_uuid": CN2})
    yield put(f"{path}/{NUMA}", {"name": "freed", "parent_provider_uuid": None})
    yield delete(f"{path}/{SPARE}")


def _inventories() -> Iterator[Valid]:
    path = f"/resource_providers/{CN2}/inventories"
    spare = f"/resource_providers/{SPARE}/inventories"
    generation = {"resource_provider_generation": GENERATIONS[CN2]}
    full = {
        "total": 16,
        "reserved": 1,
        "min_unit": 1,
        "max_unit": 8,
        "step_size": 1,
        "allocation_ratio": 1.5,
    }
    yield get(path)
    yield post(spare, {"resource_class": "VCPU", **full})
    yield post(spare, {"resource_class": CLASS, "total": 1, "resource_provider_generation": 0})
    yield put(path, {"inventories": {"VCPU": full, CLASS: {"total": 3}}, **generation})
    yield put(spare, {"inventories": {}, "resource_provider_generation": 0}, "1.0")
    yield delete(f"/resource_providers/{NUMA}/inventories")
    yield get(f"{path}/VCPU")
    yield put(f"{path}/VCPU", {**full, **generation})
    yield put(f"{path}/MEMORY_MB", {"total": 4096, **generation}, "1.0")
    yield delete(f"{path}/MEMORY_MB")


def _provider_parts() -> Iterator[Valid]:
    for part in ("usages", "aggregates", "traits", "allocations"):
        yield get(f"/resource_providers/{CN1}/{part}")
    aggregates = [AGGREGATE_2, AGGREGATE_1]
    generation = {"resource_provider_generation": GENERATIONS[CN1]}
    path = f"/resource_providers/{CN1}"
    yield put(f"{path}/aggregates", aggregates, "1.1")
    yield put(f"{path}/aggregates", {"aggregates": aggregates, **generation})
    yield put(f"{path}/traits", {"traits": [TRAIT, SHARING], **generation})
    yield put(f"{path}/traits", {"traits": [], **generation}, "1.6")
    yield delete(f"{path}/traits")


def _names() -> Iterator[Valid]:
    yield get("/")
    yield get("/resource_classes")
    yield post("/resource_classes", {"name": "CUSTOM_NEW"})
    yield get("/resource_classes/VCPU")
    yield put(f"/resource_classes/{CLASS_UNUSED}", {"name": "CUSTOM_RENAMED"}, "1.2")
    yield put("/resource_classes/CUSTOM_NEW")
    yield delete(f"/resource_classes/{CLASS_UNUSED}")
    yield get("/traits")
    yield get("/traits", NEWEST, ("name", f"in:{TRAIT},{TRAIT_STANDARD}"), ("associated", "true"))
    yield get("/traits", NEWEST, ("name", "startswith:CUSTOM"), ("associated", "False"))
    yield get(f"/traits/{TRAIT}")
    yield put("/traits/CUSTOM_NEW")
    yield delete(f"/traits/{TRAIT_UNUSED}")


def _allocations() -> Iterator[Valid]:
    path = f"/allocations/{CONSUMER_NEW}"
    entry = {"resource_provider": {"uuid": CN2}, "resources": {"VCPU": 2}}
    owner = {"project_id": PROJECT, "user_id": USER}
    by_provider = {CN2: {"resources": {"VCPU": 2, "MEMORY_MB": 512}}}
    mappings = {"": [CN2], "_A": [CN2]}
    yield get(f"/allocations/{CONSUMER_1}")
    yield put(path, {"allocations": [entry]}, "1.0")
    yield put(path, {"allocations": [entry], **owner}, "1.8")
    yield put(path, {"allocations": by_provider, **owner}, "1.12")
    yield put(path, consumer_body(CONSUMER_NEW, mappings=mappings))
    yield put(
        f"/allocations/{CONSUMER_1}",
        consumer_body(CONSUMER_1, CONSUMER_GENERATION, allocations=by_provider),
    )
    yield post("/allocations", {CONSUMER_NEW: {"allocations": by_provider, **owner}}, "1.13")
    yield post(
        "/allocations",
        {
            CONSUMER_NEW: consumer_body(CONSUMER_NEW),
            CONSUMER_2: consumer_body(CONSUMER_2, CONSUMER_GENERATION, allocations={}),
        },
    )
    yield delete(f"/allocations/{CONSUMER_1}")
    yield get("/allocations")
    yield get(
        "/allocations",
        NEWEST,
        ("resource_provider", CN1),
        ("tree", NUMA),
        ("resource_class", "VCPU"),
        ("project_id", PROJECT),
        ("user_id", USER),
        ("consumer_type", "INSTANCE"),
        ("changed_before", "2026-01-02T03:04:05Z"),
        ("limit", "1"),
    )
    yield get("/usages", "1.9", ("project_id", PROJECT), ("user_id", USER))
    yield get("/usages", NEWEST, ("project_id", PROJECT), ("consumer_type", "all"))
    yield post(
        "/reshaper",
        {
            "inventories": {
                CN2: {
                    "inventories": {"VCPU": INVENTORIES[CN2]["VCPU"]},
                    "resource_provider_generation": GENERATIONS[CN2],
                },
                SPARE: {
                    "inventories": {"MEMORY_MB": {"total": 4096}},
                    "resource_provider_generation": GENERATIONS[SPARE],
                },
            },
            "allocations": {
                CONSUMER_2: consumer_body(
                    CONSUMER_2,
                    CONSUMER_GENERATION,
                    allocations={SPARE: {"resources": {"MEMORY_MB": 1024}}},
                )
            },
        },
    )


def _placements() -> Iterator[Valid]:
    owner = {"project_id": PROJECT, "user_id": USER, "consumer_type": "INSTANCE"}
    yield post(
        "/placements", {"query": "resources=VCPU:1&limit=5", "consumers": {CONSUMER_NEW: owner}}
    )
    yield post(
        "/placements",
        {
            "query": {"groups": {"": {"resources": {"VCPU": 1}, "required": [f"!{SHARING}"]}}},
            "order": "spread",
            "consumers": {CONSUMER_NEW: owner},
            "spread": "root",
            "idempotency_key": "key",
        },
    )


def _holds() -> Iterator[Valid]:
    yield post("/holds", {"tree": SPARE, "seconds": 0.01})
    yield Valid("DELETE", f"/holds/{CONSUMER_NEW}", is_answered_404=True)


def _events() -> Iterator[Valid]:
    # The position before the first event; the server answers at once.
    yield get("/events")
    yield get("/events", NEWEST, ("after", "kA"), ("wait", "0"), ("tree", CN1), ("kind", "traits"))


def _candidates() -> Iterator[Valid]:
    path = "/allocation_candidates"
    yield get(path, "1.10", ("resources", "VCPU:1"))
    yield get(
        path,
        "1.24",
        ("resources", "VCPU:1,DISK_GB:10"),
        ("required", f"{TRAIT},!{SHARING}"),
        ("member_of", AGGREGATE_1),
        ("limit", "5"),
    )
    yield get(
        path,
        "1.25",
        *(("resources", "DISK_GB:10"), ("resources1", "VCPU:1"), ("resources2", "VCPU:1")),
        ("group_policy", "isolate"),
    )
    yield get(
        path,
        NEWEST,
        *(("resources", "MEMORY_MB:512,DISK_GB:10"), ("required", f"in:{TRAIT},{TRAIT_STANDARD}")),
        *(("resources_CPU", "VCPU:1"), ("member_of_CPU", f"in:{AGGREGATE_1},{AGGREGATE_2}")),
        *(("resources_MAGIC", f"{CLASS}:1"), ("in_tree_MAGIC", NUMA)),
        ("group_policy", "none"),
        ("root_required", f"{TRAIT},!{SHARING}"),
        ("limit", "10"),
    )
    yield get(
        path,
        NEWEST,
        *(("resources-a", "VCPU:2"), ("resources-b", f"{CLASS}:1"), ("required-c", TRAIT)),
        *(("same_subtree", "-a,-b,-c"), ("same_subtree", "-a,-b"), ("group_policy", "none")),
        *(("member_of-a", f"!{AGGREGATE_2}"), ("in_tree-a", CN1)),
    )
    yield get(path, NEWEST, ("resources", "DISK_GB:20"), ("in_tree", SS1))


def _extended_candidates() -> Iterator[Valid]:
    """Parameters that exist only beyond the newest microversion."""
    path = "/allocation_candidates"
    yield get(
        path,
        NEWEST,
        *(("resources_A", "VCPU:1"), ("resources_B", f"{CLASS}:1"), ("in_subtree_B", CN1)),
        *(("isolate", "_A,_B"), ("isolate", "_B,_A"), ("same_subtree", "_B,!_A")),
        *(("root_required", f"in:{TRAIT},{TRAIT_STANDARD}"), ("root_required", f"!{SHARING}")),
        *(("root_member_of", f"in:{AGGREGATE_1},{AGGREGATE_2}"), ("order", "pack"), ("limit", "1")),
    )
    yield get(path, NEWEST, ("resources", "VCPU:1"), ("order", "random:5"), ("in_subtree", CN1))
    yield get(
        path, NEWEST, ("resources", "VCPU:1"), ("resources_A", "VCPU:9"), ("can_split", "VCPU")
    )
    yield post(
        path,
        {
            "groups": {
                "": {"resources": {"MEMORY_MB": 512}, "required": [f"!{SHARING}"], "in_tree": CN1},
                "_A": {
                    "resources": {"VCPU": 1},
                    "member_of": [AGGREGATE_1],
                    "in_subtree": CN1,
                    "can_split": "VCPU",
                },
                "_B": {"required": [TRAIT]},
            },
            "same_subtree": ["_A,_B"],
            "root_required": [TRAIT],
            "root_member_of": [AGGREGATE_1, f"!{AGGREGATE_2}"],
            "group_policy": "none",
            "order": "spread",
            "limit": 5,
        },
    )
    yield post(
        path,
        {
            "groups": {"_A": {"resources": {"VCPU": 1}}, "_B": {"resources": {"VCPU": 1}}},
            "isolate": ["_A,_B"],
        },
    )


def _explanations() -> Iterator[Valid]:
    parameters = (("resources", "VCPU:9,MEMORY_MB:512"), ("required", f"{TRAIT},!{SHARING}"))
    groups = (("resources_A", "VCPU:1"), ("resources_B", f"{CLASS}:1"), ("isolate", "_A,_B"))
    yield get(
        "/allocation_candidates/explain", NEWEST, *parameters, ("member_of", f"!{AGGREGATE_2}")
    )
    yield get("/allocation_candidates/explain", NEWEST, *parameters, *groups, ("tree", CN1))
    yield get("/capacity", NEWEST, *parameters, ("root_member_of", AGGREGATE_1))
    yield get("/capacity", NEWEST, *groups, ("limit", "3"))
    body = {"groups": {"_A": {"resources": {"VCPU": 9}}}, "can_split": "VCPU"}
    yield post("/allocation_candidates/explain", {**body, "tree": CN1})
    yield post("/capacity", {**body, "limit": 3})


VALID = (
    *_providers(),
    *_inventories(),
    *_provider_parts(),
    *_names(),
    *_allocations(),
    *_candidates(),
    *_extended_candidates(),
    *_explanations(),
    *_placements(),
    *_holds(),
    *_events(),
)
