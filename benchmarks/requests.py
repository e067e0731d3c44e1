"""The requests that are measured: one case for each row of the table.

A case creates its requests beforehand, from the dataset and from answers of the service, so that
nothing but the requests themselves runs during the measurement.
"""

import itertools
import json
import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from benchmarks.client import Connection, Request
from benchmarks.datasets import PHYSICAL_NETWORKS, RARE_TRAIT, WIDE_CLASS, WIDE_DEVICES, Dataset
from benchmarks.load import CONSUMER_TYPE

ALL = ("flat", "nested", "cloud")
# A machine of this size fits nearly everywhere, in every dataset.
MACHINE = "VCPU:2,MEMORY_MB:4096,DISK_GB:20"
NODE = "VCPU:2,MEMORY_MB:4096"
TREES_RESHAPED = 40

# Creates the requests of a case: for a dataset, through a connection, at most this many.
RequestMaker = Callable[[Dataset, Connection, int], Sequence[Request]]


class Case(NamedTuple):
    key: str
    title: str
    make: RequestMaker
    # The kinds of datasets that can serve it.
    kinds: tuple[str, ...] = ALL
    # For searches: the query without `limit`, so that answers can be compared.
    query: str | None = None
    # Why the whole answer of the reference cannot be compared; empty if it can.
    exception: str = ""

    @property
    def writes(self) -> bool:
        return self.query is None and not self.key.startswith("get-")


def search(key: str, title: str, query: Sequence[tuple[str, object]], **options: Any) -> Case:
    """A case that sends the same search again and again."""
    target = f"/allocation_candidates?{urlencode(query, safe=':,')}"

    def make(dataset: Dataset, connection: Connection, count: int) -> Sequence[Request]:
        return [Request("GET", target)] * count

    unlimited = [pair for pair in query if pair[0] != "limit"]
    return Case(key, title, make, query=urlencode(unlimited, safe=":,"), **options)


def read(key: str, title: str, path: str) -> Case:
    """A case that reads a part of a random provider with each request."""

    def make(dataset: Dataset, connection: Connection, count: int) -> Sequence[Request]:
        chosen = random.Random(key).choices(dataset.providers, k=count)
        return [Request("GET", f"/resource_providers/{row[1]}{path}") for row in chosen]

    return Case(key, title, make)


# -- writes ----------------------------------------------------------------------------------------


def get(connection: Connection, target: str) -> Any:
    answer = connection.send(Request("GET", target))
    if answer.status != 200:
        raise RuntimeError(f"GET {target}: {answer.status} {answer.body.decode()}")
    return json.loads(answer.body)


def request_with(method: str, target: str, body: Any) -> Request:
    return Request(method, target, json.dumps(body).encode())


def put_allocations(dataset: Dataset, connection: Connection, count: int) -> Sequence[Request]:
    """Claims for new consumers; fewer than `count` if no more fit."""
    found = get(connection, f"/allocation_candidates?resources={MACHINE}&limit=1000")
    return [
        request_with(
            "PUT",
            f"/allocations/{uuid.uuid4()}",
            {
                **candidate,
                "project_id": "project-1",
                "user_id": "user-1",
                "consumer_generation": None,
                "consumer_type": CONSUMER_TYPE,
            },
        )
        for candidate in itertools.islice(fitting(found), count)
    ]


def fitting(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Candidates in turn, each for as long as it fits together with the previous ones."""
    free = {
        (provider, name): resource["capacity"] - resource["used"]
        for provider, summary in found["provider_summaries"].items()
        for name, resource in summary["resources"].items()
    }
    candidates = found["allocation_requests"]
    random.Random("claims").shuffle(candidates)
    while candidates:
        left = []
        for candidate in candidates:
            amounts = {
                (provider, name): amount
                for provider, held in candidate["allocations"].items()
                for name, amount in held["resources"].items()
            }
            if all(free[key] >= amount for key, amount in amounts.items()):
                for key, amount in amounts.items():
                    free[key] -= amount
                left.append(candidate)
                yield candidate
        candidates = left


def puts_of(
    key: str,
    part: str,
    change: Callable[[Any, int], Any],
    providers: Callable[[Dataset], Sequence[str]],
) -> RequestMaker:
    """PUTs of one part of providers. Each expects the previous ones to have succeeded."""

    def make(dataset: Dataset, connection: Connection, count: int) -> Sequence[Request]:
        uuids = providers(dataset)
        chosen = random.Random(key).sample(uuids, min(len(uuids), count))
        state = {
            one: get(connection, f"/resource_providers/{one}/{part}")
            for one in itertools.islice(chosen, count)
        }
        requests = []
        for number in range(count):
            one, turn = chosen[number % len(chosen)], number // len(chosen)
            body = {
                "resource_provider_generation": state[one]["resource_provider_generation"] + turn,
                part: change(state[one][part], turn),
            }
            requests.append(request_with("PUT", f"/resource_providers/{one}/{part}", body))
        return requests

    return make


def providers_with_inventories(dataset: Dataset) -> Sequence[str]:
    """Providers with inventories."""
    numbers = {row[0] for row in dataset.inventories}
    return [row[1] for row in dataset.providers if row[0] in numbers]


def roots(dataset: Dataset) -> Sequence[str]:
    return [row[1] for row in dataset.providers if row[4] is None]


def increase_totals(inventories: dict[str, Any], turn: int) -> Any:
    return {
        name: {**fields, "total": fields["total"] + turn + 1}
        for name, fields in inventories.items()
    }


def toggle_trait(traits: list[str], turn: int) -> Any:
    """Change the traits each time, because a write that changes nothing costs less."""
    name = "COMPUTE_TRUSTED_CERTS"
    return sorted(set(traits) ^ {name}) if turn % 2 == 0 else traits


def toggle_aggregate(aggregates: list[str], turn: int) -> Any:
    extra = str(uuid.uuid5(uuid.NAMESPACE_DNS, "benchmark"))
    return [*aggregates, extra] if turn % 2 == 0 else aggregates


def reshape(dataset: Dataset, connection: Connection, count: int) -> Sequence[Request]:
    """Swap everything between the first two NUMA nodes of a tree, or send the tree unchanged."""
    trees: dict[int, list[str]] = {}
    for _, provider, _, root, _ in dataset.providers:
        trees.setdefault(root, []).append(provider)
    names = {row[1]: row[2] for row in dataset.providers}
    hosts = [tree for tree in trees.values() if names[tree[0]].startswith("host")]
    count = min(count, TREES_RESHAPED, len(hosts))
    return [reshape_tree(connection, tree, names) for tree in random.Random(1).sample(hosts, count)]


def reshape_tree(connection: Connection, tree: list[str], names: dict[str, str]) -> Request:
    nodes = [one for one in tree if names[one].rpartition("-")[2] in ("numa0", "numa1")]
    other = dict(zip(nodes, reversed(nodes), strict=True))
    inventories = {one: get(connection, f"/resource_providers/{one}/inventories") for one in tree}
    consumers = sorted(
        consumer
        for one in tree
        for consumer in get(connection, f"/resource_providers/{one}/allocations")["allocations"]
    )
    body = {
        "inventories": {
            one: {
                "resource_provider_generation": inventories[one]["resource_provider_generation"],
                "inventories": inventories[other.get(one, one)]["inventories"],
            }
            for one in tree
        },
        "allocations": {
            consumer: with_swapped_providers(get(connection, f"/allocations/{consumer}"), other)
            for consumer in dict.fromkeys(consumers)
        },
    }
    return request_with("POST", "/reshaper", body)


def with_swapped_providers(allocations: dict[str, Any], other: dict[str, str]) -> dict[str, Any]:
    return {
        **allocations,
        "allocations": {
            other.get(one, one): {"resources": held["resources"]}
            for one, held in allocations["allocations"].items()
        },
    }


# -- the table -------------------------------------------------------------------------------------

VF_GROUPS = [(f"resources_VF{number}", "SRIOV_NET_VF:1") for number in (1, 2, 3)]
WIDE_GROUPS = [(f"resources_D{number}", f"{WIDE_CLASS}:1") for number in range(WIDE_DEVICES)]
NODE_GROUPS = [("resources_N1", NODE), ("resources_N2", NODE)]

CASES = (
    search("limit-10", "VCPU+MEMORY+DISK, limit=10", [("resources", MACHINE), ("limit", 10)]),
    search("limit-1000", "the same, limit=1000", [("resources", MACHINE), ("limit", 1000)]),
    search("no-limit", "the same, no limit", [("resources", MACHINE)]),
    search(
        "numa-port",
        "NUMA + port groups, same_subtree, limit=1000",
        [
            ("resources_NUMA", NODE),
            ("required_NUMA", "HW_NUMA_ROOT"),
            ("resources_PORT", "SRIOV_NET_VF:1"),
            ("required_PORT", PHYSICAL_NETWORKS[0]),
            ("same_subtree", "_NUMA,_PORT"),
            ("group_policy", "none"),
            ("limit", 1000),
        ],
        kinds=("cloud",),
    ),
    search(
        "numa-device",
        "NUMA + FPGA groups, same_subtree, limit=1000",
        [
            ("resources_NUMA", NODE),
            ("required_NUMA", "HW_NUMA_ROOT"),
            ("resources_FPGA", "FPGA:1"),
            ("same_subtree", "_NUMA,_FPGA"),
            ("group_policy", "none"),
            ("limit", 1000),
        ],
        kinds=("nested",),
    ),
    search(
        "isolate",
        "two NUMA nodes, isolate, limit=1000",
        [*NODE_GROUPS, ("group_policy", "isolate"), ("limit", 1000)],
        kinds=("nested", "cloud"),
        exception="two groups ask for one class with isolate: the reference lets amounts leak "
        "between candidates and loses valid ones",
    ),
    search(
        "three-vf",
        "three VF groups, limit=1000",
        [*VF_GROUPS, ("group_policy", "none"), ("limit", 1000)],
        kinds=("cloud",),
    ),
    search("rare", "rare trait, no limit", [("resources", MACHINE), ("required", RARE_TRAIT)]),
    search(
        "wide",
        f"{WIDE_DEVICES} devices by {WIDE_DEVICES} groups under one root, limit=1000",
        [*WIDE_GROUPS, ("group_policy", "none"), ("limit", 1000)],
        exception="the reference does not finish",
    ),
    read("get-provider", "GET one provider", ""),
    read("get-inventories", "GET its inventories", "/inventories"),
    read("get-traits", "GET its traits", "/traits"),
    read("get-usages", "GET its usages", "/usages"),
    Case("put-allocations", "PUT /allocations, fresh consumer", put_allocations),
    Case(
        "put-inventories",
        "PUT inventories",
        puts_of("put-inventories", "inventories", increase_totals, providers_with_inventories),
    ),
    Case("put-traits", "PUT traits", puts_of("put-traits", "traits", toggle_trait, roots)),
    Case(
        "put-aggregates",
        "PUT aggregates",
        puts_of("put-aggregates", "aggregates", toggle_aggregate, roots),
    ),
    Case("reshaper", "POST /reshaper of one tree", reshape),
)

# `placement_rate.py` measures ten concurrent clients; the table shows them as one more row.
PLACEMENT_KEY = "place"
PLACEMENT_TITLE = "GET limit=10, choose, PUT, ten clients"


def cases_for(dataset_name: str) -> list[Case]:
    kind = dataset_name.partition("-")[0]
    return [case for case in CASES if kind in case.kinds]
