"""Rules of the stateful test: what bulk reads say is what single reads say, and the model."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from roost.api.handlers import aggregates, inventories, provider_list, providers, traits, usages
from roost.api.handlers import summary as summary_handler
from roost.api.http.messages import Reply, Request
from roost.api.schemas import providers as provider_schemas
from roost.api.schemas import summary as summary_schemas
from roost.api.versions import VERSION_MAX
from roost.service.service import Roost
from roost.uuids import canonical_uuid
from tests.stateful.model_world import ModelProvider, ModelWorld

EVERYTHING = "inventories,usages,traits,aggregates"
SINGLE_READS = {
    "inventories": inventories.get_all,
    "usages": usages.get_of_provider,
    "traits": traits.get_of_provider,
    "aggregates": aggregates.get,
}


def answer(reply: Reply) -> dict[str, Any]:
    body = b"".join(reply.pieces) if reply.pieces is not None else reply.body
    shown: dict[str, Any] = json.loads(
        body if isinstance(body, bytes) else msgspec.json.encode(body)
    )
    return shown


def request(schema: Any = None, **query: str) -> Request:
    return Request(
        version=VERSION_MAX,
        query_string=urlencode(query),
        query_schema=schema or {},
        body_schema={},
    )


def page(roost: Roost, **query: str) -> dict[str, Any]:
    schema = provider_schemas.documented_listing(VERSION_MAX)
    return answer(provider_list.get_all(roost, request(schema, **query)))


def pages(roost: Roost, limit: int, **query: str) -> Iterator[dict[str, Any]]:
    found = page(roost, limit=str(limit), **query)
    while True:
        assert len(found["resource_providers"]) <= limit
        yield from found["resource_providers"]
        if "next" not in found:
            return
        assert len(found["resource_providers"]) == limit
        found = page(roost, limit=str(limit), after=found["next"], **query)


def single(roost: Roost, uuid: str) -> dict[str, Any]:
    """Everything that single reads say of a provider."""
    shown = answer(providers.get(roost, request(), uuid))
    del shown["links"]
    for part, handler in SINGLE_READS.items():
        shown[part] = answer(handler(roost, request(), uuid))[part]
    return shown


class BulkReads(RuleBasedStateMachine):
    """To be mixed into a machine with `services` and a `model`."""

    services: list[Roost]
    model: ModelWorld

    def __init__(self) -> None:
        super().__init__()
        self.next: str | None = None  # of a list that is being read, a page at a time
        self.seen: list[str] = []  # the UUIDs of its pages
        self.present: dict[str, ModelProvider] = {}  # what was there when it began

    @rule(service=st.integers(0, 1), limit=st.integers(1, 7))
    def read_all_in_pages(self, service: int, limit: int) -> None:
        listed = list(pages(self.services[service], limit, include=EVERYTHING))
        # The dictionary of the model has them in the order of their creation.
        assert [each["uuid"] for each in listed] == list(self.model.providers)
        for each in listed:
            # As texts, since the order of names and of lists counts too.
            expected = single(self.services[1 - service], each["uuid"])
            assert json.dumps(each) == json.dumps(expected)

    @precondition(lambda self: self.model.providers)
    @rule(service=st.integers(0, 1), limit=st.integers(1, 7), data=st.data())
    def read_a_tree(self, service: int, limit: int, data: Any) -> None:
        member = data.draw(st.sampled_from(sorted(self.model.providers)))
        listed = pages(self.services[service], limit, tree=member, include="traits")
        root = self.model.root(member)
        assert [each["uuid"] for each in listed] == [
            uuid for uuid in self.model.providers if self.model.root(uuid) == root
        ]

    @rule(service=st.integers(0, 1), limit=st.integers(1, 3))
    def read_a_page(self, service: int, limit: int) -> None:
        """One page; there may be any writes before the next one, through either service."""
        query = {"limit": str(limit), "include": "usages"}
        if self.next is None:
            self.seen, self.present = [], dict(self.model.providers)
        else:
            query["after"] = self.next
        found = page(self.services[service], **query)
        for each in found["resource_providers"]:
            assert self.model.providers[each["uuid"]].name == each["name"]
            self.seen.append(each["uuid"])
        self.next = found.get("next")
        if self.next is None:
            # Who was there all the time was seen exactly once. Whoever was deleted and created
            # again is another provider, even with the same UUID.
            for uuid, provider in self.present.items():
                if self.model.providers.get(uuid) is provider:
                    assert self.seen.count(uuid) == 1

    @rule(service=st.integers(0, 1))
    def read_the_summary(self, service: int) -> None:
        query = request(summary_schemas.QUERY, by="aggregates,traits")
        found = answer(summary_handler.get(self.services[service], query))
        everything = list(self.model.providers)
        assert found == {
            **self.sums(everything),
            "aggregates": self.groups(lambda uuid: self.aggregates_of(uuid)),
            "traits": self.groups(lambda uuid: self.model.providers[self.model.root(uuid)].traits),
        }

    def aggregates_of(self, uuid: str) -> set[str]:
        own = self.model.providers[uuid].aggregates
        above = self.model.providers[self.model.root(uuid)].aggregates
        return set(map(canonical_uuid, own | above))

    def groups(self, names_of: Any) -> dict[str, Any]:
        names = {name for uuid in self.model.providers for name in names_of(uuid)}
        return {
            name: self.sums([uuid for uuid in self.model.providers if name in names_of(uuid)])
            for name in names
        }

    def sums(self, uuids: list[str]) -> dict[str, Any]:
        resources: dict[str, dict[str, int]] = {}
        for uuid in uuids:
            for name, inventory in self.model.providers[uuid].inventories.items():
                used = self.model.used(uuid, name)
                sums = resources.setdefault(name, {})
                for field, amount in (
                    ("total", inventory.total),
                    ("reserved", inventory.reserved),
                    ("capacity", inventory.capacity),
                    ("used", used),
                    ("free", max(0, inventory.capacity - used)),
                    ("providers", 1),
                ):
                    sums[field] = sums.get(field, 0) + amount
        return {
            "providers": len(uuids),
            "trees": len({self.model.root(uuid) for uuid in uuids}),
            "resources": resources,
        }
