"""What is asked: one case for each row of the table.

A case makes its requests beforehand, from the world and from what the service says about it, so
that nothing but the requests themselves runs while they are measured.
"""

import itertools
import json
import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from benchmarks.client import Connection, Request
from benchmarks.load import CONSUMER_TYPE
from benchmarks.worlds import PHYSICAL_NETWORKS, RARE_TRAIT, WIDE_CLASS, WIDE_DEVICES, World

ALL = ("flat", "nested", "cloud")
# A machine of this size fits nearly everywhere in every world.
MACHINE = "VCPU:2,MEMORY_MB:4096,DISK_GB:20"
NODE = "VCPU:2,MEMORY_MB:4096"
TREES_RESHAPED = 40

# The requests of a case: how many at most, on which world, through which connection.
Maker = Callable[[World, Connection, int], Sequence[Request]]


class Case(NamedTuple):
    key: str
    title: str
    make: Maker
    # The kinds of worlds that can serve it.
    kinds: tuple[str, ...] = ALL
    # For searches: what is asked, without `limit`, so that answers can be compared.
    query: str | None = None
    # Why the reference's answer cannot be compared whole; empty where it can.
    exception: str = ""

    @property
    def writes(self) -> bool:
        return self.query is None and not self.key.startswith("get-")


def search(key: str, title: str, query: Sequence[tuple[str, object]], **options: Any) -> Case:
    """A search that is asked again and again."""
    target = f"/allocation_candidates?{urlencode(query, safe=':,')}"

    def make(world: World, connection: Connection, count: int) -> Sequence[Request]:
        return [Request("GET", target)] * count

    unlimited = [pair for pair in query if pair[0] != "limit"]
    return Case(key, title, make, query=urlencode(unlimited, safe=":,"), **options)


def read(key: str, title: str, path: str) -> Case:
    """Something of one provider, of another one each time."""

    def make(world: World, connection: Connection, count: int) -> Sequence[Request]:
        chosen = random.Random(key).choices(world.providers, k=count)
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


def put_allocations(world: World, connection: Connection, count: int) -> Sequence[Request]:
    """Claims of new consumers; fewer than asked for where no more fit."""
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
    """Candidates in turn, each for as long as it fits beside those before it."""
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


def changes_of(
    key: str, part: str, change: Callable[[Any, int], Any], wanted: Callable[[World], Sequence[str]]
) -> Maker:
    """Writes of one part of providers, which count on each write before them to succeed."""

    def make(world: World, connection: Connection, count: int) -> Sequence[Request]:
        uuids = wanted(world)
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


def stocked(world: World) -> Sequence[str]:
    """Providers with inventories."""
    numbers = {row[0] for row in world.inventories}
    return [row[1] for row in world.providers if row[0] in numbers]


def roots(world: World) -> Sequence[str]:
    return [row[1] for row in world.providers if row[4] is None]


def more_inventory(inventories: dict[str, Any], turn: int) -> Any:
    return {
        name: {**fields, "total": fields["total"] + turn + 1}
        for name, fields in inventories.items()
    }


def other_traits(traits: list[str], turn: int) -> Any:
    """Different each time, because what changes nothing costs less."""
    name = "COMPUTE_TRUSTED_CERTS"
    return sorted(set(traits) ^ {name}) if turn % 2 == 0 else traits


def other_aggregates(aggregates: list[str], turn: int) -> Any:
    extra = str(uuid.uuid5(uuid.NAMESPACE_DNS, "benchmark"))
    return [*aggregates, extra] if turn % 2 == 0 else aggregates


def reshape(world: World, connection: Connection, count: int) -> Sequence[Request]:
    """Trees whose first two NUMA nodes exchange all they have, or that stay as they are."""
    trees: dict[int, list[str]] = {}
    for _, provider, _, root, _ in world.providers:
        trees.setdefault(root, []).append(provider)
    names = {row[1]: row[2] for row in world.providers}
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
            consumer: exchanged(get(connection, f"/allocations/{consumer}"), other)
            for consumer in dict.fromkeys(consumers)
        },
    }
    return request_with("POST", "/reshaper", body)


def exchanged(allocations: dict[str, Any], other: dict[str, str]) -> dict[str, Any]:
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
        changes_of("put-inventories", "inventories", more_inventory, stocked),
    ),
    Case("put-traits", "PUT traits", changes_of("put-traits", "traits", other_traits, roots)),
    Case(
        "put-aggregates",
        "PUT aggregates",
        changes_of("put-aggregates", "aggregates", other_aggregates, roots),
    ),
    Case("reshaper", "POST /reshaper of one tree", reshape),
)

# Ten clients at once are measured in another way, but are a row like the others.
PLACE_KEY = "place"
PLACE_TITLE = "GET limit=10, choose, PUT, ten clients"


def cases_for(world_name: str) -> list[Case]:
    kind = world_name.partition("-")[0]
    return [case for case in CASES if kind in case.kinds]
