"""Requests that are right, and very long: databases limit what one statement may hold."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from generated.small_world import SPARE, consumer_body
from generated.subject import Subject, plain_request
from servers import PostgreSQL

# SQLite nests at most 1000 conditions, PostgreSQL takes at most 65535 parameters.
CONSUMER_COUNT = 1100
NAME_COUNT = 66_000


@pytest.fixture
def own_sqlite(tmp_path: Path) -> Iterator[Subject]:
    with Subject(f"sqlite:///{tmp_path / 'roost.db'}", tmp_path) as subject:
        yield subject


@pytest.fixture
def own_postgresql(postgresql: PostgreSQL, tmp_path: Path) -> Iterator[Subject]:
    with Subject(postgresql.create_database(), tmp_path) as subject:
        yield subject


def test_many_consumers_come_and_go(own_sqlite: Subject) -> None:
    consumers = [str(uuid.UUID(int=number + 1)) for number in range(CONSUMER_COUNT)]
    inventory = {
        "inventories": {"VCPU": {"total": CONSUMER_COUNT}},
        "resource_provider_generation": 0,
    }
    held = {SPARE: {"resources": {"VCPU": 1}}}
    come = {each: consumer_body(each, allocations=held) for each in consumers}
    go = {each: consumer_body(each, 1, allocations={}) for each in consumers}
    requests = [
        plain_request("PUT", f"/resource_providers/{SPARE}/inventories", inventory),
        plain_request("POST", "/allocations", come),
        plain_request("POST", "/allocations", go),
    ]
    assert [own_sqlite.send(request).status for request in requests] == [200, 204, 204]


def test_many_unknown_traits(own_postgresql: Subject) -> None:
    names = [f"CUSTOM_{number}" for number in range(NAME_COUNT)]
    body = {"traits": names, "resource_provider_generation": 0}
    request = plain_request("PUT", f"/resource_providers/{SPARE}/traits", body)
    answer = own_postgresql.check(request)
    assert answer.status == 400
    assert names[-1] in json.loads(answer.body)["errors"][0]["detail"]
