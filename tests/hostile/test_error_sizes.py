"""Whatever a client sends, the error that says what is wrong with it is short."""

import json
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.api.routes import ROUTES
from tests.generated.catalogue import VALID, Valid
from tests.generated.changes import changed, places
from tests.generated.examples import example_settings
from tests.generated.odd_json import Members, write
from tests.hostile.direct_requests import Answer, DirectClient

# Of an answer with an error.
ERROR_BYTES_MAX = 8192

TEXTS = {
    "letters": "A" * 50_000,
    "names": ",".join(["CUSTOM_A"] * 1_500),
    "wide": "\U0001f600" * 5_000,
}
OTHER_TEXTS = {
    "quotes": "'\"\\" * 4_000,
    "markup": "<&>" * 4_000,
    "controls": "\x01\x1f\x7f\x85" * 3_000,
    "uuid": "-" * 20_000 + "0" * 32,
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> DirectClient:
    return DirectClient(tmp_path_factory.mktemp("roost"))


def check(answer: Answer) -> None:
    assert answer.status < 500, answer
    if answer.status >= 400:
        assert len(answer.body) < ERROR_BYTES_MAX, (len(answer.body), answer.body[:500])


def send(client: DirectClient, valid: Valid, **changes: Any) -> Answer:
    parts: dict[str, Any] = {
        "path": valid.path,
        "query": urllib.parse.urlencode(valid.query),
        "body": b"" if valid.body is None else json.dumps(valid.body).encode(),
        **changes,
    }
    return client.send(valid.method, version=valid.version, **parts)


@pytest.mark.parametrize("length", [100_000, 1_000_000, 20_000_000])
def test_an_answer_does_not_grow_with_the_name_that_is_refused(
    client: DirectClient, length: int
) -> None:
    body = json.dumps({"name": "A" * length}).encode()
    answer = client.send("POST", "/resource_classes", body=body)
    assert answer.status == 400
    check(answer)


def test_the_table_has_every_route() -> None:
    assert all(any(valid.is_served_by(route) for valid in VALID) for route in ROUTES)


def changed_paths(valid: Valid, text: str) -> Iterator[str]:
    parts = valid.path.split("/")
    for position in range(1, len(parts)):
        quoted = urllib.parse.quote(text, safe="")
        yield "/".join([*parts[:position], quoted, *parts[position + 1 :]])


def changed_queries(valid: Valid, text: str) -> Iterator[str]:
    pairs = list(valid.query)
    yield urllib.parse.urlencode([*pairs, (text, "1")])
    yield urllib.parse.urlencode([*pairs, *((f"{name}{text}", value) for name, value in pairs)])
    for position, (name, value) in enumerate(pairs):
        for new in (text, value + text, text + value, f"in:{text}", f"!{text}"):
            other = [*pairs[:position], (name, new), *pairs[position + 1 :]]
            yield urllib.parse.urlencode(other)


def changed_bodies(body: Any, text: str) -> Iterator[bytes]:
    for place in places(body):
        yield write(changed(body, place, lambda _: text)).encode()
        yield write(changed(body, place, lambda value: {text: value})).encode()
        yield write(changed(body, place, lambda value: {text: value, text + "\n": 1})).encode()
        yield write(changed(body, place, lambda value: Members([(text, 1), (text, 1)]))).encode()
        yield write(changed(body, place, lambda value: [text, value])).encode()
        yield write(changed(body, place, lambda value: with_member(value, text))).encode()


def with_member(value: Any, text: str) -> Any:
    """The value with one member more, or a longer text."""
    if isinstance(value, dict):
        return {**value, text: 1}
    if isinstance(value, list):
        return [*value, text]
    return value + text if isinstance(value, str) else [value, text]


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("valid", VALID, ids=str)
def test_a_long_text_in_path_query_and_body(client: DirectClient, valid: Valid, kind: str) -> None:
    # Bodies have many places, so the texts in them are shorter.
    text = TEXTS[kind] if valid.body is None else TEXTS[kind][:10_000]
    for path in changed_paths(valid, text):
        check(send(client, valid, path=path))
    for query in changed_queries(valid, text):
        check(send(client, valid, query=query))
    if valid.body is not None:
        for body in changed_bodies(valid.body, text):
            check(send(client, valid, body=body))


HEADERS = (
    *("HTTP_OPENSTACK_API_VERSION", "HTTP_ACCEPT", "CONTENT_TYPE", "CONTENT_LENGTH"),
    *("HTTP_LAST_EVENT_ID", "HTTP_X_AUTH_TOKEN", "HTTP_X_OPENSTACK_REQUEST_ID", "REQUEST_METHOD"),
)


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("form", ["{}", "placement {}", "text/event-stream;{}", "1.{}", "a/b,{}"])
def test_a_long_header(client: DirectClient, name: str, form: str) -> None:
    value = form.format(TEXTS["names"].encode().decode("latin-1"))
    for path in ("/", "/events", "/resource_providers", "/nowhere", "/livez"):
        check(client.send("POST", path, body=b"{}", headers={name: value}))
        check(client.send("GET", path, headers={name: value}))


@pytest.mark.parametrize("accept", ["text/html", "text/plain", "image/png"])
def test_an_error_in_other_forms(client: DirectClient, accept: str) -> None:
    name = urllib.parse.quote(OTHER_TEXTS["markup"])
    answer = client.send("GET", f"/traits/{name}", headers={"HTTP_ACCEPT": accept})
    assert answer.status == 404
    check(answer)


@pytest.mark.parametrize(
    ("method", "path", "query", "body", "beginning"),
    [
        ("GET", f"/traits/{'A' * 400}", "", None, f"No such trait(s): {'A' * 255}...."),
        (
            "POST",
            "/resource_classes",
            "",
            {"name": "CUSTOM_" + "A" * 400},
            f"JSON does not validate: 'CUSTOM_{'A' * 248}...' is too long",
        ),
        (
            "POST",
            "/resource_providers",
            "",
            {"name": "a", **{f"k{number:04}": 1 for number in range(1000)}},
            "JSON does not validate: Additional properties are not allowed ('k0000', 'k0001', ",
        ),
        (
            "GET",
            "/allocation_candidates",
            "resources=" + ",".join(f"CUSTOM_{number:03}:1" for number in range(200)),
            None,
            "Invalid resource class in resources parameter: No such resource class CUSTOM_000, ",
        ),
    ],
)
def test_an_error_begins_as_it_always_did(
    client: DirectClient, method: str, path: str, query: str, body: Any, beginning: str
) -> None:
    data = b"" if body is None else json.dumps(body).encode()
    answer = client.send(method, path, query=query, body=data)
    explanation, _, message = answer.detail.partition("\n\n ")
    assert explanation
    assert message.startswith(beginning), message
    assert "..." in message
    check(answer)


def long_texts() -> st.SearchStrategy[str]:
    parts = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=9)
    return st.builds(str.__mul__, parts, st.sampled_from((100, 1000, 5000)))


@example_settings(0.5)
@given(data=st.data())
def test_any_text_anywhere(client: DirectClient, data: st.DataObject) -> None:
    valid = data.draw(st.sampled_from(VALID))
    text = data.draw(st.sampled_from(list(OTHER_TEXTS.values())) | long_texts())
    where = data.draw(st.sampled_from(("path", "query", "body")))
    if where == "path":
        check(send(client, valid, path=data.draw(st.sampled_from([*changed_paths(valid, text)]))))
    elif where == "query":
        queries = [*changed_queries(valid, text)]
        check(send(client, valid, query=data.draw(st.sampled_from(queries))))
    elif valid.body is not None:
        check(
            send(
                client, valid, body=data.draw(st.sampled_from([*changed_bodies(valid.body, text)]))
            )
        )
