"""GET /summary: what the cloud has, in all, by aggregate and by trait of the root."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from roost.model import ClassSummary, GroupSummary, Inventory
from roost.search.budget import Budget
from roost.search.bulk.summary import summarize
from roost.search.index.columns import CAPACITY_MAX
from roost.search.index.index import Index
from tests.support.direct_client import direct_client
from tests.support.names import uid
from tests.support.world import World, WorldProvider, build, load, provider, rows

CLASSES = ["VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_A"]
TRAITS = ["COMPUTE_NODE", "CUSTOM_X", "CUSTOM_Y"]
AGGREGATES = ["rack1", "rack2", "row"]

BOTH = frozenset({"aggregates", "traits"})


# ---------------------------------------------------------------------------------------------
# The definitions, one provider at a time


def group(members: list[WorldProvider]) -> GroupSummary:
    names = {name for one in members for name in one.inventories}
    return GroupSummary(
        providers=len(members),
        trees=len({one.root_uuid for one in members}),
        resources={
            name: ClassSummary(
                total=sum(one.inventories[name].total for one in having),
                reserved=sum(one.inventories[name].reserved for one in having),
                capacity=sum(one.inventories[name].capacity for one in having),
                used=sum(one.used[name] for one in having),
                free=sum(max(0, one.inventories[name].capacity - one.used[name]) for one in having),
                providers=len(having),
            )
            for name in names
            for having in [[one for one in members if name in one.inventories]]
        },
    )


def groups(
    world: World, names_of: Callable[[WorldProvider], frozenset[str]]
) -> dict[str, GroupSummary]:
    names = {name for one in world.providers.values() for name in names_of(one)}
    return {
        name: group([one for one in world.providers.values() if name in names_of(one)])
        for name in names
    }


def by_aggregates(world: World) -> dict[str, GroupSummary]:
    return groups(world, lambda one: one.aggregates | world.root(one).aggregates)


def by_traits(world: World) -> dict[str, GroupSummary]:
    return groups(world, lambda one: world.root(one).traits)


def random_world(seed: int) -> World:
    chance = random.Random(seed)

    def some(names: list[str], most: int) -> list[str]:
        return chance.sample(names, chance.randint(0, most))

    plans = []
    for tree in range(chance.randint(0, 6)):
        names = [f"{tree}"]
        for number in range(chance.randint(1, 5)):
            name = names[0] if number == 0 else f"{tree}.{number}"
            plans.append(
                provider(
                    name,
                    {
                        each: Inventory(
                            total=chance.randint(1, 9),
                            reserved=chance.randint(0, 1),
                            allocation_ratio=chance.choice([1.0, 1.5, 16.0, 0.1]),
                        )
                        for each in some(CLASSES, 3)
                    },
                    parent=chance.choice(names) if number else None,
                    # More than there is, too.
                    used={each: chance.randint(0, 12) for each in CLASSES},
                    traits=some(TRAITS, 2),
                    aggregates=some(AGGREGATES, 2),
                )
            )
            if number:
                names.append(name)
    return build(*plans)


# ---------------------------------------------------------------------------------------------
# From the index


@pytest.mark.parametrize("seed", range(40))
def test_sums_are_those_of_single_providers(seed: int) -> None:
    world = random_world(seed)
    found = summarize(Index.build(rows(world)), by=BOTH)
    everything = group(list(world.providers.values()))
    assert (found.providers, found.trees, dict(found.resources)) == (
        everything.providers,
        everything.trees,
        everything.resources,
    )
    assert found.aggregates == by_aggregates(world)
    assert found.traits == by_traits(world)
    assert list(found.aggregates or ()) == sorted(by_aggregates(world))
    assert list(found.traits or ()) == sorted(by_traits(world))


def test_only_what_is_asked_for_is_divided() -> None:
    index = Index.build(rows(random_world(3)))
    found = summarize(index)
    assert found.aggregates is None
    assert found.traits is None
    assert summarize(index, by=frozenset({"traits"})).aggregates is None


def test_classes_can_be_chosen() -> None:
    world = random_world(1)
    index = Index.build(rows(world))
    whole, found = summarize(index, by=BOTH), summarize(index, by=BOTH, classes=["VCPU"])
    assert "VCPU" in whole.resources
    assert found.resources == {"VCPU": whole.resources["VCPU"]}
    assert found.providers == whole.providers
    for name, each in (found.aggregates or {}).items():
        expected = (whole.aggregates or {})[name].resources
        assert each.resources == {key: expected[key] for key in expected if key == "VCPU"}


def test_removed_providers_do_not_count() -> None:
    world = random_world(5)
    index = Index.build(rows(world))
    gone = {one.uuid for one in world.roots[:2]}
    left = World(
        providers={k: one for k, one in world.providers.items() if one.root_uuid not in gone},
        resource_classes=world.resource_classes,
        traits=world.traits,
    )
    for uuid in gone:
        index.remove_tree(index.row(uuid))
    assert len(left.providers) < len(world.providers)
    found = summarize(index, by=BOTH)
    assert found.providers == len(left.providers)
    assert found.aggregates == by_aggregates(left)
    assert found.traits == by_traits(left)


def test_sums_beyond_64_bits_are_exact() -> None:
    huge = Inventory(total=2**31 - 1, allocation_ratio=1e12)
    assert huge.capacity > CAPACITY_MAX // 4
    world = build(*(provider(f"p{n}", {"VCPU": huge}, traits=["COMPUTE_NODE"]) for n in range(64)))
    found = summarize(Index.build(rows(world)), by=BOTH)
    capacity = 64 * min(huge.capacity, CAPACITY_MAX)
    assert found.resources["VCPU"].capacity == capacity > 2**63
    assert (found.traits or {})["COMPUTE_NODE"].resources["VCPU"].free == capacity


def test_others_go_first_while_many_inventories_are_added_up() -> None:
    asked = []

    def is_over() -> bool:
        asked.append(True)
        return False

    names = ["VCPU", "MEMORY_MB", "DISK_GB"]
    hosts = [provider(f"h{n}", dict.fromkeys(names, 1)) for n in range(16_384)]
    world = build(*hosts)
    found = summarize(Index.build(rows(world)), by=BOTH, budget=Budget(is_over))
    assert asked
    # It is not given up for that.
    assert {name: each.total for name, each in found.resources.items()} == dict.fromkeys(
        names, 16_384
    )


def test_names_that_are_of_no_live_provider_are_left_out() -> None:
    world = build(provider("host", {"VCPU": 1}, traits=["CUSTOM_X"], aggregates=["rack1"]))
    index = Index.build(rows(world))
    index.remove_tree(0)
    found = summarize(index, by=BOTH)
    assert (found.providers, found.trees, dict(found.resources)) == (0, 0, {})
    assert found.aggregates == {}
    assert found.traits == {}


def test_a_snapshot_is_only_read() -> None:
    """An index without a provider has no set of aggregates, not even an empty one."""
    index = Index.build(rows(build()))
    count = index.aggregate_sets.count
    summarize(index, by=BOTH)
    assert index.aggregate_sets.count == count


# ---------------------------------------------------------------------------------------------
# Over HTTP


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    path = tmp_path_factory.mktemp("summary") / "roost.db"
    with direct_client(f"sqlite:///{path}") as client:
        load(
            build(
                provider("host1", traits=["COMPUTE_NODE"], aggregates=["rack1"]),
                provider("numa0", {"VCPU": 4}, parent="host1", used={"VCPU": 3}),
                provider("numa1", {"VCPU": 4}, parent="host1", aggregates=["rack2"]),
                provider("host2", {"VCPU": 8, "CUSTOM_A": 2}, aggregates=["rack2"]),
                provider("empty"),
            ),
            client,
        )
        yield client


def vcpus(total: int, used: int, providers: int) -> dict[str, Any]:
    return {
        "total": total,
        "reserved": 0,
        "capacity": total,
        "used": used,
        "free": total - used,
        "providers": providers,
    }


def test_the_whole(client: httpx.Client) -> None:
    answer = client.get("/summary")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.json() == {
        "providers": 5,
        "trees": 3,
        "resources": {"VCPU": vcpus(16, 3, 3), "CUSTOM_A": vcpus(2, 0, 1)},
    }


def test_by_aggregates_and_traits(client: httpx.Client) -> None:
    answer = client.get("/summary?by=traits,aggregates&resource_class=VCPU,DISK_GB").json()
    assert answer == {
        "providers": 5,
        "trees": 3,
        "resources": {"VCPU": vcpus(16, 3, 3)},
        "aggregates": {
            uid("rack1"): {"providers": 3, "trees": 1, "resources": {"VCPU": vcpus(8, 3, 2)}},
            uid("rack2"): {"providers": 2, "trees": 2, "resources": {"VCPU": vcpus(12, 0, 2)}},
        },
        "traits": {
            "COMPUTE_NODE": {"providers": 3, "trees": 1, "resources": {"VCPU": vcpus(8, 3, 2)}}
        },
    }


def test_many_groups_are_sent_in_pieces(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = client.get("/summary?by=aggregates,traits")
    assert "content-length" in whole.headers
    monkeypatch.setattr("roost.api.http.pieces.ENTRIES_MAX", 1)
    for by in ("aggregates,traits", "aggregates", "traits"):
        answer = client.get(f"/summary?by={by}")
        assert "content-length" not in answer.headers or by == "traits"
        shown = answer.json()
        assert shown == {key: whole.json()[key] for key in shown}
        assert set(by.split(",")) < set(shown)


REFUSED = {
    "by=": ("by", "''", "aggregates, traits"),
    "by=racks": ("by", "'racks'", "aggregates, traits"),
    "by=traits&by=aggregates": ("'by'", "only once"),
    "resource_class=NOPE": ("resource_class", "No such resource class NOPE"),
    "resource_class=": ("resource_class", "expected resource classes"),
    "resource_class=VCPU,": ("resource_class", "expected resource classes"),
    "resource_class=VCPU&resource_class=VCPU": ("'resource_class'", "only once"),
    "colour=red": ("unknown parameter 'colour'; expected one of by, resource_class",),
    "resource_class=VCPUS": ("did you mean VCPU?",),
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_wrong_is_refused_and_named(client: httpx.Client, query: str) -> None:
    answer = client.get(f"/summary?{query}")
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    for words in REFUSED[query]:
        assert words in error["detail"]


def test_it_is_unknown_before_the_newest_version(client: httpx.Client) -> None:
    headers = {"openstack-api-version": "placement 1.38"}
    assert client.get("/summary", headers=headers).status_code == 404
    assert "summary" in client.get("/").json()["extensions"]
