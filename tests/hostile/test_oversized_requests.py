"""Requests with very many entries, or very deep, or very long ones, are refused with little work.

The work is counted in calls of functions, which is the same on every machine.
"""

import json
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roost.api import openapi
from roost.api.http_error import HttpError
from roost.api.parsing import query_string, request_groups, schema_keywords
from roost.api.probes import OPEN_ROUTES
from roost.api.schemas import bounds
from roost.api.versions import VERSION_MAX
from tests.generated.small_world import CN1, GENERATIONS, SPARE
from tests.hostile.direct_requests import Answer, DirectClient, count_calls

MILLION = 1_000_000

# For what is refused before its parts are looked at. Most of them write the schema into the error.
CALLS_FEW = 20_000


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> DirectClient:
    return DirectClient(tmp_path_factory.mktemp("roost"))


def uid(number: int) -> str:
    return str(uuid.UUID(int=number + 1))


def consumer(number: int, amount: int = 1) -> dict[str, Any]:
    return {
        "allocations": {uid(number): {"resources": {"VCPU": amount}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }


def counted(work: Callable[[], Answer]) -> tuple[Answer, int]:
    answers: list[Answer] = []
    calls = count_calls(lambda: answers.append(work()))
    return answers[0], calls


# ---------------------------------------------------------------------------------------------
# Bodies that are refused before they are parsed, or while they are


MANY_KEYS = b"{" + b",".join(b'"%d":1' % number for number in range(MILLION)) + b"}"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (MANY_KEYS, "too many values"),
        (b'{"inventories":' + MANY_KEYS + b',"allocations":{}}', "too many values"),
        (b"[" + b"1," * MILLION + b"1]", "too many values"),
        (b"[" * MILLION, "too many values"),
        (b"[" * MILLION + b"]" * MILLION, "too many values"),
        (b'{"a":' * MILLION, "too many values"),
        (b"[" * 20_000, "nested too deeply"),
        (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, "nested too deeply"),
        (b"[" + b",".join([b"[" * 31 + b"]" * 31] * 20_000) + b"]", "too many values"),
        (b'{"name":' + b"9" * MILLION + b"}", "is too large"),
        (b'{"name":-' + b"9" * MILLION + b"}", "is too large"),
        (b'{"name":1e' + b"9" * 10_000 + b"}", "is too large"),
        (b'{"name":0.' + b"9" * MILLION + b"}", "does not validate"),
        (b'{"name":"' + b"\\u0041" * MILLION + b'"}', "does not validate"),
        (b'{"name":"' + b'\\"' * (2 * MILLION) + b'"}', "too many escapes"),
        (b'{"name":"' + b"A" * MILLION + b'"}', "does not validate"),
        (b'{"' + b"A" * MILLION + b'":1}', "does not validate"),
        (b"\n" * MILLION + b"x", "Malformed JSON"),
        (b"\xff" * MILLION, "Malformed JSON"),
    ],
    ids=lambda value: repr(value[:20]),
)
@pytest.mark.parametrize("path", ["/allocations", "/reshaper", "/resource_classes"])
def test_a_body_that_no_client_means(
    client: DirectClient, path: str, body: bytes, reason: str
) -> None:
    answer, calls = counted(lambda: client.send("POST", path, body=body))
    assert answer.status == 400
    if path == "/resource_classes" or reason != "does not validate":
        # Below 25,000 values the smaller bound of other routes may come first.
        assert reason in answer.detail or "too many values" in answer.detail
    assert calls < CALLS_FEW


def test_many_keys_at_the_bound_are_looked_at_once(client: DirectClient) -> None:
    count = bounds.VALUES_OF_CONSUMERS_MAX - 10
    body = b"{" + b",".join(b'"%d":1' % number for number in range(count)) + b"}"
    answer, calls = counted(lambda: client.send("POST", "/allocations", body=body))
    assert answer.status == 400
    assert "has too many properties" in answer.detail
    # A handful for each key, by the decoder. The validators look at none of them.
    assert calls < 6 * count


def test_an_object_with_the_same_key_again_and_again(client: DirectClient) -> None:
    body = b"{" + b",".join([b'"a":1'] * 20_000) + b"}"
    answer = client.send("POST", "/resource_classes", body=body)
    assert (answer.status, "the key 'a' is given twice" in answer.detail) == (400, True)


# ---------------------------------------------------------------------------------------------
# Bodies that are refused by a schema


def test_the_last_of_many_consumers_is_found_without_a_walk_through_the_others(
    client: DirectClient,
) -> None:
    count = bounds.CONSUMERS_MAX
    body = {uid(number): consumer(number) for number in range(count)}
    body[uid(count - 1)] = consumer(count - 1, amount=-1)
    answer, calls = counted(
        lambda: client.send("POST", "/allocations", body=json.dumps(body).encode())
    )
    assert answer.status == 400
    assert "-1 is less than the minimum of 1" in answer.detail
    # Forty by the decoder and the quick validator; the library would call 500 for each consumer.
    assert calls < 60 * count


def test_only_some_of_many_errors_are_worded(
    client: DirectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    worded = []

    def quote_value(value: object) -> str:
        worded.append(value)
        return repr(value)

    monkeypatch.setattr(schema_keywords, "quote_value", quote_value)
    body = json.dumps({uid(number): {"x": 1} for number in range(bounds.CONSUMERS_MAX)})
    assert client.send("POST", "/allocations", body=body.encode()).status == 400
    assert 0 < len(worded) <= 100


def test_items_that_cannot_be_sorted_are_not_compared_pair_by_pair(client: DirectClient) -> None:
    mixed = [number if number % 2 else str(number) for number in range(bounds.AGGREGATES_MAX)]
    body = {"aggregates": mixed, "resource_provider_generation": GENERATIONS[CN1]}
    path = f"/resource_providers/{CN1}/aggregates"
    answer, calls = counted(lambda: client.send("PUT", path, body=json.dumps(body).encode()))
    assert answer.status == 400
    assert calls < 30 * bounds.AGGREGATES_MAX


def test_a_float_that_is_no_integer_among_very_many_values(client: DirectClient) -> None:
    body = {uid(number): consumer(number) for number in range(1000)}
    body[uid(999)]["consumer_generation"] = 1e30
    answer = client.send("POST", "/allocations", body=json.dumps(body).encode())
    assert (answer.status, "1e+30" in answer.detail) == (400, True)


# ---------------------------------------------------------------------------------------------
# The bounds


def groups(count: int) -> dict[str, Any]:
    return {f"_{number}": {"resources": {"VCPU": 1}} for number in range(count)}


def search(**fields: Any) -> dict[str, Any]:
    return {"groups": {"": {"resources": {"VCPU": 1}}}, "limit": 1, **fields}


def group(**fields: Any) -> dict[str, Any]:
    return search(groups={"": {"resources": {"VCPU": 1}, **fields}})


def names(count: int) -> list[str]:
    return [f"!CUSTOM_{number}" for number in range(count)]


def classes(count: int) -> dict[str, int]:
    return {f"CUSTOM_{number}": 1 for number in range(count)}


def inventories(count: int) -> dict[str, Any]:
    each = {name: {"total": 1} for name in classes(count)}
    return {"inventories": each, "resource_provider_generation": 0}


def reshape(**fields: Any) -> dict[str, Any]:
    return {"inventories": {SPARE: inventories(1)}, "allocations": {}, **fields}


def held(providers: int, class_count: int) -> dict[str, Any]:
    resources = {"resources": classes(class_count)}
    return {**consumer(1), "allocations": {uid(number): resources for number in range(providers)}}


SEARCHES: list[tuple[int, Callable[[int], Any]]] = [
    (bounds.GROUPS_MAX, lambda count: search(groups=groups(count))),
    (bounds.GROUP_CLASSES_MAX, lambda count: group(resources=classes(count))),
    (bounds.NAMES_MAX, lambda count: group(required=names(count))),
    (bounds.NAMES_MAX, lambda count: group(required=[",".join(names(count))])),
    (bounds.NAMES_MAX, lambda count: group(member_of=[f"!{uid(each)}" for each in range(count)])),
    (
        bounds.NAMES_MAX,
        lambda count: group(member_of=["!in:" + ",".join(map(uid, range(count)))]),
    ),
    (bounds.NAMES_MAX, lambda count: search(root_required=names(count))),
    (
        bounds.NAMES_MAX,
        lambda count: search(root_member_of=[f"!{uid(each)}" for each in range(count)]),
    ),
    (bounds.NAMES_MAX, lambda count: search(can_split=",".join(["VCPU"] * count))),
    (bounds.RULES_MAX, lambda count: search(groups=groups(2), isolate=["_0,_1"] * count)),
    (bounds.RULES_MAX, lambda count: search(groups=groups(2), same_subtree=["_0,_1"] * count)),
    (bounds.RULES_MAX, lambda count: search(groups=groups(2), same_subtree=["_0,!_1"] * count)),
    (
        bounds.GROUPS_MAX,
        lambda count: search(
            groups=groups(2), isolate=[",".join(["_0", "_1"] * count)[: count * 3 - 1]]
        ),
    ),
]
WRITES: list[tuple[str, str, int, Callable[[int], Any]]] = [
    (
        "POST",
        "/allocations",
        bounds.CONSUMERS_MAX,
        lambda count: {uid(n): consumer(n) for n in range(count)},
    ),
    (
        "PUT",
        f"/allocations/{uid(1)}",
        bounds.PROVIDERS_PER_CONSUMER_MAX,
        lambda count: held(count, 1),
    ),
    ("PUT", f"/allocations/{uid(1)}", bounds.CLASSES_MAX, lambda count: held(1, count)),
    ("PUT", f"/resource_providers/{SPARE}/inventories", bounds.CLASSES_MAX, inventories),
    (
        "PUT",
        f"/resource_providers/{SPARE}/traits",
        bounds.TRAITS_MAX,
        lambda count: {"traits": names(count), "resource_provider_generation": 0},
    ),
    (
        "PUT",
        f"/resource_providers/{SPARE}/aggregates",
        bounds.AGGREGATES_MAX,
        # A generation that is not the current one, so that nothing is stored.
        lambda count: {
            "aggregates": [uid(number) for number in range(count)],
            "resource_provider_generation": 99,
        },
    ),
    (
        "POST",
        "/reshaper",
        bounds.PROVIDERS_MAX,
        lambda count: reshape(inventories={uid(number): inventories(1) for number in range(count)}),
    ),
    (
        "POST",
        "/reshaper",
        bounds.CONSUMERS_MAX,
        lambda count: reshape(allocations={uid(n): consumer(n) for n in range(count)}),
    ),
    (
        "POST",
        "/placements",
        bounds.PLACED_CONSUMERS_MAX,
        lambda count: {
            "query": "resources=CUSTOM_UNKNOWN:1",
            "consumers": {
                uid(number): {"project_id": "p", "user_id": "u", "consumer_type": "T"}
                for number in range(count)
            },
        },
    ),
]
TOO_MANY = ("has too many properties", "is too long", "expected at most")


def is_too_many(answer: Answer) -> bool:
    return answer.status == 400 and any(text in answer.detail for text in TOO_MANY)


@pytest.mark.parametrize(("count_max", "make"), SEARCHES)
def test_a_search_with_one_more_than_the_bound(
    client: DirectClient, count_max: int, make: Callable[[int], Any]
) -> None:
    """It is refused, and one with as many as the bound is not refused for that."""
    for path in ("/allocation_candidates", "/capacity", "/allocation_candidates/explain"):
        body = json.dumps(make(count_max + 1)).encode()
        assert is_too_many(client.send("POST", path, body=body))
    query = {"query": make(count_max + 1), "consumers": {uid(1): {**OWNER}}}
    assert is_too_many(client.send("POST", "/placements", body=json.dumps(query).encode()))
    answer = client.send("POST", "/capacity", body=json.dumps(make(count_max)).encode())
    assert not is_too_many(answer), answer


OWNER = {"project_id": "p", "user_id": "u", "consumer_type": "T"}


@pytest.mark.parametrize(("method", "path", "count_max", "make"), WRITES)
def test_a_write_with_one_more_than_the_bound(
    client: DirectClient, method: str, path: str, count_max: int, make: Callable[[int], Any]
) -> None:
    answer = client.send(method, path, body=json.dumps(make(count_max + 1)).encode())
    assert is_too_many(answer), answer
    answer = client.send(method, path, body=json.dumps(make(count_max)).encode())
    assert 400 <= answer.status < 500
    assert not is_too_many(answer), answer


QUERIES: list[tuple[str, int, Callable[[int], str]]] = [
    (
        "/allocation_candidates",
        bounds.GROUPS_MAX,
        lambda count: (
            "group_policy=none&limit=1&"
            + "&".join(f"resources_{number}=VCPU:1" for number in range(count))
        ),
    ),
    (
        "/allocation_candidates",
        bounds.GROUP_CLASSES_MAX,
        lambda count: "resources=" + ",".join(f"{name}:1" for name in classes(count)),
    ),
    (
        "/allocation_candidates",
        bounds.NAMES_MAX,
        lambda count: "resources=VCPU:1&required=" + ",".join(names(count)),
    ),
    (
        "/allocation_candidates",
        bounds.RULES_MAX,
        lambda count: (
            "resources_A=VCPU:1&resources_B=VCPU:1&group_policy=none"
            + "&same_subtree=_A,_B" * count
        ),
    ),
    (
        "/allocation_candidates",
        bounds.SPLITS_MAX,
        lambda count: (
            "&".join(f"resources_{n}=VCPU:1" for n in range(count // 2))
            + f"&resources={','.join(f'{name}:1' for name in classes(count - count // 2))}"
            + f"&can_split=VCPU,{','.join(classes(count - count // 2))}"
        ),
    ),
    (
        "/allocation_candidates",
        bounds.PARAMETERS_MAX,
        lambda count: "resources=VCPU:1" + "&limit=1" * (count - 1),
    ),
    (
        "/resource_providers",
        bounds.NAMES_MAX,
        lambda count: "member_of=in:" + ",".join(map(uid, range(count))),
    ),
    (
        "/resource_providers",
        bounds.NAMES_MAX,
        lambda count: "required=in:" + ",".join(f"CUSTOM_{number}" for number in range(count)),
    ),
    (
        "/traits",
        bounds.NAMES_MAX,
        lambda count: "name=in:" + ",".join(f"CUSTOM_{number}" for number in range(count)),
    ),
]


@pytest.mark.parametrize(("path", "count_max", "make"), QUERIES)
def test_a_query_string_with_one_more_than_the_bound(
    client: DirectClient, path: str, count_max: int, make: Callable[[int], str]
) -> None:
    assert is_too_many(client.send("GET", path, query=make(count_max + 1)))
    assert not is_too_many(client.send("GET", path, query=make(count_max)))


@pytest.mark.parametrize(
    "query",
    [
        "a&" * 100_000,
        "&".join(f"a{number}=1" for number in range(100_000)),
        "resources=" + ",".join(f"A{number}:1" for number in range(50_000)),
        "resources=VCPU:1&required=in:" + ",".join(f"A{number}" for number in range(50_000)),
        "resources=VCPU:1&member_of=in:" + ",".join(map(uid, range(50_000))),
        "resources=VCPU:" + "9" * 400_000,
        "resources=VCPU:1&limit=1e400",
        "resources=VCPU:1&limit=" + "%00" * 20_000,
        "resources=VCPU:1&limit=" + "%ff" * 20_000,
        "resources=VCPU:1&order=random:" + "9" * 400_000,
        "resources=VCPU:1&order=spread&after=" + "A" * 400_000,
        "resources=VCPU:1&same_subtree=" + "_A," * 100_000,
        "resources=VCPU:1&isolate=" + "_A," * 100_000,
        "resources=VCPU:1&can_split=" + "VCPU," * 80_000,
    ],
    ids=lambda query: query[:40],
)
@pytest.mark.parametrize("path", ["/allocation_candidates", "/capacity", "/resource_providers"])
def test_a_query_string_that_no_client_means(client: DirectClient, path: str, query: str) -> None:
    answer, calls = counted(lambda: client.send("GET", path, query=query))
    assert answer.status == 400
    # Python takes four to undo each escape, and an HTTP server takes a URL of 64 kB at most.
    assert calls < CALLS_FEW + 5 * query.count("%")


def test_thousands_of_groups_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    monkeypatch.setattr(request_groups, "parse_resources", parsed.append)
    text = "&".join(f"resources{number}=VCPU:1" for number in range(1, bounds.PARAMETERS_MAX))
    with pytest.raises(HttpError, match="4999 request groups, expected at most 256"):
        request_groups.parse_groups(query_string.split(text), VERSION_MAX)
    assert parsed == []


# ---------------------------------------------------------------------------------------------
# Headers, documents, memory


@pytest.mark.parametrize("header", ["a/b," * 100_000, "a/b" + ';x="' * 100_000, "*" * 400_000])
@pytest.mark.parametrize("path", ["/resource_providers", "/events", "/nowhere"])
def test_a_long_accept_header_is_not_parsed(client: DirectClient, path: str, header: str) -> None:
    headers = {"HTTP_ACCEPT": header}
    answer, calls = counted(lambda: client.send("GET", path, headers=headers))
    assert answer.status == (404 if path == "/nowhere" else 400)
    assert calls < CALLS_FEW


def test_the_document_shows_the_bounds() -> None:
    document = json.dumps(openapi.document(OPEN_ROUTES))
    for bound in (
        *(bounds.GROUPS_MAX, bounds.GROUP_CLASSES_MAX, bounds.NAMES_MAX, bounds.RULES_MAX),
        *(bounds.CLASSES_MAX, bounds.TRAITS_MAX, bounds.CONSUMERS_MAX),
    ):
        assert f'"maxProperties": {bound}' in document or f'"maxItems": {bound}' in document


PEAK = """
import resource
import sys
from pathlib import Path

from roost.api.http_error import HttpError
from roost.api.parsing import bodies
from roost.api.schemas import allocations, bounds
from roost.api.versions import VERSION_MAX

body = Path(sys.argv[1]).read_bytes()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    bodies.read(body, allocations.post(VERSION_MAX), values_max=bounds.VALUES_OF_CONSUMERS_MAX)
except HttpError as error:
    print(error.status)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""

LARGE = {
    "one text": lambda: b'{"' + b"A" * 64_000_000 + b'":1}',
    # Python takes four bytes for each character of a text that has one such character.
    "one wide text": lambda: '{"\U0001f600'.encode() + b"A" * 32_000_000 + b'":1}',
    "texts": lambda: b"[" + b",".join(b'"%0250d"' % each for each in range(240_000)) + b"]",
    "arrays": lambda: b"[" + b"[[[],[]],[]]," * 4_000_000 + b"[]]",
    "keys": lambda: b"{" + b",".join(b'"%d":1' % each for each in range(4_000_000)) + b"}",
}


@pytest.mark.process
@pytest.mark.parametrize("kind", LARGE)
def test_a_refused_body_takes_less_than_ten_times_its_size(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "body"
    path.write_bytes(LARGE[kind]())
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True
    )
    status, peak = map(int, done.stdout.split())
    assert status == 400
    assert peak < 9 * path.stat().st_size
