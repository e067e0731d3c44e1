"""Refusals of extensions: one sentence that names what is wrong, and no schema."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from roost.api.parsing.extension_refusals import PATTERN_MEANINGS
from roost.api.routes import ROUTES
from roost.api.schemas import ExtensionSchema, Schema
from roost.api.versions import VERSION_MAX
from tests.support.direct_client import direct_client
from tests.support.names import uid
from tests.support.world import build, load, provider

EXPLAIN = "/allocation_candidates/explain"
OWNER = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
VCPU = {"resources": {"VCPU": 1}}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    path: Path = tmp_path_factory.mktemp("roost") / "roost.db"
    with direct_client(f"sqlite:///{path}") as client:
        load(build(provider("host", {"VCPU": 8})), client)
        yield client


def message(answer: httpx.Response) -> str:
    assert answer.status_code == 400, answer.text
    detail: str = answer.json()["errors"][0]["detail"]
    return detail.partition("\n\n ")[2].strip()


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (
            f"{EXPLAIN}?resource=VCPU:1",
            "unknown parameter 'resource'; did you mean 'resources'?",
        ),
        (
            f"{EXPLAIN}?resorces_NET=VCPU:1",
            "unknown parameter 'resorces_NET'; did you mean 'resources_NET'?",
        ),
        (
            "/capacity?resources=VCPU:1&limits=1",
            "unknown parameter 'limits'; did you mean 'limit'?",
        ),
        (
            "/allocation_candidates?resources=VCPU:1&order=pack&requird1=HW_CPU_X86_AVX",
            "unknown parameter 'requird1'; did you mean 'required1'?",
        ),
        ("/events?trees=x", "unknown parameter 'trees'; did you mean 'tree'?"),
        (
            "/events?colour=red",
            "unknown parameter 'colour'; expected one of after, kind, tree, wait",
        ),
        ("/events?kind=trait", "kind: 'trait'; did you mean 'traits'?"),
        (
            "/events?after=kA&kind=traits&kind=trait&kind=traits",
            "kind: 'trait'; did you mean 'traits'?",
        ),
        ("/events?after=kA&wait=26", "wait: '26', expected a number of seconds from 0 to 25"),
        ("/events?tree=nope", "tree: 'nope', expected a UUID"),
        ("/events?after=", "after: '', expected a text that is not empty"),
        (f"/events?after={'k' * 20_000}", "after: 20000 characters, expected at most 16384"),
        ("/capacity?resources=VCPU:1&limit=0", "limit: '0', expected an integer from 1 on"),
        (
            "/capacity?resources=VCPU:1&order=best",
            "order: 'best', expected pack, spread, root, random or random:SEED",
        ),
        (
            "/capacity?resources=VCPU:1&group_policy=some",
            "group_policy: 'some', expected one of none, isolate",
        ),
        (
            "/capacity?resources=VCPU:1&resources.NET=VCPU:1",
            "unknown parameter 'resources.NET': a suffix has up to 64 letters, digits, _ and -",
        ),
        (
            "/capacity?resources=VCPU:1&required=HW_CPU_X86_AVX3",
            "No such trait(s): HW_CPU_X86_AVX3; did you mean HW_CPU_X86_AVX2?",
        ),
        (
            "/capacity?resources=VCPUS:1,MEMORY:1",
            "Invalid resource class in resources parameter: No such resource class MEMORY, VCPUS; "
            "did you mean MEMORY_MB, VCPU?",
        ),
        (
            f"{EXPLAIN}?resources=VCPU:1&required=CUSTOM_NOTHING_LIKE_IT",
            "No such trait(s): CUSTOM_NOTHING_LIKE_IT.",
        ),
        (
            "/allocation_candidates?resources=VCPUS:1&order=pack",
            "Invalid resource class in resources parameter: No such resource class VCPUS; "
            "did you mean VCPU?",
        ),
    ],
)
def test_a_query_string(client: httpx.Client, target: str, said: str) -> None:
    assert message(client.get(target)) == said


@pytest.mark.parametrize("path", ["/allocation_candidates", EXPLAIN, "/capacity"])
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"group": {"": VCPU}}, "unknown field 'group'; did you mean 'groups'?"),
        ({}, "the field 'groups' is missing"),
        ([], "the body: [], expected an object"),
        ({"groups": {}}, "groups: {}, expected at least 1 entry"),
        (
            {"groups": {"_A": {"resource": {"VCPU": 1}}}},
            "groups._A: unknown field 'resource'; did you mean 'resources'?",
        ),
        (
            {"groups": {"": {"resources": {"vcpu": 1}}}},
            "groups[''].resources: unknown key 'vcpu'; expected a resource class: capital letters, "
            "digits and _",
        ),
        (
            {"groups": {"": {"resources": {"VCPU": 0}}}},
            "groups[''].resources.VCPU: 0, expected at least 1",
        ),
        (
            {"groups": {"": {"resources": {"VCPU": "1"}}}},
            "groups[''].resources.VCPU: '1', expected an integer",
        ),
        (
            {"groups": {"é": VCPU}},
            "groups: unknown key 'é'; expected a suffix: up to 64 letters, digits, _ and -",
        ),
        ({"groups": {"": VCPU}, "isolate": "_A"}, "isolate: '_A', expected a list"),
        ({"groups": {"": VCPU}, "isolate": [1]}, "isolate[0]: 1, expected a string"),
        (
            {"groups": {"": {"resources": {"VCPUS": 1}}}},
            "Invalid resource class in resources parameter: No such resource class VCPUS; did you "
            "mean VCPU?",
        ),
    ],
)
def test_a_body(client: httpx.Client, path: str, body: Any, said: str) -> None:
    assert message(client.post(path, json=body)) == said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"query": "resource=VCPU:1"}, "unknown parameter 'resource'; did you mean 'resources'?"),
        (
            {"query": {"groups": {"": VCPU}, "ordr": "pack"}},
            "query: unknown field 'ordr'; did you mean 'order'?",
        ),
        ({"query": 1}, "query: 1, expected a string or an object"),
        ({"query": ""}, "query: '', expected a text that is not empty"),
        ({"quest": 1}, "unknown field 'quest'; did you mean 'query'?"),
        ({"consumers": {"nope": OWNER}}, "consumers: unknown key 'nope'; expected a UUID"),
        (
            {"consumers": {uid("c"): {"project_id": "p", "user_id": "u"}}},
            f"consumers['{uid('c')}']: the field 'consumer_type' is missing",
        ),
        (
            {"consumers": {uid("c"): {**OWNER, "consumer_type": "vm"}}},
            f"consumers['{uid('c')}'].consumer_type: 'vm', expected capital letters, digits and _",
        ),
        (
            {"consumers": {uid(f"c{number}"): OWNER for number in range(10_001)}},
            "consumers: 10001 entries, expected at most 10000",
        ),
        ({"spread": "rack"}, "spread: 'rack', expected root"),
        ({"spread": ["root"]}, "spread: ['root'], expected a string"),
        (
            {"query": "resources=VCPU:1&required=HW_CPU_X86_AVX3"},
            "No such trait(s): HW_CPU_X86_AVX3; did you mean HW_CPU_X86_AVX2?",
        ),
    ],
)
def test_a_placement(client: httpx.Client, changes: Any, said: str) -> None:
    body = {"query": "resources=VCPU:1", "consumers": {uid("c"): OWNER}, **changes}
    assert message(client.post("/placements", json=body)) == said


def test_a_long_value_is_cut_short(client: httpx.Client) -> None:
    told = message(client.post("/capacity", json={"groups": [f"_{n}" for n in range(1000)]}))
    assert told.startswith("groups: ['_0', '_1', ")
    assert told.endswith("..., expected an object")
    assert len(told) < 300


def test_placement_keeps_its_words_without_an_extension(client: httpx.Client) -> None:
    told = message(client.get("/allocation_candidates?resource=VCPU:1"))
    assert told.startswith("Invalid query string parameters: 'resource' does not match any of the")
    assert "Failed validating 'additionalProperties' in schema" in told
    told = message(client.get("/allocation_candidates?resources=VCPU:1&required=HW_CPU_X86_AVX3"))
    assert told == "No such trait(s): HW_CPU_X86_AVX3."
    told = message(client.get("/resource_providers?names=a"))
    assert told.startswith("Invalid query string parameters: Additional properties are not allowed")


def extension_schemas() -> Iterator[Schema]:
    for route in ROUTES:
        for of_version in (route.query, route.body):
            if of_version is not None:
                schema = of_version(VERSION_MAX)
                if route.extension is not None or isinstance(schema, ExtensionSchema):
                    yield schema


def test_every_schema_of_an_extension_is_marked() -> None:
    schemas = list(extension_schemas())
    assert len(schemas) > 7
    assert all(isinstance(schema, ExtensionSchema) for schema in schemas)


def patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        for value in schema.values():
            yield from patterns(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from patterns(value)


def test_every_pattern_has_words() -> None:
    found = {pattern for schema in extension_schemas() for pattern in patterns(schema)}
    assert found
    assert found <= set(PATTERN_MEANINGS)
