"""Measures roost's extensions of the API, next to the searches to which they belong."""

import uuid
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from benchmarks.client import Connection, Request
from benchmarks.databases import Database
from benchmarks.datasets import Dataset
from benchmarks.growth import running_service
from benchmarks.load import CONSUMER_TYPE
from benchmarks.measure import Budget, ShowProgress, measure
from benchmarks.requests import MACHINE, NODE, Case, request_with
from benchmarks.results import ExtensionsResult

FITS = [("resources", MACHINE)]
# More processors than any NUMA node has, and a network card of the same node.
NEVER_FITS = [
    ("resources_NUMA", "VCPU:200,MEMORY_MB:4096"),
    ("required_NUMA", "HW_NUMA_ROOT"),
    ("resources_PORT", "SRIOV_NET_VF:1"),
    ("same_subtree", "_NUMA,_PORT"),
    ("group_policy", "none"),
]
SPLIT = [("resources_NUMA", "VCPU:64"), ("resources", "DISK_GB:20"), ("can_split", "VCPU")]


class ExtensionCase(NamedTuple):
    case: Case
    search_key: str | None = None  # the search that it is compared with


def get_case(key: str, title: str, path: str, query: Sequence[tuple[str, object]]) -> Case:
    """A case that sends the same GET request again and again."""
    target = f"{path}?{urlencode(query, safe=':,')}"
    return Case(key, title, lambda dataset, connection, count: [Request("GET", target)] * count)


def placement_case(key: str, title: str, consumers: int, *, ordered: bool = True) -> Case:
    """A case that places new consumers with each request."""
    order = {"order": "spread", "spread": "root"} if ordered else {}

    def make(dataset: Dataset, connection: Connection, count: int) -> Sequence[Request]:
        return [
            request_with(
                "POST",
                "/placements",
                {
                    "query": urlencode([("resources", NODE)], safe=":,"),
                    **order,
                    "consumers": {
                        str(uuid.uuid4()): {
                            "project_id": "project-1",
                            "user_id": "user-1",
                            "consumer_type": CONSUMER_TYPE,
                        }
                        for _ in range(consumers)
                    },
                },
            )
            for _ in range(count)
        ]

    return Case(key, title, make)


SEARCH, EXPLAIN = "/allocation_candidates", "/allocation_candidates/explain"
PACKED = [*FITS, ("order", "pack"), ("limit", 100)]
WITH_RELAXATIONS = "explain, with relaxations"
CASES = (
    ExtensionCase(get_case("search", "a plain machine: search, no limit", SEARCH, FITS)),
    ExtensionCase(get_case("explain", "explain", EXPLAIN, FITS), "search"),
    ExtensionCase(get_case("capacity", "capacity", "/capacity", FITS), "search"),
    ExtensionCase(get_case("order", "order=pack, limit=100", SEARCH, PACKED), "search"),
    ExtensionCase(get_case("never", "NUMA + port that no host has: search", SEARCH, NEVER_FITS)),
    ExtensionCase(get_case("explain-never", WITH_RELAXATIONS, EXPLAIN, NEVER_FITS), "never"),
    ExtensionCase(
        get_case("split", "VCPU:64 in pieces, limit=1000", SEARCH, [*SPLIT, ("limit", 1000)])
    ),
    ExtensionCase(get_case("explain-split", "explain", EXPLAIN, SPLIT), "split"),
    ExtensionCase(
        get_case(
            "place-search",
            "VCPU+MEMORY: search, limit=10",
            SEARCH,
            [("resources", NODE), ("limit", 10)],
        )
    ),
    ExtensionCase(
        placement_case("place-plain", "POST /placements of one consumer", 1, ordered=False),
        "place-search",
    ),
    ExtensionCase(
        placement_case("place-1", "the same, order=spread, spread=root", 1), "place-search"
    ),
    ExtensionCase(
        placement_case("place-10", "POST /placements of ten, order=spread, spread=root", 10),
        "place-search",
    ),
)


def measure_extensions(
    hosts: int, database: Database, budget: Budget, show_progress: ShowProgress
) -> ExtensionsResult:
    name = f"cloud-{hosts}"
    with running_service(name, database, show_progress) as (dataset, roost, _):
        timings = {}
        for case, _ in CASES:
            show_progress(f"{name}: {case.title}")
            timings[case.key] = measure(case, dataset, roost, database.process_id, budget)
        return ExtensionsResult(
            database=database.title, hosts=hosts, providers=len(dataset.providers), timings=timings
        )
