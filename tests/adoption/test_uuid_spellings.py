"""Aggregates and consumers in every spelling that the reference stored, after their adoption."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from roost.health.check import check
from roost.store.store import Store
from tests.adoption import upstream
from tests.adoption.full_comparison import RoostSide
from tests.adoption.test_adoption import adopt
from tests.comparison.comparison import ask
from tests.comparison.requests import Request
from tests.comparison.sides import Answer, Side

RACK = "a1b2c3d4-e5f6-4a7b-8c9d-e0f1a2b3c4d5"
OTHER_RACK = "b1b2c3d4-e5f6-4a7b-8c9d-e0f1a2b3c4d5"
SPELLINGS = (RACK, RACK.upper(), RACK.replace("-", ""), f"{{{RACK.replace('-', '')}}}")
ASKED = (*SPELLINGS, f"{{{RACK}}}", f"urn:uuid:{RACK}")

# Hosts with the aggregates that the reference is told.
HOSTS: Mapping[str, list[str]] = {
    **{f"host-{number}": [spelling] for number, spelling in enumerate(SPELLINGS)},
    "in both spellings": [RACK.upper(), RACK],
    "in both racks": [SPELLINGS[2], OTHER_RACK],
    "in the other rack": [OTHER_RACK],
    "in none": [],
}
MEMBERS = {name for name, told in HOSTS.items() if set(told) - {OTHER_RACK}}


class Client:
    """Short forms of requests to one side."""

    def __init__(self, side: Side) -> None:
        self._side = side

    def ask(self, method: str, path: str, body: Any = None, *query: tuple[str, str]) -> Answer:
        return ask(self._side, Request(method, path, "1.39", query, body))

    def done(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.ask(method, path, body)
        assert answer.status < 300, answer
        return answer.body

    def aggregates(self, name: str) -> list[str]:
        found: list[str] = self.done("GET", f"/resource_providers/{uuid_of(name)}/aggregates")[
            "aggregates"
        ]
        return sorted(found)

    def listed(self, *rules: str) -> set[str]:
        answer = self.ask("GET", "/resource_providers", None, *(("member_of", r) for r in rules))
        assert answer.status == 200, answer
        return {each["name"] for each in answer.body["resource_providers"]}

    def candidates(self, **query: str) -> set[str]:
        answer = self.ask("GET", "/allocation_candidates", None, *query.items())
        assert answer.status == 200, answer
        uuids = {
            uuid for each in answer.body["allocation_requests"] for uuid in each["allocations"]
        }
        return {name for name in (*HOSTS, "pool") if uuid_of(name) in uuids}

    def consumers(self) -> dict[str, int]:
        path = f"/resource_providers/{uuid_of('in none')}/allocations"
        held = self.done("GET", path)["allocations"]
        return {uuid: each["resources"]["VCPU"] for uuid, each in held.items()}


def uuid_of(name: str) -> str:
    number = [*HOSTS, "pool"].index(name)
    return f"{number:08x}-0000-4000-8000-000000000000"


def make_provider(client: Client, name: str, resource_class: str, told: list[str]) -> None:
    path = f"/resource_providers/{uuid_of(name)}"
    client.done("POST", "/resource_providers", {"name": name, "uuid": uuid_of(name)})
    inventories = {resource_class: {"total": 1000}}
    body = {"resource_provider_generation": 0, "inventories": inventories}
    client.done("PUT", f"{path}/inventories", body)
    body = {"resource_provider_generation": 1, "aggregates": told}
    assert client.done("PUT", f"{path}/aggregates", body)["aggregates"] == told


def holding(amount: int, generation: int | None = None) -> dict[str, Any]:
    return {
        "allocations": {uuid_of("in none"): {"resources": {"VCPU": amount}}} if amount else {},
        "project_id": "project",
        "user_id": "user",
        "consumer_type": "INSTANCE",
        "consumer_generation": generation,
    }


UPPER, CANONICAL, MIXED, RESHAPED = (
    "AAAAAAAA-0000-4000-8000-00000000000C",
    "bbbbbbbb-0000-4000-8000-00000000000c",
    "CCCCCCCC-0000-4000-8000-00000000000c",
    "DDDDDDDD-0000-4000-8000-00000000000C",
)
CONSUMERS = {UPPER: 1, CANONICAL: 2, MIXED: 3, RESHAPED: 4}


def write(client: Client) -> None:
    """All providers and consumers, as a client of the reference writes them."""
    for name, told in HOSTS.items():
        make_provider(client, name, "VCPU", told)
    make_provider(client, "pool", "DISK_GB", [RACK.upper()])
    body = {"resource_provider_generation": 2, "traits": ["MISC_SHARES_VIA_AGGREGATE"]}
    client.done("PUT", f"/resource_providers/{uuid_of('pool')}/traits", body)
    posted = {uuid: holding(n) for uuid, n in CONSUMERS.items() if uuid != RESHAPED}
    client.done("POST", "/allocations", posted)
    generation = client.done("GET", f"/resource_providers/{uuid_of('in none')}")["generation"]
    inventories = {"VCPU": {"total": 1000}}
    entry = {"resource_provider_generation": generation, "inventories": inventories}
    reshaped = {RESHAPED: holding(CONSUMERS[RESHAPED])}
    body = {"inventories": {uuid_of("in none"): entry}, "allocations": reshaped}
    client.done("POST", "/reshaper", body)


def put_three_spellings(client: Client, uuid: str) -> list[set[int]]:
    """Put a provider into an aggregate in up to three spellings: which of them are then shown."""
    path = f"/resource_providers/{uuid_of('in none')}/aggregates"
    told = [uuid.upper(), uuid, uuid.replace("-", "")]
    shown = []
    # Emptied in between: on MariaDB the reference loses an aggregate that is put in another case.
    for aggregates in (told[:1], told, [], told[1:2], [], [told[2], told[0]], []):
        generation = client.done("GET", path)["resource_provider_generation"]
        body = {"resource_provider_generation": generation, "aggregates": aggregates}
        assert client.done("PUT", path, body)["aggregates"] == aggregates
        shown.append({told.index(each) for each in client.aggregates("in none")})
    return shown


def test_all_spellings_are_adopted(database_url: str, tmp_path: Path) -> None:
    upstream.migrate(database_url, tmp_path)
    with upstream.serving(database_url, tmp_path) as side:
        reference = Client(side)
        write(reference)
        shown = {name: reference.aggregates(name) for name in (*HOSTS, "pool")}
        assert reference.consumers() == CONSUMERS
        spellings_shown = put_three_spellings(reference, RACK.replace("a", "e"))
    adopt(database_url)
    client = Client(RoostSide(database_url))
    assert {name: client.aggregates(name) for name in (*HOSTS, "pool")} == shown
    check_searches(client)
    assert put_three_spellings(client, RACK.replace("a", "f")) == spellings_shown
    check_consumers(client, database_url)
    store = Store.open(database_url)
    assert check(store) == []
    store.dispose()


def rows(url: str, table: str, column: str) -> list[str]:
    store = Store.open(url)
    with store.engine.connect() as connection:
        found = list(connection.scalars(sa.text(f"SELECT {column} FROM {table}")))
    store.dispose()
    return sorted(found)


def check_searches(client: Client) -> None:
    everyone = {*HOSTS, "pool"}
    for asked in ASKED:
        members = {*MEMBERS, "pool"}
        assert client.listed(asked) == members
        assert client.listed(f"!{asked}") == everyone - members
        assert client.listed(f"!in:{asked},{OTHER_RACK}") == {"in none"}
        assert client.listed(asked, OTHER_RACK.upper()) == {"in both racks"}
        for parameters in (
            {"resources": "VCPU:1", "member_of": asked},
            {"resources_A": "VCPU:1", "member_of_A": f"in:{asked}"},
            {"resources": "VCPU:1", "root_member_of": asked},
        ):
            assert client.candidates(**parameters) == MEMBERS
            forbidding = {
                name: value if "resources" in name else f"!{value}"
                for name, value in parameters.items()
            }
            assert client.candidates(**forbidding) == HOSTS.keys() - MEMBERS
    # The pool shares through the aggregate, in whatever spelling a host is a member.
    assert client.candidates(resources="VCPU:1,DISK_GB:1") == {*MEMBERS, "pool"}


def check_consumers(client: Client, url: str) -> None:
    def held(consumer: str) -> int:
        found = client.done("GET", f"/allocations/{consumer}")["allocations"]
        return sum(each["resources"]["VCPU"] for each in found.values())

    assert client.consumers() == CONSUMERS
    for uuid, amount in CONSUMERS.items():
        assert held(uuid) == amount
    for uuid in (UPPER, CANONICAL, RESHAPED):
        assert held(uuid.lower()) == held(uuid.upper()) == CONSUMERS[uuid]
    # They exist, so a client that takes one for new is refused, and no second one is stored.
    for path in (UPPER.lower(), CANONICAL.upper(), RESHAPED.lower()):
        assert client.ask("PUT", f"/allocations/{path}", holding(9)).status == 409
        assert client.ask("POST", "/allocations", {path: holding(9)}).status == 409
        placed = {"project_id": "p", "user_id": "u", "consumer_type": "T"}
        body = {"query": "resources=VCPU:1", "consumers": {path: placed}}
        assert client.ask("POST", "/placements", body).status == 409
    assert rows(url, "consumers", "uuid") == sorted(CONSUMERS)
    # Replaced by each spelling.
    client.done("PUT", f"/allocations/{UPPER.lower()}", holding(11, 1))
    client.done("PUT", f"/allocations/{UPPER}", holding(12, 2))
    client.done("POST", "/allocations", {CANONICAL.upper(): holding(21, 1)})
    client.done("PUT", f"/allocations/{MIXED}", holding(31, 1))
    client.done("POST", "/allocations", {RESHAPED: holding(41, 1)})
    changed = {UPPER: 12, CANONICAL: 21, MIXED: 31, RESHAPED: 41}
    assert client.consumers() == changed
    assert rows(url, "consumers", "uuid") == sorted(changed)
    assert rows(url, "allocations", "consumer_id") == sorted(changed)
    # And deleted.
    client.done("DELETE", f"/allocations/{UPPER.lower()}")
    client.done("DELETE", f"/allocations/{MIXED}")
    client.done("POST", "/allocations", {RESHAPED.lower(): holding(0, 2)})
    assert client.consumers() == {CANONICAL: 21}
    assert rows(url, "consumers", "uuid") == [CANONICAL]
