"""GET /allocation_candidates/explain and GET /capacity, in this process, on a real database."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from roost.model import SHARING_TRAIT
from roost.reasons import RuleKind
from roost.service.search_time import SearchTime
from tests.support.direct_client import direct_client
from tests.support.names import uid
from tests.support.world import build, load, provider, put_allocations

EXPLAIN = "/allocation_candidates/explain"
DOCUMENTATION = (Path(__file__).parents[2] / "docs" / "reference" / "beyond.md").read_text()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    with direct_client(f"sqlite:///{tmp_path / 'roost.db'}") as client:
        yield client


def load_small_cloud(client: httpx.Client) -> None:
    load(
        build(
            provider("host1", {"VCPU": 4, "MEMORY_MB": 4096}, aggregates=["a"]),
            provider("host2", traits=["HW_CPU_X86_AVX"], aggregates=["a"]),
            provider("numa0", {"VCPU": 4, "MEMORY_MB": 1024}, parent="host2"),
            provider("numa1", {"VCPU": 2, "MEMORY_MB": 2048}, parent="host2"),
            provider("pool", {"DISK_GB": 60}, traits=[SHARING_TRAIT], aggregates=["a"]),
        ),
        client,
    )


def test_an_explanation_has_stages_a_tree_and_relaxations(client: httpx.Client) -> None:
    load_small_cloud(client)
    found = client.get(f"{EXPLAIN}?resources=VCPU:2,MEMORY_MB:8192&tree={uid('numa1')}").json()
    assert found["verdict"] == "never"
    assert [stage["trees"] for stage in found["stages"]] == [
        {"in": 3, "out": 2},
        {"in": 2, "out": 0},
    ]
    tree = found["tree"]
    assert (tree["name"], tree["stage"]) == ("host2", 1)
    assert tree["rule"] == {
        "kind": "resources",
        "group": "",
        "names": ["MEMORY_MB"],
        "amount": 8192,
    }
    assert tree["providers"][0] == {
        "uuid": uid("numa1"),
        "name": "numa1",
        "broken": ["capacity"],
        "text": "numa1: MEMORY_MB 8192 asked, 2048 free of 2048; units ok",
        "inventory": {
            "asked": 8192,
            "free": 2048,
            "used": 0,
            "capacity": 2048,
            "min_unit": 1,
            "max_unit": 2147483647,
            "step_size": 1,
        },
    }
    [relaxation] = found["relaxations"]
    assert (relaxation["amount"], relaxation["text"]) == (
        2048,
        "with 6 GB less memory (MEMORY_MB:2048)",
    )


def test_an_explanation_includes_the_latest_claim(client: httpx.Client) -> None:
    load_small_cloud(client)
    assert client.get(f"{EXPLAIN}?resources=MEMORY_MB:4096").json()["verdict"] == "fits"
    put_allocations(client, "one", {uid("host1"): {"MEMORY_MB": 1024}})
    found = client.get(f"{EXPLAIN}?resources=MEMORY_MB:4096").json()
    assert found["verdict"] == "not now"
    assert found["nearest"][0]["name"] == "host1"


@pytest.mark.parametrize(
    "query",
    [
        "resources=VCPU:1,MEMORY_MB:512",
        "resources=VCPU:1,DISK_GB:10",
        "resources=VCPU:3&root_required=HW_CPU_X86_AVX",
        "resources_A=VCPU:1&resources_B=VCPU:1&group_policy=isolate",
    ],
)
def test_capacity_is_what_can_be_claimed(client: httpx.Client, query: str) -> None:
    """The first candidate is claimed again and again, until nothing fits."""
    load_small_cloud(client)
    counted = client.get(f"/capacity?{query}").json()
    assert counted["complete"]
    claimed = 0
    by_root: dict[str, int] = {}
    while found := client.get(f"/allocation_candidates?{query}&limit=1").json():
        if not found["allocation_requests"]:
            break
        allocations = found["allocation_requests"][0]["allocations"]
        taken = {uuid: each["resources"] for uuid, each in allocations.items()}
        put_allocations(client, f"claim {claimed}", taken)
        claimed += 1
        summaries = found["provider_summaries"]
        for root in {summaries[uuid]["root_provider_uuid"] for uuid in taken}:
            by_root[root] = by_root.get(root, 0) + 1
    assert counted["count"] == claimed > 0
    assert {tree["uuid"]: tree["count"] for tree in counted["trees"]} == by_root
    assert client.get(f"/capacity?{query}").json() == {"count": 0, "trees": [], "complete": True}


def test_capacity_is_incomplete_when_its_time_is_over(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_small_cloud(client)
    monkeypatch.setattr(SearchTime, "may_go_on", lambda self: False)
    assert client.get("/capacity?resources=VCPU:1").json()["complete"] is False


@pytest.mark.parametrize("path", [EXPLAIN, "/capacity"])
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "at least one resources"),
        ("resources=VCPU", "Badly formed resources"),
        ("resources=VCPU:0", "requires amount >= 1"),
        ("resources=CUSTOM_NONE:1", "No such resource class CUSTOM_NONE"),
        ("resources=VCPU:1&required=CUSTOM_NONE", "No such trait(s): CUSTOM_NONE"),
        ("resources=VCPU:1&member_of=x", "valid UUID(s). Got: x"),
        ("resources=VCPU:1&colour=red", "unknown parameter 'colour'"),
        ("resources=VCPU:1&limit=0", "limit: '0', expected an integer from 1 on"),
        ("resources=VCPU:1&same_subtree=_A", "_A"),
        ("resources=VCPU:1%00", "NUL"),
        ("resources=VCPU:1&can_split=DISK_GB", "`can_split`"),
    ],
)
def test_invalid_queries_are_refused(
    client: httpx.Client, path: str, query: str, message: str
) -> None:
    response = client.get(f"{path}?{query}")
    assert response.status_code == 400
    assert message in response.json()["errors"][0]["detail"]


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("tree=host", "Expected 'tree' parameter to be a format of uuid. Got: host"),
        (f"tree={uid('nobody')}", f"tree: No resource provider with uuid {uid('nobody')}"),
        (f"tree={uid('a')}&tree={uid('b')}", "'tree' may be specified only once"),
    ],
)
def test_invalid_trees_are_refused(client: httpx.Client, tree: str, message: str) -> None:
    response = client.get(f"{EXPLAIN}?resources=VCPU:1&{tree}")
    assert response.status_code == 400
    assert message in response.json()["errors"][0]["detail"]


@pytest.mark.parametrize("path", [EXPLAIN, "/capacity"])
def test_roles_versions_and_methods_are_checked(client: httpx.Client, path: str) -> None:
    target = f"{path}?resources=VCPU:1"
    assert client.get(target, headers={"x-roles": "reader"}).status_code == 403
    assert client.get(target, headers={"x-roles": "service"}).status_code == 200
    old = {"openstack-api-version": "placement 1.38"}
    assert client.get(target, headers=old).status_code == 404
    body = {"groups": {"": {"resources": {"VCPU": 1}}}}
    assert client.post(path, json=body).json() == client.get(target).json()
    assert client.post(path, json=body, headers=old).status_code == 404
    assert client.put(path, json=body).status_code == 405


def test_the_extensions_are_announced(client: httpx.Client) -> None:
    assert {"explain", "capacity"} <= set(client.get("/").json()["extensions"])


@pytest.mark.parametrize("kind", tuple(RuleKind))
def test_every_kind_of_rule_is_documented(kind: str) -> None:
    assert f"| `{kind}` |" in DOCUMENTATION
