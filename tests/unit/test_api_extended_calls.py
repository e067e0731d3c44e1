"""What the extensions allow in one call they allow in all, in each form of the query."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from roost.model import SHARING_TRAIT
from tests.support.direct_client import direct_client
from tests.support.names import uid
from tests.support.world import build, load, provider

CONSUMER = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}

# Query strings that 1.39 refuses, and the same as bodies.
ONE_OF_THE_TREE = "resources_V=SRIOV_NET_VF:1&required=COMPUTE_VOLUME_MULTI_ATTACH"
ONE_OF_THE_TREE_BODY = {
    "groups": {
        "": {"required": ["COMPUTE_VOLUME_MULTI_ATTACH"]},
        "_V": {"resources": {"SRIOV_NET_VF": 1}},
    }
}
NO_POLICY = "resources_A=SRIOV_NET_VF:1&resources_B=SRIOV_NET_VF:1"
NO_POLICY_BODY = {
    "groups": {
        "_A": {"resources": {"SRIOV_NET_VF": 1}},
        "_B": {"resources": {"SRIOV_NET_VF": 1}},
    }
}
FORMS = pytest.mark.parametrize(
    ("text", "body"),
    [(ONE_OF_THE_TREE, ONE_OF_THE_TREE_BODY), (NO_POLICY, NO_POLICY_BODY)],
    ids=["an unsuffixed group without resources", "no group_policy"],
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    path = tmp_path_factory.mktemp("calls") / "roost.db"
    with direct_client(f"sqlite:///{path}") as client:
        load(
            build(
                provider("host1", traits=["COMPUTE_VOLUME_MULTI_ATTACH"], aggregates=["rack"]),
                provider("pf1", {"SRIOV_NET_VF": 2}, parent="host1"),
                provider("pf2", {"SRIOV_NET_VF": 2}, parent="host1"),
                provider("host2", aggregates=["storage"]),
                provider("pf3", {"SRIOV_NET_VF": 8}, parent="host2"),
                # It shares with host2, but it is not in its tree.
                provider(
                    "pool",
                    {"DISK_GB": 10},
                    traits=[SHARING_TRAIT, "COMPUTE_VOLUME_MULTI_ATTACH"],
                    aggregates=["storage"],
                ),
            ),
            client,
        )
        yield client


def served(answer: httpx.Response) -> set[str]:
    """The names of the providers from which some candidate takes."""
    assert answer.status_code == 200, answer.text
    names = {uid(name): name for name in ("pf1", "pf2", "pf3")}
    return {
        names[uuid] for one in answer.json()["allocation_requests"] for uuid in one["allocations"]
    }


@FORMS
def test_without_an_extension_it_is_refused(client: httpx.Client, text: str, body: Any) -> None:
    assert client.get(f"/allocation_candidates?{text}").status_code == 400


@FORMS
def test_every_call_takes_it(client: httpx.Client, text: str, body: Any) -> None:
    expected = {"pf1", "pf2"} if text == ONE_OF_THE_TREE else {"pf1", "pf2", "pf3"}
    count = 4 if text == ONE_OF_THE_TREE else 6
    assert served(client.get(f"/allocation_candidates?{text}&order=root")) == expected
    assert served(client.post("/allocation_candidates", json=body)) == expected
    for answer in (
        client.get(f"/allocation_candidates/explain?{text}"),
        client.post("/allocation_candidates/explain", json=body),
    ):
        assert answer.json()["verdict"] == "fits", answer.text
    for answer in (client.get(f"/capacity?{text}"), client.post("/capacity", json=body)):
        assert answer.json()["count"] == count, answer.text
    for query in (text, body):
        consumer = uid("a consumer")
        answer = client.post(
            "/placements", json={"query": query, "consumers": {consumer: CONSUMER}}
        )
        assert answer.status_code == 200, answer.text
        assert client.delete(f"/allocations/{consumer}").status_code == 204


def mappings(client: httpx.Client, rules: str) -> list[dict[str, list[str]]]:
    text = f"resources_V=SRIOV_NET_VF:1&{rules}&order=root"
    answer = client.get(f"/allocation_candidates?{text}")
    assert answer.status_code == 200, answer.text
    return [one["mappings"] for one in answer.json()["allocation_requests"]]


def test_any_provider_of_the_tree_meets_the_group(client: httpx.Client) -> None:
    names = ("pf1", "pf2")
    on_the_root = [{"": [uid("host1")], "_V": [uid(name)]} for name in names]
    assert mappings(client, "required=COMPUTE_VOLUME_MULTI_ATTACH") == on_the_root
    assert mappings(client, f"member_of={uid('rack')}") == on_the_root
    assert mappings(client, f"in_tree={uid('pf2')}") == on_the_root
    below = mappings(client, f"in_subtree={uid('pf2')}")
    assert below == [{"": [uid("pf2")], "_V": [uid(name)]} for name in names]
    # A provider without the trait is enough, so this rule says little.
    assert len(mappings(client, "required=!COMPUTE_VOLUME_MULTI_ATTACH")) == 3
    # One provider meets all of the rules.
    assert mappings(client, f"required=COMPUTE_VOLUME_MULTI_ATTACH&in_subtree={uid('pf1')}") == []


def test_the_group_is_not_isolated(client: httpx.Client) -> None:
    """It may be met by a provider that serves an isolated group."""
    text = "resources_W=SRIOV_NET_VF:1&group_policy=isolate&member_of"
    found = mappings(client, f"{text}={uid('rack')}&in_tree={uid('pf1')}")
    assert found == [
        {"": [uid("host1")], "_V": [uid(one)], "_W": [uid(other)]}
        for one, other in (("pf2", "pf1"), ("pf1", "pf2"))
    ]
    below = mappings(client, f"{text}={uid('rack')}&in_subtree={uid('pf1')}")
    assert [one[""] for one in below] == [[uid("pf1")]] * 2


def test_an_explanation_says_which_providers_do_not_meet_it(client: httpx.Client) -> None:
    text = f"{ONE_OF_THE_TREE}&tree={uid('host2')}"
    found = client.get(f"/allocation_candidates/explain?{text}").json()
    assert [(stage["rule"]["kind"], stage["rule"]["group"]) for stage in found["stages"]] == [
        ("required", ""),
        ("resources", "_V"),
    ]
    # host1, and the pool itself, which has no VF.
    assert [stage["trees"] for stage in found["stages"]] == [
        {"in": 3, "out": 2},
        {"in": 2, "out": 1},
    ]
    assert found["stages"][0]["providers"] == {"in": 6, "out": 2}
    assert found["tree"]["reason"] == (
        "has COMPUTE_VOLUME_MULTI_ATTACH: host2 lacks COMPUTE_VOLUME_MULTI_ATTACH; "
        "pf3 lacks COMPUTE_VOLUME_MULTI_ATTACH"
    )
