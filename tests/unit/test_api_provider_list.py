"""Bulk reads: a list of providers says what the single reads say, a page at a time."""

import itertools
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from roost.api.http import pieces
from roost.search.bulk import details
from tests.support.direct_client import direct_client
from tests.support.names import uid
from tests.support.world import build, load, provider

EVERYTHING = "inventories,usages,traits,aggregates"
PARTS = EVERYTHING.split(",")
ODD_NAME = 'a "name" \\ with / \u2028 and 🥚\n'


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    path = tmp_path_factory.mktemp("bulk") / "roost.db"
    with direct_client(f"sqlite:///{path}") as client:
        load(
            build(
                provider("host1", traits=["COMPUTE_NODE", "CUSTOM_T"], aggregates=["rack", "row"]),
                provider("numa0", {"VCPU": 4, "MEMORY_MB": 2048}, parent="host1"),
                provider("numa1", {"VCPU": 4, "CUSTOM_A": 7}, parent="host1", used={"VCPU": 3}),
                provider("host2", {"VCPU": 8}, traits=["CUSTOM_T"], aggregates=["rack"]),
                provider(ODD_NAME),
            ),
            client,
        )
        # Less than is used.
        numa1 = f"/resource_providers/{uid('numa1')}/inventories/VCPU"
        shrunk = {**client.get(numa1).json(), "total": 2, "reserved": 1, "allocation_ratio": 0.1}
        assert client.put(numa1, json=shrunk).status_code == 200
        # A spelling of its own, and in another order than that of the UUIDs.
        host2 = f"/resource_providers/{uid('host2')}"
        generation = client.get(host2).json()["generation"]
        spelled = [uuid.UUID(uid("row")).hex, uid("rack").upper()]
        body = {"aggregates": spelled, "resource_provider_generation": generation}
        assert client.put(f"{host2}/aggregates", json=body).status_code == 200
        yield client


def single(client: httpx.Client, provider_uuid: str, parts: list[str]) -> dict[str, Any]:
    """What the single reads say of a provider."""
    path = f"/resource_providers/{provider_uuid}"
    shown = client.get(path).json()
    del shown["links"]
    return {**shown, **{part: client.get(f"{path}/{part}").json()[part] for part in parts}}


def listed(client: httpx.Client, query: str) -> list[dict[str, Any]]:
    answer = client.get(f"/resource_providers?{query}")
    assert answer.status_code == 200, answer.text
    shown: list[dict[str, Any]] = answer.json()["resource_providers"]
    return shown


def pages(client: httpx.Client, query: str, limit: int) -> Iterator[list[dict[str, Any]]]:
    after = ""
    while True:
        answer = client.get(f"/resource_providers?{query}&limit={limit}{after}").json()
        yield answer["resource_providers"]
        if "next" not in answer:
            return
        after = f"&after={answer['next']}"


def names(shown: list[dict[str, Any]]) -> list[str]:
    return [each["name"] for each in shown]


ALL = ["host1", "numa0", "numa1", "host2", ODD_NAME]


@pytest.mark.parametrize(
    "parts",
    [list(some) for count in range(1, 5) for some in itertools.combinations(PARTS, count)],
    ids=",".join,
)
def test_a_list_says_what_single_reads_say(client: httpx.Client, parts: list[str]) -> None:
    shown = listed(client, f"include={','.join(parts)}")
    assert names(shown) == ALL
    for each in shown:
        # As texts, since the order of names and of lists counts too.
        assert json.dumps(each) == json.dumps(single(client, each["uuid"], parts))


def test_the_order_of_names_in_include_does_not_matter(client: httpx.Client) -> None:
    assert listed(client, "include=traits,usages") == listed(client, "include=usages,traits,traits")


@pytest.mark.parametrize("limit", range(1, 7))
@pytest.mark.parametrize(
    "query",
    [
        f"include={EVERYTHING}",
        f"tree={uid('numa1')}",
        f"member_of={uid('rack')}&include=traits",
    ],
    ids=["include", "tree", "member_of"],
)
def test_pages_make_up_the_whole(client: httpx.Client, query: str, limit: int) -> None:
    found = list(pages(client, query, limit))
    assert [len(page) for page in found[:-1]] == [limit] * (len(found) - 1)
    assert found[-1]
    assert list(itertools.chain(*found)) == listed(client, f"{query}&limit=1000")


def test_without_include_providers_look_as_ever(client: httpx.Client) -> None:
    plain = {each["uuid"]: each for each in listed(client, "")}
    shown = listed(client, "limit=1000")
    assert names(shown) == ALL
    assert {each["uuid"]: each for each in shown} == plain


def test_there_is_no_next_without_a_limit_or_at_the_end(client: httpx.Client) -> None:
    for query in ("include=traits", "limit=5", "limit=6"):
        assert "next" not in client.get(f"/resource_providers?{query}").json()


def test_after_goes_on_without_a_limit(client: httpx.Client) -> None:
    token = client.get("/resource_providers?limit=2").json()["next"]
    assert names(listed(client, f"after={token}")) == ALL[2:]


@pytest.mark.parametrize("member", ["host1", "numa0", "numa1"])
def test_tree_is_the_whole_tree_of_any_member(client: httpx.Client, member: str) -> None:
    for spelling in (uid(member), uid(member).upper(), uuid.UUID(uid(member)).hex):
        assert names(listed(client, f"tree={spelling}")) == ["host1", "numa0", "numa1"]
    assert names(listed(client, f"tree={uid(member)}&resources=VCPU:1")) == ["numa0"]
    assert listed(client, f"tree={uid(member)}&in_tree={uid('host2')}") == []
    assert listed(client, f"tree={uid(member)}&name=host2") == []
    assert names(listed(client, f"tree={uid(member)}&uuid={uid('numa1')}")) == ["numa1"]


def test_every_filter_goes_along(client: httpx.Client) -> None:
    for query in (
        "name=host2",
        f"uuid={uid('host2')}",
        "resources=VCPU:5",
        "required=CUSTOM_T,!COMPUTE_NODE",
        f"member_of={uid('row')}&member_of={uid('rack')}&required=!COMPUTE_NODE",
        f"in_tree={uid('host2')}",
    ):
        assert names(listed(client, query)) == names(listed(client, f"{query}&include=traits"))
        assert names(listed(client, f"{query}&limit=9")) == ["host2"]
    assert listed(client, "name=nobody&include=traits") == []
    assert listed(client, f"in_tree={uid('nobody')}&include=traits") == []


def test_the_order_is_that_of_creation_whatever_happens_to_trees(tmp_path: Any) -> None:
    with direct_client(f"sqlite:///{tmp_path}/roost.db") as client:
        load(build(*(provider(f"p{number}") for number in range(6))), client)
        reader = pages(client, "include=traits", 2)
        assert names(next(reader)) == ["p0", "p1"]
        # Renamed, moved below one that was shown, deleted, created.
        path = "/resource_providers/"
        moved = {"name": "renamed", "parent_provider_uuid": uid("p0")}
        assert client.put(path + uid("p5"), json=moved).status_code == 200
        assert client.put(path + uid("p1"), json={"name": "a"}).status_code == 200
        assert client.delete(path + uid("p3")).status_code == 204
        assert client.post(path[:-1], json={"name": "new"}).status_code == 200
        assert names(next(reader)) == ["p2", "p4"]
        assert names(next(reader)) == ["renamed", "new"]
        assert list(reader) == []


def test_a_long_list_is_sent_in_pieces(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = listed(client, f"include={EVERYTHING}")
    monkeypatch.setattr(pieces, "GATHERED_BYTES", 300)
    answer = client.get(f"/resource_providers?include={EVERYTHING}&limit=4")
    assert "content-length" not in answer.headers
    assert answer.json()["resource_providers"] == whole[:4]
    assert "next" in answer.json()


def test_a_long_list_is_that_of_the_moment_at_which_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "GATHERED_BYTES", 300)
    monkeypatch.setattr(details, "PROVIDERS_PER_BATCH", 2)
    with direct_client(f"sqlite:///{tmp_path}/roost.db") as client:
        hosts = [provider(f"p{n}", {"VCPU": 4}, traits=["CUSTOM_T"]) for n in range(20)]
        load(build(*hosts), client)
        before = listed(client, f"include={EVERYTHING}")
        path = f"/resource_providers?include={EVERYTHING}"
        with client.stream("GET", path) as answer:
            read = answer.iter_raw()
            text = next(read)
            assert b'"p19"' not in text
            # Changed, deleted, moved, renamed, created.
            last = f"/resource_providers/{uid('p19')}"
            body = {"traits": [], "resource_provider_generation": before[-1]["generation"]}
            assert client.put(f"{last}/traits", json=body).status_code == 200
            assert client.delete(f"{last}/inventories").status_code == 204
            assert client.delete(f"/resource_providers/{uid('p18')}").status_code == 204
            moved = {"name": "moved", "parent_provider_uuid": uid("p17")}
            assert client.put(f"/resource_providers/{uid('p16')}", json=moved).status_code == 200
            assert client.post("/resource_providers", json={"name": "new"}).status_code == 200
            text += b"".join(read)
        assert json.loads(text)["resource_providers"] == before
        assert listed(client, f"include={EVERYTHING}") != before


REFUSED = {
    "include=": ("include", "''", "inventories, usages, traits, aggregates"),
    "include=traits,": ("include", "''", "inventories, usages, traits, aggregates"),
    "include=trait": ("include: 'trait'; did you mean 'traits'?",),
    "include=links": ("include", "'links'", "inventories, usages, traits, aggregates"),
    "include=traits&include=usages": ("'include'", "only once"),
    "limit=0": ("limit", "'0', expected an integer from 1 on"),
    "limit=x": ("limit", "'x', expected an integer"),
    "limit=1&limit=1": ("'limit'", "only once"),
    "after=x": ("'after'", "'next'"),
    "after=": ("after", "not empty"),
    "tree=x": ("tree", "UUID", "x"),
    f"tree={uid('nobody')}": ("tree", uid("nobody")),
    f"tree={uid('host1')}&tree={uid('host1')}": ("'tree'", "only once"),
    "include=traits&colour=red": ("unknown parameter 'colour'; expected one of",),
    "include=traits&mame=a": ("unknown parameter 'mame'; did you mean 'name'?",),
    "include=traits&required=HW_CPU_X86_AVX3": ("did you mean HW_CPU_X86_AVX2?",),
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_wrong_is_refused_and_named(client: httpx.Client, query: str) -> None:
    answer = client.get(f"/resource_providers?{query}")
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    for words in REFUSED[query]:
        assert words in error["detail"]


@pytest.mark.parametrize(
    "query",
    ["", "include=usages", "include=traits&name=host1", f"include=traits&tree={uid('host1')}"],
)
def test_a_page_of_another_request_is_refused(client: httpx.Client, query: str) -> None:
    token = client.get("/resource_providers?include=traits&limit=1").json()["next"]
    answer = client.get(f"/resource_providers?{query}&after={token}")
    assert answer.status_code == 400
    assert "another request" in answer.text


@pytest.mark.parametrize("name", ["include", "limit", "after", "tree"])
def test_older_versions_refuse_in_the_words_they_always_had(
    client: httpx.Client, name: str
) -> None:
    def detail(version: str, parameter: str) -> str:
        headers = {"openstack-api-version": f"placement {version}"}
        answer = client.get(f"/resource_providers?{parameter}=1", headers=headers)
        assert answer.status_code == 400
        return str(answer.json()["errors"][0]["detail"])

    # At 1.39, too, a request without the new parameters is refused as ever.
    expected = detail("1.39", "colour").replace("colour", name)
    assert detail("1.38", name) == expected
    assert "include" not in detail("1.39", "colour")


def test_the_root_names_the_extension(client: httpx.Client) -> None:
    assert "include" in client.get("/").json()["extensions"]


def test_a_part_is_shown_only_to_those_who_may_read_it_alone(tmp_path: Path) -> None:
    rules = {"list": "@", "usages": "@", "traits:list": "!"}
    lines = (f'"placement:resource_providers:{name}": "{rule}"' for name, rule in rules.items())
    (tmp_path / "policy.yaml").write_text("\n".join(lines))
    configuration = tmp_path / "placement.conf"
    configuration.write_text(f"[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n")
    with direct_client(f"sqlite:///{tmp_path}/roost.db", files=(str(configuration),)) as client:
        client.headers["x-roles"] = "reader"
        for query, status in (
            ("", 200),
            ("limit=1", 200),
            ("include=usages", 200),
            ("include=traits", 403),
            ("include=usages,traits", 403),
            ("include=usages&include=traits", 403),
            ("include=inventories", 403),
            ("include=nothing", 400),
        ):
            assert client.get(f"/resource_providers?{query}").status_code == status, query
