"""Ten thousand consumers in one request, to a running server."""

import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.headers import HEADERS
from tests.support.names import uid
from tests.support.roost_server import RoostServer
from tests.support.world import build, load, provider

HOSTS = 40
CONSUMERS = 10_000
# So that all of them fit, and no other.
PER_HOST = CONSUMERS // HOSTS

OWNER = {"project_id": "p" * 40, "user_id": "u" * 40, "consumer_type": "INSTANCE"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder: Path = tmp_path_factory.mktemp("many")
    url = f"sqlite:///{folder / 'roost.db'}"
    with (
        RoostServer(url, folder) as server,
        httpx.Client(base_url=server.url, headers=HEADERS, timeout=60) as client,
    ):
        hosts = (
            provider(f"host{n}", {"VCPU": PER_HOST, "MEMORY_MB": 64 * PER_HOST})
            for n in range(HOSTS)
        )
        load(build(*hosts), client)
        yield client


def held_by_consumer(client: httpx.Client) -> dict[str, dict[str, dict[str, int]]]:
    """What every consumer holds, by its UUID and that of the host."""
    held: dict[str, dict[str, dict[str, int]]] = {}
    for number in range(HOSTS):
        host = uid(f"host{number}")
        found = client.get(f"/resource_providers/{host}/allocations").json()["allocations"]
        for consumer, share in found.items():
            held.setdefault(consumer, {})[host] = share["resources"]
    return held


def test_ten_thousand_consumers_fill_a_cloud(client: httpx.Client) -> None:
    consumers = [str(uuid.uuid4()) for _ in range(CONSUMERS)]
    body = {
        "query": "resources=VCPU:1,MEMORY_MB:64",
        "consumers": dict.fromkeys(consumers, OWNER),
        "idempotency_key": "many",
    }
    answer = client.post("/placements", json=body)
    assert answer.status_code == 200, answer.text[:1000]
    placed = answer.json()["placements"]
    assert list(placed) == consumers
    held = held_by_consumer(client)
    assert held == {
        consumer: {host: each["resources"] for host, each in answered["allocations"].items()}
        for consumer, answered in placed.items()
    }
    assert all(each["mappings"] == {"": list(each["allocations"])} for each in placed.values())
    per_host = Counter(host for hosts in held.values() for host in hosts)
    assert set(per_host.values()) == {PER_HOST}
    # The same again gets the same answer, and claims nothing.
    again = client.post("/placements", json=body)
    assert again.json()["placements"] == placed
    # One more has no place.
    more = {**body, "consumers": {str(uuid.uuid4()): OWNER}, "idempotency_key": "one more"}
    refused = client.post("/placements", json=more)
    assert refused.json()["errors"][0]["code"] == "placement.no_candidates"
    assert held_by_consumer(client) == held


def test_more_are_refused(client: httpx.Client) -> None:
    body = {
        "query": "resources=VCPU:1",
        "consumers": {str(uuid.uuid4()): OWNER for _ in range(CONSUMERS + 1)},
    }
    refused = client.post("/placements", json=body)
    assert refused.status_code == 400
    assert "10001 entries, expected at most 10000" in refused.text


def test_many_consumers_with_many_groups_are_refused(client: httpx.Client) -> None:
    groups = "&".join(f"resources_{n}=VCPU:1" for n in range(8))
    body = {"query": groups, "consumers": {str(uuid.uuid4()): OWNER for _ in range(CONSUMERS)}}
    refused = client.post("/placements", json=body)
    assert refused.status_code == 400
    assert "160000, expected at most 150000" in refused.text
