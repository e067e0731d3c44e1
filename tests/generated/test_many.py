"""Valid requests that are very long: databases limit the size of a statement."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.api.schemas import bounds
from tests.generated.small_world import SPARE, consumer_body
from tests.generated.subject import Subject, plain_request

# SQLite nests at most 1000 conditions.
CONDITION_COUNT = 1100


def test_many_consumers_are_written_in_one_request(on_sqlite: Subject) -> None:
    consumers = [str(uuid.UUID(int=number + 1)) for number in range(CONDITION_COUNT)]
    inventory = {
        "inventories": {"VCPU": {"total": CONDITION_COUNT}},
        "resource_provider_generation": 0,
    }
    held = {SPARE: {"resources": {"VCPU": 1}}}
    claims = {each: consumer_body(each, allocations=held) for each in consumers}
    removals = {each: consumer_body(each, 1, allocations={}) for each in consumers}
    requests = [
        plain_request("PUT", f"/resource_providers/{SPARE}/inventories", inventory),
        plain_request("POST", "/allocations", claims),
        plain_request("POST", "/allocations", removals),
    ]
    statuses = [on_sqlite.send(request).status for request in requests]
    on_sqlite.restore()
    assert statuses == [200, 204, 204]


def test_many_unknown_traits_are_refused(on_postgresql: Subject) -> None:
    names = [f"CUSTOM_{number:05}" for number in range(bounds.TRAITS_MAX)]
    body = {"traits": names, "resource_provider_generation": 0}
    request = plain_request("PUT", f"/resource_providers/{SPARE}/traits", body)
    answer = on_postgresql.check(request)
    assert answer.status == 400
    detail = json.loads(answer.body)["errors"][0]["detail"]
    assert f"No such trait {names[0]}, {names[1]}, " in detail
    assert "..." in detail


@pytest.fixture
def own_sqlite(tmp_path: Path) -> Iterator[Subject]:
    """A server of its own, for a test that leaves too much behind to restore."""
    with Subject(f"sqlite:///{tmp_path / 'roost.db'}", tmp_path) as subject:
        yield subject


def test_an_inventory_of_many_custom_classes(own_sqlite: Subject) -> None:
    names = [f"CUSTOM_N{number}" for number in range(CONDITION_COUNT)]
    for name in names:
        own_sqlite.send(plain_request("PUT", f"/resource_classes/{name}"))
    body = {
        "inventories": {name: {"total": 1} for name in names},
        "resource_provider_generation": 0,
    }
    request = plain_request("PUT", f"/resource_providers/{SPARE}/inventories", body)
    assert own_sqlite.send(request).status == 200
