"""Every place of the API where a UUID may stand, and which spellings are accepted there.

The answers of a place are a letter for each of SPELLINGS:

    F  the UUID is found, or stored
    .  the text is accepted, but means something else: nothing is found
    4  refused with 400
    N  refused with 404
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.comparison.comparison import ask
from tests.comparison.requests import Request
from tests.comparison.sides import Answer, Side

Spell = Callable[[str], str]


def _bare(uuid: str) -> str:
    return uuid.replace("-", "")


# In the order of the letters.
SPELLINGS: Mapping[str, Spell] = {
    "canonical": lambda uuid: uuid,
    "upper case": str.upper,
    "mixed case": lambda uuid: uuid[:18].upper() + uuid[18:],
    "without dashes": _bare,
    "dashes elsewhere": lambda uuid: f"{_bare(uuid)}----",
    "braces": lambda uuid: f"{{{uuid}}}",
    "braces without dashes": lambda uuid: f"{{{_bare(uuid)}}}",
    "URN": lambda uuid: f"urn:uuid:{uuid}",
    "too short": lambda uuid: uuid[:-1],
    "not hexadecimal": lambda uuid: f"g{uuid[1:]}",
    "36 digits and dashes": lambda uuid: f"{uuid[:-1]}-",
}
# MariaDB compares without regard to case, so this one differs there. It is the last letter.
ON_MARIADB = "upper case"


class Cloud:
    """One side, with a provider that has an aggregate, and a consumer that holds some of it."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self._numbers = itertools.count(1)
        self.provider = self.new_provider()
        self.aggregate = self.new_uuid()
        self.consumer = self.new_uuid()
        body = {"resource_provider_generation": 1, "aggregates": [self.aggregate]}
        path = f"/resource_providers/{self.provider}/aggregates"
        assert self.ask("PUT", path, body).status == 200
        self.claim(self.consumer)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        version: str = "1.39",
        **query: str,
    ) -> Answer:
        return ask(self._side, Request(method, path, version, tuple(query.items()), body))

    def new_uuid(self) -> str:
        return f"{next(self._numbers):08x}-abcd-4abc-8def-abcdefabcdef"

    def new_provider(self) -> str:
        uuid = self.new_uuid()
        assert self.ask("POST", "/resource_providers", {"name": uuid, "uuid": uuid}).status == 200
        body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1000}}}
        assert self.ask("PUT", f"/resource_providers/{uuid}/inventories", body).status == 200
        return uuid

    def claim(self, consumer: str) -> None:
        body = allocation(self.provider)
        assert self.ask("PUT", f"/allocations/{consumer}", body).status == 204

    def consumers(self) -> Mapping[str, Any]:
        path = f"/resource_providers/{self.provider}/allocations"
        found: Mapping[str, Any] = self.ask("GET", path).body["allocations"]
        return found


def allocation(provider: str, **more: Any) -> dict[str, Any]:
    return {
        "allocations": {provider: {"resources": {"VCPU": 1}}},
        "project_id": "project",
        "user_id": "user",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
        **more,
    }


def letter(answer: Answer, *, found: bool = True) -> str:
    """The letter for an answer; `found` is whether an accepted text meant the UUID."""
    if answer.status < 300:
        return "F" if found else "."
    return {400: "4", 404: "N"}.get(answer.status, f"<{answer.status}>")


Act = Callable[[Cloud, Spell], str]


@dataclasses.dataclass(frozen=True)
class Place:
    """A place for a UUID; a letter for each spelling, the last one for ON_MARIADB."""

    title: str
    act: Act
    reference: str  # empty where the request is one of roost's own
    roost: str


# ---------------------------------------------------------------------------------------------
# Paths


def path(method: str, below: str, body: Any = None) -> Act:
    """A request about the provider that does not change it: many conflict, if it is found."""

    def act(cloud: Cloud, spell: Spell) -> str:
        answer = cloud.ask(method, f"/resource_providers/{spell(cloud.provider)}{below}", body)
        return "F" if answer.status == 409 else letter(answer)

    return act


_STALE = {"resource_provider_generation": 999}
_INVENTORY = {**_STALE, "total": 4}

PATHS = (
    ("GET", "", None),
    ("PUT", "", {"name": "the same"}),
    ("DELETE", "", None),
    ("GET", "/inventories", None),
    ("PUT", "/inventories", {**_STALE, "inventories": {}}),
    ("POST", "/inventories", {**_INVENTORY, "resource_class": "VCPU"}),
    ("DELETE", "/inventories", None),
    ("GET", "/inventories/VCPU", None),
    ("PUT", "/inventories/VCPU", _INVENTORY),
    ("DELETE", "/inventories/VCPU", None),
    ("GET", "/usages", None),
    ("GET", "/aggregates", None),
    ("PUT", "/aggregates", {**_STALE, "aggregates": []}),
    ("GET", "/traits", None),
    ("PUT", "/traits", {**_STALE, "traits": []}),
    ("GET", "/allocations", None),
)


def put_consumer(cloud: Cloud, spell: Spell) -> str:
    uuid = cloud.new_uuid()
    answer = cloud.ask("PUT", f"/allocations/{spell(uuid)}", allocation(cloud.provider))
    return letter(answer, found=uuid in cloud.consumers())


def get_consumer(cloud: Cloud, spell: Spell) -> str:
    answer = cloud.ask("GET", f"/allocations/{spell(cloud.consumer)}")
    return letter(answer, found=bool(answer.body["allocations"]))


def delete_consumer(cloud: Cloud, spell: Spell) -> str:
    uuid = cloud.new_uuid()
    cloud.claim(uuid)
    return letter(cloud.ask("DELETE", f"/allocations/{spell(uuid)}"))


# ---------------------------------------------------------------------------------------------
# Query strings


def listing(parameter: str, prefix: str = "", version: str = "1.39") -> Act:
    def act(cloud: Cloud, spell: Spell) -> str:
        uuid = cloud.aggregate if parameter == "member_of" else cloud.provider
        query = {parameter: prefix + spell(uuid)}
        answer = cloud.ask("GET", "/resource_providers", version=version, **query)
        uuids = (each["uuid"] for each in answer.body.get("resource_providers", ()))
        return letter(answer, found=(cloud.provider in uuids) != prefix.startswith("!"))

    return act


def search(parameter: str, prefix: str = "", suffix: str = "", version: str = "1.39") -> Act:
    def act(cloud: Cloud, spell: Spell) -> str:
        uuid = cloud.aggregate if "member_of" in parameter else cloud.provider
        query = {f"resources{suffix}": "VCPU:1", f"{parameter}{suffix}": prefix + spell(uuid)}
        answer = cloud.ask("GET", "/allocation_candidates", version=version, **query)
        found = cloud.provider in answer.body.get("provider_summaries", ())
        return letter(answer, found=found != prefix.startswith("!"))

    return act


def explained_aggregate(prefix: str) -> Act:
    def act(cloud: Cloud, spell: Spell) -> str:
        rules = {"member_of": prefix + spell(cloud.aggregate), "in_tree": cloud.provider}
        path = "/allocation_candidates/explain"
        answer = cloud.ask("GET", path, resources="VCPU:1", **rules)
        fits = answer.body.get("verdict") == "fits"
        return letter(answer, found=fits != prefix.startswith("!"))

    return act


def explained_tree(cloud: Cloud, spell: Spell) -> str:
    query = {"resources": "VCPU:1", "tree": spell(cloud.provider)}
    return letter(cloud.ask("GET", "/allocation_candidates/explain", **query))


def listed_tree(cloud: Cloud, spell: Spell) -> str:
    return letter(cloud.ask("GET", "/resource_providers", tree=spell(cloud.provider)))


def tree_of_events(cloud: Cloud, spell: Spell) -> str:
    return letter(cloud.ask("GET", "/events", tree=spell(cloud.provider)))


def usages(field: str) -> Act:
    """Projects and users are known by any text, which is often a UUID."""

    def act(cloud: Cloud, spell: Spell) -> str:
        owner = {"project_id": cloud.new_uuid(), "user_id": cloud.new_uuid()}
        body = allocation(cloud.provider, **owner)
        assert cloud.ask("PUT", f"/allocations/{cloud.new_uuid()}", body).status == 204
        answer = cloud.ask(
            "GET", "/usages", version="1.37", **{**owner, field: spell(owner[field])}
        )
        return letter(answer, found=bool(answer.body.get("usages")))

    return act


# ---------------------------------------------------------------------------------------------
# Bodies


def create_provider(cloud: Cloud, spell: Spell) -> str:
    uuid = cloud.new_uuid()
    answer = cloud.ask("POST", "/resource_providers", {"name": uuid, "uuid": spell(uuid)})
    return letter(answer, found=answer.body.get("uuid") == uuid)


def create_child(cloud: Cloud, spell: Spell) -> str:
    uuid = cloud.new_uuid()
    body = {"name": uuid, "uuid": uuid, "parent_provider_uuid": spell(cloud.provider)}
    answer = cloud.ask("POST", "/resource_providers", body)
    return letter(answer, found=answer.body.get("root_provider_uuid") == cloud.provider)


def move_provider(cloud: Cloud, spell: Spell) -> str:
    uuid = cloud.new_uuid()
    assert cloud.ask("POST", "/resource_providers", {"name": uuid, "uuid": uuid}).status == 200
    body = {"name": uuid, "parent_provider_uuid": spell(cloud.provider)}
    answer = cloud.ask("PUT", f"/resource_providers/{uuid}", body)
    return letter(answer, found=answer.body.get("root_provider_uuid") == cloud.provider)


def put_aggregate(version: str) -> Act:
    """It is stored, shown and found as it was sent."""

    def act(cloud: Cloud, spell: Spell) -> str:
        provider, sent = cloud.new_provider(), spell(cloud.new_uuid())
        body = [sent] if version == "1.1" else {"aggregates": [sent], **_GENERATION}
        path = f"/resource_providers/{provider}/aggregates"
        answer = cloud.ask("PUT", path, body, version)
        if answer.status != 200:
            return letter(answer)
        shown = cloud.ask("GET", path).body["aggregates"]
        members = cloud.ask("GET", "/resource_providers", member_of=sent).body
        uuids = [each["uuid"] for each in members["resource_providers"]]
        found = (answer.body["aggregates"], shown, uuids) == ([sent], [sent], [provider])
        return letter(answer, found=found)

    return act


_GENERATION = {"resource_provider_generation": 1}


def provider_key(method: str, version: str) -> Act:
    def act(cloud: Cloud, spell: Spell) -> str:
        consumer = cloud.new_uuid()
        body = allocation(spell(cloud.provider))
        if version in ("1.0", "1.12"):
            body = {name: body[name] for name in ("allocations", "project_id", "user_id")}
        if version == "1.0":
            uuid = {"uuid": spell(cloud.provider)}
            body = {"allocations": [{"resource_provider": uuid, "resources": {"VCPU": 1}}]}
        if method == "PUT":
            answer = cloud.ask("PUT", f"/allocations/{consumer}", body, version)
        else:
            answer = cloud.ask("POST", "/allocations", {consumer: body}, version)
        return letter(answer, found=consumer in cloud.consumers())

    return act


def consumer_key(cloud: Cloud, spell: Spell) -> str:
    return _as_sent(cloud, spell, lambda body: cloud.ask("POST", "/allocations", body))


def consumer_key_of_reshape(cloud: Cloud, spell: Spell) -> str:
    return _as_sent(cloud, spell, lambda body: _reshape(cloud, cloud.provider, body))


def placed_consumer(cloud: Cloud, spell: Spell) -> str:
    owner = {"project_id": "project", "user_id": "user", "consumer_type": "INSTANCE"}
    query = f"resources=VCPU:1&in_tree={cloud.provider}"

    def place(body: Mapping[str, Any]) -> Answer:
        placement = {"query": query, "consumers": dict.fromkeys(body, owner)}
        return cloud.ask("POST", "/placements", placement)

    return _as_sent(cloud, spell, place)


def _as_sent(cloud: Cloud, spell: Spell, write: Callable[[Mapping[str, Any]], Answer]) -> str:
    """Whether the key is shown as it was sent, and can be read and deleted by it."""
    sent = spell(cloud.new_uuid())
    answer = write({sent: allocation(cloud.provider)})
    if answer.status >= 300:
        return letter(answer)
    found = sent in cloud.consumers() and cloud.ask("GET", f"/allocations/{sent}").body
    deleted = cloud.ask("DELETE", f"/allocations/{sent}").status == 204
    return letter(answer, found=bool(found) and deleted)


def provider_key_of_reshape(cloud: Cloud, spell: Spell) -> str:
    return letter(_reshape(cloud, spell(cloud.provider), {}))


def provider_key_in_reshaped_allocations(cloud: Cloud, spell: Spell) -> str:
    body = {cloud.new_uuid(): allocation(spell(cloud.provider))}
    return letter(_reshape(cloud, cloud.provider, body))


def _reshape(cloud: Cloud, provider: str, allocations: Mapping[str, Any]) -> Answer:
    generation = cloud.ask("GET", f"/resource_providers/{cloud.provider}").body["generation"]
    inventories = {"VCPU": {"total": 1000}}
    entry = {"resource_provider_generation": generation, "inventories": inventories}
    return cloud.ask(
        "POST", "/reshaper", {"inventories": {provider: entry}, "allocations": allocations}
    )


def mapping(method: str) -> Act:
    def act(cloud: Cloud, spell: Spell) -> str:
        body = allocation(cloud.provider, mappings={"_A": [spell(cloud.provider)]})
        consumer = cloud.new_uuid()
        if method == "PUT":
            return letter(cloud.ask("PUT", f"/allocations/{consumer}", body))
        return letter(cloud.ask("POST", "/allocations", {consumer: body}))

    return act


# ---------------------------------------------------------------------------------------------
# The table


def _places() -> Iterator[Place]:
    for method, below, body in PATHS:
        title = f"{method} /resource_providers/UUID{below}"
        yield Place(title, path(method, below, body), "FNNNNNNNNNN F", "FNNNNNNNNNN F")
    for parameter in ("uuid", "in_tree"):
        title = f"GET /resource_providers?{parameter}=UUID"
        yield Place(title, listing(parameter), "F..44444444 F", "FFF44444444 F")
    for prefix in ("", "in:", "!", "!in:"):
        title = f"member_of={prefix}UUID"
        both = "F.......444 .", "FFFFFFFF444 F"
        yield Place(f"GET /resource_providers?{title}", listing("member_of", prefix), *both)
        for suffix in ("", "_A"):
            where = f"GET /allocation_candidates?{title.replace('=', f'{suffix}=')}"
            yield Place(where, search("member_of", prefix, suffix), *both)
    for version, act in (
        ("1.3", listing("member_of", version="1.3")),
        ("1.21", search("member_of", version="1.21")),
    ):
        yield Place(f"member_of=UUID at {version}", act, "F.......444 .", "FFFFFFFF444 F")
    for suffix in ("", "_A"):
        title = f"GET /allocation_candidates?in_tree{suffix}=UUID"
        yield Place(title, search("in_tree", "", suffix), "F.......444 F", "FFFFFFFF444 F")
    yield Place("POST /resource_providers: uuid", create_provider, "FFFFFFFF444 F", "FFFFFFFF444 F")
    for title, act in (("POST", create_child), ("PUT", move_provider)):
        title = f"{title} /resource_providers: parent_provider_uuid"
        yield Place(title, act, "F4444444444 F", "F4444444444 F")
    for version in ("1.1", "1.39"):
        # The column has room for 36 characters. With more, the reference answers 500 on PostgreSQL
        # and stores the beginning on MariaDB.
        title = f"PUT /resource_providers/.../aggregates at {version}"
        yield Place(title, put_aggregate(version), "FFFFFFFF444 F", "FFFFF4F4444 F")
    yield Place("PUT /allocations/UUID", put_consumer, "FFFFFFFF444 F", "FFFFFFFF444 F")
    yield Place("GET /allocations/UUID", get_consumer, "F.......... F", "FFF.F...... F")
    yield Place("DELETE /allocations/UUID", delete_consumer, "FNNNNNNNNNN F", "FFFNFNNNNNN F")
    for method, version in (("PUT", "1.0"), ("PUT", "1.12"), ("PUT", "1.39"), ("POST", "1.39")):
        title = f"{method} /allocations: providers at {version}"
        yield Place(title, provider_key(method, version), "F4444444444 F", "F4444444444 F")
    yield Place("POST /allocations: consumers", consumer_key, "FFF4F44444F F", "FFF4F44444F F")
    for method in ("PUT", "POST"):
        title = f"{method} /allocations: mappings"
        yield Place(title, mapping(method), "FFFFFFFF444 F", "FFFFFFFF444 F")
    for title, act in (
        ("inventories", provider_key_of_reshape),
        ("providers of allocations", provider_key_in_reshaped_allocations),
    ):
        yield Place(f"POST /reshaper: {title}", act, "F4444444444 F", "F4444444444 F")
    title = "POST /reshaper: consumers"
    yield Place(title, consumer_key_of_reshape, "FFF4F44444F F", "FFF4F44444F F")
    for field in ("project_id", "user_id"):
        title = f"GET /usages?{field}=UUID"
        yield Place(title, usages(field), "F.......... F", "F.......... F")
    # Requests of roost's own.
    for prefix in ("", "!"):
        title = f"GET /allocation_candidates?root_member_of={prefix}UUID"
        yield Place(title, search("root_member_of", prefix), "", "FFFFFFFF444 F")
        title = f"GET /allocation_candidates/explain?member_of={prefix}UUID"
        yield Place(title, explained_aggregate(prefix), "", "FFFFFFFF444 F")
    title = "GET /allocation_candidates?in_subtree=UUID"
    yield Place(title, search("in_subtree"), "", "FFFFFFFF444 F")
    title = "GET /allocation_candidates/explain?tree=UUID"
    yield Place(title, explained_tree, "", "FFFFFFFF444 F")
    yield Place("GET /resource_providers?tree=UUID", listed_tree, "", "FFFFFFFF444 F")
    yield Place("GET /events?tree=UUID", tree_of_events, "", "FFFFFFFF444 F")
    yield Place("POST /placements: consumers", placed_consumer, "", "FFF4F444444 F")


PLACES = tuple(_places())
