"""Whatever trees a driver shows one after the other, nothing is in excess, lost or doubled.

A host changes its shape at random, at start and in between, while consumers claim and release what
it has. The model knows what each consumer was granted. After each update every provider has at most
in use what it offers, and each consumer has what it was granted, by whatever name. An update that
is refused has changed nothing.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from roost.agent.desired_tree import DesiredProvider, Ownership, apply
from roost.agent.driver import Allocations, Driver, Whereabouts
from roost.agent.provider_tree import ProviderTree
from roost.agent.reshape import ReshapeImpossible
from roost.agent.tracker import ReshapeForbidden, Tracker
from roost.client import Client, Conflict, Consumer, Inventory
from roost.client.direct import direct
from tests.agent.hosts import delete_everything, uid
from tests.support.long_form import choose

# Each pair is one resource with two names.
NAMES = {"VCPU": "PCPU", "CUSTOM_GPUZ": "PGPU"}
CLASSES = ["VGPU", "MEMORY_MB", *NAMES, *NAMES.values()]
CHILDREN = ["a", "b", "c", "d"]
CONSUMERS = [uid(f"consumer {number}") for number in range(5)]
ROOT = uid("host")

EVERYTHING = Ownership(
    resource_class=lambda name: True, trait=lambda name: True, removes_unknown=True
)


class Description(Driver):
    """What the next update finds: a tree, classes with new names, and where consumers are."""

    def __init__(self) -> None:
        super().__init__({})
        self.root = DesiredProvider(name="host")
        self.renamed: dict[str, str] = {}
        self.known: dict[str, Whereabouts] = {}

    def nodenames(self) -> list[str]:
        return ["host"]

    def where(self, nodename: str, consumer: str) -> Whereabouts:
        return self.known.get(consumer, {})

    def update_provider_tree(
        self, provider_tree: ProviderTree, nodename: str, allocations: Allocations | None = None
    ) -> None:
        apply(provider_tree, self.root, EVERYTHING, renamed_classes=self.renamed)


RATIOS = st.sampled_from([1.0, 1.0, 2.0])
STARTUPS = st.sampled_from([True, True, False])

inventories = st.builds(
    Inventory,
    total=st.integers(1, 8),
    reserved=st.sampled_from([0, 0, 0, 1]),
    max_unit=st.sampled_from([2, 8, 8, 8]),
    step_size=st.sampled_from([1, 1, 1, 2]),
    allocation_ratio=RATIOS,
)
inventory_sets = st.dictionaries(st.sampled_from(CLASSES), inventories, max_size=3)


@st.composite
def trees(draw: st.DrawFn) -> DesiredProvider:
    """A root and up to four others, on up to three levels, with any of the names and UUIDs."""
    names = draw(st.lists(st.sampled_from(CHILDREN), unique=True))
    uuids: list[str] = draw(st.permutations([uid(name) for name in CHILDREN]))
    found = [
        DesiredProvider(name=name, uuid=uuid, inventories=draw(inventory_sets))
        for name, uuid in zip(names, uuids, strict=False)
    ]
    below = draw(st.integers(0, 2))
    if below and len(found) > below:
        grandchildren, found = tuple(found[:below]), found[below:]
        first = found[0]
        found[0] = DesiredProvider(
            name=first.name,
            uuid=first.uuid,
            inventories=first.inventories,
            children=grandchildren,
        )
    return DesiredProvider(name="host", inventories=draw(inventory_sets), children=tuple(found))


def walk(provider: DesiredProvider) -> Iterator[DesiredProvider]:
    yield provider
    for each in provider.children:
        yield from walk(each)


def family(resource_class: str) -> str:
    return NAMES.get(resource_class, resource_class)


class Host(RuleBasedStateMachine):
    """One host, and the consumers of it."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self.client = client
        self.driver = Description()
        self.granted: dict[str, Counter[str]] = {}
        delete_everything(client)

    # -- what the service has

    def state(self) -> dict[str, Any]:
        """Everything but generations."""
        return {
            each.name: (
                each.uuid,
                each.parent_uuid,
                self.client.inventories(each.uuid).inventories,
                self.client.provider_consumers(each.uuid),
            )
            for each in self.client.providers()
        }

    # -- rules

    @initialize(amounts=st.lists(st.integers(1, 3), min_size=5, max_size=5), data=st.data())
    def start(self, amounts: list[int], data: st.DataObject) -> None:
        """A flat host on which everybody holds something."""
        self.driver.root = DesiredProvider(
            name="host", inventories={name: Inventory(total=8) for name in CLASSES}
        )
        self.update(startup=True)
        classes = st.lists(st.sampled_from(CLASSES), min_size=1, max_size=3, unique=True)
        for consumer, amount in zip(CONSUMERS, amounts, strict=True):
            self.replace(consumer, {ROOT: dict.fromkeys(data.draw(classes), amount)})

    @rule(tree=trees(), startup=STARTUPS, renamed=st.sampled_from([{}, {}, NAMES]))
    def change_shape(self, tree: DesiredProvider, startup: bool, renamed: dict[str, str]) -> None:
        self.driver.root, self.driver.renamed, self.driver.known = tree, renamed, {}
        self.update(startup=startup)

    @rule(
        data=st.data(),
        startup=STARTUPS,
        renamed=st.sampled_from([{}, NAMES]),
        is_known=st.booleans(),
    )
    def spread(
        self, data: st.DataObject, startup: bool, renamed: dict[str, str], is_known: bool
    ) -> None:
        """As much of everything as before, or more, on other providers."""
        totals: Counter[str] = Counter()
        for provider in walk(self.driver.root):
            for name, inventory in (provider.inventories or {}).items():
                totals[renamed.get(name, name)] += inventory.total
        tree = data.draw(trees())
        providers = list(walk(tree))
        places: dict[str, dict[str, Inventory]] = {each.name: {} for each in providers}
        for name, total in totals.items():
            chosen = data.draw(
                st.lists(st.sampled_from(sorted(places)), min_size=1, max_size=3, unique=True)
            )
            for place in chosen:
                places[place][name] = Inventory(
                    total=-(-total // len(chosen)), allocation_ratio=data.draw(RATIOS)
                )
        self.driver.root, self.driver.renamed = with_inventories(tree, places), dict(renamed)
        self.driver.known = {
            consumer: {
                name: data.draw(st.sampled_from(offering))
                for name in CLASSES
                if (offering := [place for place in places if name in places[place]])
            }
            for consumer in (CONSUMERS[:2] if is_known else [])
        }
        self.update(startup=startup)

    @rule(consumer=st.sampled_from(CONSUMERS), data=st.data(), amount=st.integers(1, 5))
    def claim(self, consumer: str, data: st.DataObject, amount: int) -> None:
        offers = [
            (each.uuid, name)
            for each in self.client.providers()
            for name in self.client.inventories(each.uuid).inventories
        ]
        if not offers:
            return
        chosen = data.draw(st.lists(st.sampled_from(sorted(offers)), min_size=1, max_size=3))
        wanted: dict[str, dict[str, int]] = {}
        for uuid, name in chosen:
            wanted.setdefault(uuid, {})[name] = amount
        self.replace(consumer, wanted)

    @rule(consumer=st.sampled_from(CONSUMERS))
    def release(self, consumer: str) -> None:
        if self.granted.pop(consumer, None):
            self.client.delete_consumer(consumer)

    def replace(self, consumer: str, wanted: dict[str, dict[str, int]]) -> None:
        """Let a consumer hold this instead of what it holds, if the service agrees."""
        body = Consumer(
            uuid=consumer,
            allocations=wanted,
            project_id="project",
            user_id="user",
            consumer_type="INSTANCE",
            generation=self.client.consumer(consumer).generation,
        )
        with contextlib.suppress(Conflict):
            self.client.set_consumer(body)
            self.granted[consumer] = Counter()
            for resources in wanted.values():
                for name, amount in resources.items():
                    self.granted[consumer][family(name)] += amount

    # -- what must hold

    def update(self, *, startup: bool) -> None:
        before, wanted = self.state(), self.driver.root
        held_before = self.held()
        refusal = self.refusal(startup=startup)
        if refusal is not None:
            note(f"refused: {refusal}")
            assert "\n" not in refusal
            assert self.state() == before
            self.driver.root = self.described()
            return
        if not startup:
            assert self.held() == held_before
        found = self.state()
        assert found.keys() == {each.name for each in walk(wanted)}
        for each in walk(wanted):
            assert found[each.name][2] == (each.inventories or {})
        self.check()
        # A second one finds nothing to do.
        assert Tracker(self.client, self.driver, "host", uuid=ROOT).update(startup=False) is None

    def refusal(self, *, startup: bool) -> str | None:
        try:
            Tracker(self.client, self.driver, "host", uuid=ROOT).update(startup=startup)
        except (ReshapeForbidden, ReshapeImpossible) as error:
            return str(error)
        return None

    def held(self) -> dict[str, Any]:
        return {consumer: self.client.consumer(consumer).allocations for consumer in CONSUMERS}

    def described(self) -> DesiredProvider:
        """The tree as the service has it, flat: what matters is what there is in all."""
        children = []
        for name, (uuid, _, found, _) in self.state().items():
            children.append(DesiredProvider(name=name, uuid=uuid, inventories=dict(found)))
        return DesiredProvider(name="described", children=tuple(children))

    def check(self) -> None:
        used: Counter[tuple[str, str]] = Counter()
        for consumer, allocations in self.held().items():
            found: Counter[str] = Counter()
            for uuid, resources in allocations.items():
                for name, amount in resources.items():
                    found[family(name)] += amount
                    used[uuid, name] += amount
            assert found == self.granted.get(consumer, Counter())
        for each in self.client.providers():
            offered = self.client.inventories(each.uuid).inventories
            for name, inventory in offered.items():
                assert used.pop((each.uuid, name), 0) <= inventory.capacity, (each.name, name)
        assert not used


def with_inventories(
    provider: DesiredProvider, places: dict[str, dict[str, Inventory]]
) -> DesiredProvider:
    return DesiredProvider(
        name=provider.name,
        uuid=provider.uuid,
        inventories=places[provider.name],
        children=tuple(with_inventories(each, places) for each in provider.children),
    )


@pytest.fixture(scope="module")
def direct_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    path: Path = tmp_path_factory.mktemp("model") / "roost.db"
    with direct(f"sqlite:///{path}", sync=True) as client:
        yield client


def test_nothing_is_in_excess_lost_or_doubled(direct_client: Client) -> None:
    factor = int(os.environ.get("ROOST_EXAMPLES", "0")) // 100 or 1
    run_state_machine_as_test(
        lambda: Host(direct_client),
        settings=settings(
            max_examples=choose(short=8, long=20) * factor,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
