"""The comparison of answers with the document notices whatever is wrong with one."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from roost import assembly
from roost.settings import Settings
from tests.support import answer_schemas
from tests.support.answer_schemas import Answer, WrongAnswer
from tests.support.headers import ADMIN, HEADERS
from tests.support.names import uid

HOST = uid("host")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    application = assembly.build_application(
        settings=Settings(auth_strategy="noauth2", console=True),
        database_url=f"sqlite:///{tmp_path_factory.mktemp('answers') / 'roost.db'}",
        sync=True,
    )
    with httpx.Client(
        transport=httpx.WSGITransport(app=application),
        base_url="http://roost",
        event_hooks=answer_schemas.HOOKS,
    ) as client:
        body = {"name": "host", "uuid": HOST}
        client.post("/resource_providers", json=body, headers=HEADERS).raise_for_status()
        yield client


def answer_of(client: httpx.Client, method: str, path: str, **options: Any) -> Answer:
    found = client.request(method, path, headers=HEADERS, **options)
    return Answer(method, found.url.path, found.status_code, dict(found.headers), found.content)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/resource_providers"),
        ("GET", f"/resource_providers/{HOST}"),
        ("GET", f"/resource_providers/{uid('none')}"),
        ("GET", "/no/such/path"),
        ("DELETE", "/usages"),
        ("HEAD", "/usages"),
        ("GET", "/readyz"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json?version=1.5"),
        ("GET", "/openapi.json?version=9.9"),
        ("GET", "/console/"),
    ],
)
def test_answers_are_as_described(client: httpx.Client, method: str, path: str) -> None:
    client.request(method, path, headers=HEADERS)
    client.request(method, path, headers=ADMIN)


def test_a_missing_token_is_described(client: httpx.Client) -> None:
    assert client.get("/resource_providers").status_code == 401


def test_a_refused_version_is_described(client: httpx.Client) -> None:
    for version, status in (("placement 7.7", 406), ("placement seven", 400)):
        answer = client.get("/usages", headers={**ADMIN, "openstack-api-version": version})
        assert answer.status_code == status


def test_an_error_in_another_form_is_described(client: httpx.Client) -> None:
    for accept in ("text/plain", "text/html"):
        answer = client.get("/nothing", headers={**HEADERS, "accept": accept})
        assert answer.headers["content-type"].startswith(accept)


def without(answer: Answer, header: str) -> Answer:
    headers = {name: value for name, value in answer.headers.items() if name != header}
    return answer._replace(headers=headers)


def with_header(answer: Answer, name: str, value: str) -> Answer:
    return answer._replace(headers={**answer.headers, name: value})


def with_body(answer: Answer, **fields: Any) -> Answer:
    body = {**json.loads(answer.content), **fields}
    return answer._replace(content=json.dumps(body).encode())


CHANGES: dict[str, tuple[Callable[[Answer], Answer], str]] = {
    "another status": (lambda answer: answer._replace(status=202), "is not described"),
    "a server error": (lambda answer: answer._replace(status=500), "is not described"),
    "no body": (lambda answer: answer._replace(content=b""), "Expecting value"),
    "no JSON": (lambda answer: with_header(answer, "content-type", "text/plain"), "text/plain"),
    "a field too much": (lambda answer: with_body(answer, colour="red"), "colour"),
    "another type": (lambda answer: with_body(answer, generation="1"), "integer"),
    "no UUID": (lambda answer: with_body(answer, uuid="host"), "uuid"),
    "no version": (lambda answer: without(answer, "vary"), "vary is missing"),
    "no time": (lambda answer: without(answer, "last-modified"), "last-modified is missing"),
    "a wrong time": (lambda answer: with_header(answer, "last-modified", "now"), "last-modified"),
    "a location": (lambda answer: with_header(answer, "location", "/"), "location is not desc"),
    "an older version": (
        lambda answer: with_header(answer, "openstack-api-version", "placement 1.13"),
        "is not described",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_wrong_answer_is_noticed(client: httpx.Client, change: str) -> None:
    answer = answer_of(client, "GET", f"/resource_providers/{HOST}")
    answer_schemas.check(answer)
    tamper, told = CHANGES[change]
    with pytest.raises(WrongAnswer, match=told):
        answer_schemas.check(tamper(answer))


def test_a_body_where_there_should_be_none_is_noticed(client: httpx.Client) -> None:
    answer = answer_of(client, "PUT", "/traits/CUSTOM_A")
    with pytest.raises(WrongAnswer, match="there should be no body"):
        answer_schemas.check(answer._replace(content=b"{}"))
    with pytest.raises(WrongAnswer, match="location is missing"):
        answer_schemas.check(without(answer, "location"))


def test_what_no_route_has_must_be_refused(client: httpx.Client) -> None:
    answer = answer_of(client, "GET", "/")
    with pytest.raises(WrongAnswer, match="is not described"):
        answer_schemas.check(answer._replace(path="/no/such/path"))
