"""Which of several refusals a client gets, and what it names."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.direct_client import direct_client
from tests.support.names import uid
from tests.support.world import build, load, provider

INVENTORIES = f"/resource_providers/{uid('host')}/inventories"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    with direct_client(f"sqlite:///{tmp_path / 'roost.db'}") as client:
        load(build(provider("host", {"VCPU": 8})), client)
        yield client


@pytest.mark.parametrize("of_all", [True, False])
@pytest.mark.parametrize(("behind", "status"), [(1, 409), (0, 400)])
def test_a_stale_generation_is_told_before_a_bad_inventory(
    client: httpx.Client, of_all: bool, behind: int, status: int
) -> None:
    current = client.get(INVENTORIES).json()["resource_provider_generation"]
    generation = {"resource_provider_generation": current - behind}
    bad = {"total": 4, "reserved": 5}
    if of_all:
        answer = client.put(INVENTORIES, json={**generation, "inventories": {"VCPU": bad}})
    else:
        answer = client.put(f"{INVENTORIES}/VCPU", json={**generation, **bad})
    assert answer.status_code == status, answer.text


def test_an_unknown_class_is_named_once(client: httpx.Client) -> None:
    query = "resources1=CUSTOM_X:1&resources2=CUSTOM_X:1&group_policy=none"
    answer = client.get(f"/allocation_candidates?{query}")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["detail"].count("CUSTOM_X") == 1
