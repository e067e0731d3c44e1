"""roost alone, what it does beyond the API: explanations beside the searches that they explain."""

import uuid
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from benchmarks.client import Connection, Request
from benchmarks.databases import Database
from benchmarks.growth import served
from benchmarks.load import CONSUMER_TYPE
from benchmarks.measure import Effort, measure
from benchmarks.requests import MACHINE, NODE, Case, request_with
from benchmarks.results import BeyondResult
from benchmarks.worlds import World

FITS = [("resources", MACHINE)]
# More processors than a NUMA node has, beside a network card of it.
NEVER_FITS = [
    ("resources_NUMA", "VCPU:200,MEMORY_MB:4096"),
    ("required_NUMA", "HW_NUMA_ROOT"),
    ("resources_PORT", "SRIOV_NET_VF:1"),
    ("same_subtree", "_NUMA,_PORT"),
    ("group_policy", "none"),
]
SPLIT = [("resources_NUMA", "VCPU:64"), ("resources", "DISK_GB:20"), ("can_split", "VCPU")]


class BeyondCase(NamedTuple):
    case: Case
    beside: str | None = None  # the key of the search that it is compared with


def asked(key: str, title: str, path: str, query: Sequence[tuple[str, object]]) -> Case:
    target = f"{path}?{urlencode(query, safe=':,')}"
    return Case(key, title, lambda world, connection, count: [Request("GET", target)] * count)


def placements(key: str, title: str, consumers: int) -> Case:
    def make(world: World, connection: Connection, count: int) -> Sequence[Request]:
        return [
            request_with(
                "POST",
                "/placements",
                {
                    "query": urlencode([("resources", NODE)], safe=":,"),
                    "order": "spread",
                    "spread": "root",
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
WHY = "explain, and what would let it fit"
CASES = (
    BeyondCase(asked("search", "a plain machine: search, no limit", SEARCH, FITS)),
    BeyondCase(asked("explain", "explain", EXPLAIN, FITS), "search"),
    BeyondCase(asked("capacity", "capacity", "/capacity", FITS), "search"),
    BeyondCase(asked("order", "order=pack, limit=100", SEARCH, PACKED), "search"),
    BeyondCase(asked("never", "NUMA + port that nobody has: search", SEARCH, NEVER_FITS)),
    BeyondCase(asked("explain-never", WHY, EXPLAIN, NEVER_FITS), "never"),
    BeyondCase(asked("split", "VCPU:64 in pieces, limit=1000", SEARCH, [*SPLIT, ("limit", 1000)])),
    BeyondCase(asked("explain-split", "explain", EXPLAIN, SPLIT), "split"),
    BeyondCase(placements("place-1", "POST /placements of one consumer", 1)),
    BeyondCase(placements("place-10", "POST /placements of ten, spread=root", 10)),
)


def measure_beyond(
    hosts: int, database: Database, effort: Effort, say: Callable[[str], None]
) -> BeyondResult:
    name = f"cloud-{hosts}"
    with served(name, database, say) as (world, roost, _):
        timings = {}
        for case, _ in CASES:
            say(f"{name}: {case.title}")
            timings[case.key] = measure(case, world, roost, database.process_id, effort)
        return BeyondResult(
            database=database.title, hosts=hosts, providers=len(world.providers), timings=timings
        )
