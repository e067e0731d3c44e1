"""Inventories and allocations that move together through POST /reshaper."""

from collections.abc import Callable, Mapping
from typing import Any

import httpx
import pytest

from tests import oracle
from tests.scenarios.reader import Scenario, scenarios
from tests.support.headers import HEADERS
from tests.support.names import uid
from tests.support.world import World, generation_of, inventory_body, load, put_allocations

RESHAPES = scenarios("4-*.txt")

# The state of providers and consumers, as the API shows it.
State = Mapping[str, Any]


@pytest.fixture(params=RESHAPES, ids=lambda scenario: scenario.name)
def scenario(request: pytest.FixtureRequest) -> Scenario:
    return request.param


@pytest.fixture
def client(scenario: Scenario, new_client: Callable[[], httpx.Client]) -> httpx.Client:
    """A service in the state before the reshape."""
    client = new_client()
    load(scenario.world, client)
    for consumer, allocations in scenario.consumers.items():
        put_allocations(client, consumer, allocations)
    return client


def get(client: httpx.Client, path: str) -> Any:
    answer = client.get(path, headers=HEADERS)
    assert answer.status_code == 200, answer.text
    return answer.json()


def send_reshape(client: httpx.Client, body: State) -> httpx.Response:
    # The reshaper belongs to services; the built-in policy lets an administrator use it as well.
    return client.post("/reshaper", headers={**HEADERS, "x-roles": "service"}, json=body)


def reshape_body(client: httpx.Client, scenario: Scenario) -> dict[str, Any]:
    """The final state of all providers and consumers that change."""
    before, after = scenario.world, scenario.world_after
    assert after is not None
    return {
        "inventories": {
            uuid: {
                "resource_provider_generation": generation_of(client, uuid),
                "inventories": {
                    name: inventory_body(have) for name, have in one.inventories.items()
                },
            }
            for uuid, one in after.providers.items()
            if one.inventories != before.providers[uuid].inventories
        },
        "allocations": {
            uid(consumer): {
                "allocations": {uuid: {"resources": held} for uuid, held in allocations.items()},
                "project_id": "project",
                "user_id": "user",
                "consumer_type": "INSTANCE",
                "consumer_generation": get(client, f"/allocations/{uid(consumer)}")[
                    "consumer_generation"
                ],
            }
            for consumer, allocations in scenario.consumers_after.items()
            if allocations != scenario.consumers[consumer]
        },
    }


def inventories(client: httpx.Client, world: World) -> State:
    return {
        uuid: get(client, f"/resource_providers/{uuid}/inventories")["inventories"]
        for uuid in world.providers
    }


def allocations(client: httpx.Client, consumers: Mapping[str, Any]) -> State:
    return {
        consumer: {
            uuid: held["resources"]
            for uuid, held in get(client, f"/allocations/{uid(consumer)}")["allocations"].items()
        }
        for consumer in consumers
    }


def everything(client: httpx.Client, scenario: Scenario) -> State:
    """Everything that a reshape could change, with generations."""
    return {
        "providers": get(client, "/resource_providers"),
        "inventories": inventories(client, scenario.world),
        "allocations": [
            get(client, f"/allocations/{uid(consumer)}") for consumer in scenario.consumers
        ],
    }


def usages(scenario: Scenario) -> dict[str, dict[str, int]]:
    """The usage of all consumers after the reshape, by provider and class."""
    assert scenario.world_after is not None
    used = {
        uuid: dict.fromkeys(one.inventories, 0)
        for uuid, one in scenario.world_after.providers.items()
    }
    for held in scenario.consumers_after.values():
        for uuid, resources in held.items():
            for name, amount in resources.items():
                used[uuid][name] += amount
    return used


def test_inventories_and_allocations_move_together(
    scenario: Scenario, client: httpx.Client
) -> None:
    after = scenario.world_after
    assert after is not None
    answer = send_reshape(client, reshape_body(client, scenario))
    assert answer.status_code == 204, answer.text
    assert inventories(client, after) == {
        uuid: {name: inventory_body(have) for name, have in one.inventories.items()}
        for uuid, one in after.providers.items()
    }
    assert allocations(client, scenario.consumers_after) == scenario.consumers_after
    for uuid, used in usages(scenario).items():
        assert get(client, f"/resource_providers/{uuid}/usages")["usages"] == used


def test_search_sees_the_new_shape(scenario: Scenario, client: httpx.Client) -> None:
    assert send_reshape(client, reshape_body(client, scenario)).status_code == 204
    for request in scenario.requests:
        found = get(client, f"/allocation_candidates?{request.query_string}")
        answers = [oracle.answer_of_json(one) for one in found["allocation_requests"]]
        assert {one.allocations for one in answers} == set(request.exactly)


def test_a_stale_provider_generation_changes_nothing(
    scenario: Scenario, client: httpx.Client
) -> None:
    body = reshape_body(client, scenario)
    # The last provider, so that a service which stops half-way would have written the others.
    list(body["inventories"].values())[-1]["resource_provider_generation"] += 1
    before = everything(client, scenario)
    answer = send_reshape(client, body)
    assert answer.status_code == 409
    assert answer.json()["errors"][0]["code"] == "placement.concurrent_update"
    assert everything(client, scenario) == before


def test_a_stale_consumer_generation_changes_nothing(
    scenario: Scenario, client: httpx.Client
) -> None:
    body = reshape_body(client, scenario)
    list(body["allocations"].values())[-1]["consumer_generation"] += 1
    before = everything(client, scenario)
    answer = send_reshape(client, body)
    assert answer.status_code == 409
    assert answer.json()["errors"][0]["code"] == "placement.concurrent_update"
    assert everything(client, scenario) == before


def test_an_inventory_in_use_does_not_move_without_its_allocations(
    scenario: Scenario, client: httpx.Client
) -> None:
    body = reshape_body(client, scenario)
    body["allocations"] = {}
    before = everything(client, scenario)
    assert send_reshape(client, body).status_code == 409
    assert everything(client, scenario) == before
