"""Rules of the stateful test: lists of consumers say what single reads say, and the model."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from roost.api.handlers import allocation_list, allocations
from roost.api.schemas.allocations import LIST
from roost.service.service import Roost
from tests.stateful.bulk_reads import answer, request
from tests.stateful.model_world import CLASSES, ModelConsumer, ModelWorld


def page(roost: Roost, **query: str) -> dict[str, Any]:
    return answer(allocation_list.get(roost, request(LIST, **query)))


def pages(roost: Roost, limit: int, **query: str) -> list[dict[str, Any]]:
    found = page(roost, limit=str(limit), **query)
    shown = list(found["consumers"])
    while "next" in found:
        assert len(found["consumers"]) == limit
        found = page(roost, limit=str(limit), after=found["next"], **query)
        shown += found["consumers"]
    return shown


class ConsumerReads(RuleBasedStateMachine):
    """To be mixed into a machine with `services` and a `model`."""

    services: list[Roost]
    model: ModelWorld

    def __init__(self) -> None:
        super().__init__()
        self.consumers_next: str | None = None  # of a list that is being read, a page at a time
        self.consumers_seen: list[str] = []  # the UUIDs of its pages
        self.consumers_present: dict[str, int] = {}  # who was there when it began, by number

    @rule(service=st.integers(0, 1), limit=st.integers(1, 4))
    def list_all_consumers(self, service: int, limit: int) -> None:
        listed = pages(self.services[service], limit)
        assert [each["uuid"] for each in listed] == self.modelled(lambda _: True)
        for each in listed:
            single = allocations.get(self.services[1 - service], request(), each["uuid"])
            times = {name: each[name] for name in ("created_at", "updated_at")}
            assert each == {"uuid": each["uuid"], **answer(single), **times}

    @precondition(lambda self: self.model.providers)
    @rule(service=st.integers(0, 1), limit=st.integers(1, 4), data=st.data())
    def list_some_consumers(self, service: int, limit: int, data: Any) -> None:
        """By a provider or by a tree, by a class, by both, or by a project."""
        query: dict[str, str] = {}
        member = data.draw(st.sampled_from(sorted(self.model.providers)))
        place = data.draw(st.sampled_from([None, "resource_provider", "tree"]))
        members = [member]
        if place is not None:
            query[place] = member
        if place == "resource_provider" and data.draw(st.booleans()):
            members = data.draw(st.lists(st.sampled_from(sorted(self.model.providers)), min_size=1))
            query[place] = f"in:{','.join(members)}"
        name = data.draw(st.sampled_from([None, *CLASSES]))
        if name is not None:
            query["resource_class"] = name
        project = data.draw(st.sampled_from([None, *self.projects()]))
        if project is not None:
            query["project_id"] = project
        root = self.model.root(member)

        def holds(consumer: ModelConsumer) -> bool:
            return project in (None, consumer.project) and any(
                (place != "resource_provider" or provider in members)
                and (place != "tree" or self.model.root(provider) == root)
                and name in (None, resource_class)
                for provider, resources in consumer.allocations.items()
                for resource_class in resources
            )

        listed = pages(self.services[service], limit, **query)
        assert [each["uuid"] for each in listed] == self.modelled(holds)
        for each in listed:
            # With all that it holds, whatever filter has found it.
            held = {uuid: one["resources"] for uuid, one in each["allocations"].items()}
            assert held == self.model.consumers[each["uuid"]].allocations

    @rule(service=st.integers(0, 1), limit=st.integers(1, 2))
    def list_a_page_of_consumers(self, service: int, limit: int) -> None:
        """One page; there may be any writes before the next one, through either service."""
        query = {"limit": str(limit)}
        if self.consumers_next is None:
            self.consumers_seen, self.consumers_present = [], self.numbers()
        else:
            query["after"] = self.consumers_next
        found = page(self.services[service], **query)
        self.consumers_seen += [each["uuid"] for each in found["consumers"]]
        self.consumers_next = found.get("next")
        if self.consumers_next is None:
            # Who was there all the time was seen exactly once, however often it has changed.
            for uuid, number in self.numbers().items():
                if self.consumers_present.get(uuid) == number:
                    assert self.consumers_seen.count(uuid) == 1

    def modelled(self, holds: Callable[[ModelConsumer], bool]) -> list[str]:
        """The consumers of which that is true, in the order of their creation."""
        found = [uuid for uuid, consumer in self.model.consumers.items() if holds(consumer)]
        return sorted(found, key=lambda uuid: self.model.consumers[uuid].number)

    def numbers(self) -> dict[str, int]:
        return {uuid: consumer.number for uuid, consumer in self.model.consumers.items()}

    def projects(self) -> list[str]:
        return sorted({consumer.project for consumer in self.model.consumers.values()})
