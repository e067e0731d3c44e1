"""Two services on one database behave like one dictionary, whatever is written through either.

After every step what was just written through one service is read through the other; at the end
everything is read through both, and both indexes are compared with a fresh one. In between, bulk
reads are compared with single ones (`bulk_reads.py`).
"""

import contextlib
import copy
import os
import shutil
import uuid
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from roost.errors import RoostError
from roost.model import ConsumerChange, Inventory, InventoryChange
from roost.operations.aggregates import read_aggregates, replace_aggregates
from roost.operations.allocations import delete_allocations, read_consumer, replace_allocations
from roost.operations.inventories import read_inventories, replace_inventories
from roost.operations.providers import (
    create_provider,
    delete_provider,
    list_providers,
    read_provider,
    update_provider,
)
from roost.operations.reshaper import reshape
from roost.operations.resource_classes import ensure_resource_class
from roost.operations.traits import ensure_trait, read_traits, replace_traits
from roost.operations.usages import read_usages
from roost.query import ProviderQuery
from roost.search.index.index import Index
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.store import Store
from tests.stateful.bulk_reads import BulkReads
from tests.stateful.consumer_reads import ConsumerReads
from tests.stateful.model_world import CLASSES, TRAITS, ModelWorld, Refused
from tests.support import tables
from tests.support.long_form import choose
from tests.support.synchronised_databases import synchronise

PROVIDERS = [str(uuid.UUID(int=number)) for number in range(1, 7)]
CONSUMERS = [str(uuid.UUID(int=number)) for number in range(101, 104)]
AGGREGATES = [str(uuid.UUID(int=201)), str(uuid.UUID(int=202)), uuid.UUID(int=202).hex]
NAMES = ["one", "two", "three", "four"]

inventories = st.builds(
    lambda total, ratio, step: Inventory(
        total=total, max_unit=total, step_size=step, allocation_ratio=ratio
    ),
    st.integers(1, 6),
    st.sampled_from([1.0, 1.5]),
    st.sampled_from([1, 2]),
)
inventory_sets = st.dictionaries(st.sampled_from(CLASSES), inventories, max_size=3)
staleness = st.sampled_from([0, 0, 0, 0, 1])


class TwoServices(BulkReads, ConsumerReads):
    def __init__(self, make_roost) -> None:
        super().__init__()
        self.services = [make_roost(), make_roost()]
        self.model = ModelWorld()
        self.names = 0

    @initialize()
    def create_names_and_providers(self) -> None:
        ensure_resource_class(self.services[0], name="CUSTOM_A")
        ensure_trait(self.services[1], name="CUSTOM_T")
        # A tree and a single provider with capacity, so that claims succeed from the first step.
        for provider, parent in (
            (PROVIDERS[0], None),
            (PROVIDERS[1], PROVIDERS[0]),
            (PROVIDERS[2], None),
        ):
            name, wanted = (
                f"name of {provider}",
                {"VCPU": Inventory(total=6), "MEMORY_MB": Inventory(total=6)},
            )
            self.model.create(provider, name, parent)
            create_provider(self.services[0], uuid=provider, name=name, parent_uuid=parent)
            self.model.set_inventories(provider, wanted, 0)
            change = InventoryChange(
                provider_uuid=provider, inventories=wanted, expected_generation=0
            )
            replace_inventories(self.services[0], change=change)

    def teardown(self) -> None:
        try:
            for roost in self.services:
                self.check_everything(roost)
        finally:
            for roost in self.services:
                roost.close()

    # -- one write, through one service, in the model too ---------------------------------------

    def write(self, service: int, operation, modelled, *arguments) -> None:
        try:
            modelled(*arguments)
            expected = True
        except Refused:
            expected = False
        try:
            operation(self.services[service])
            done = True
        except RoostError as error:
            done, reason = False, error
        assert done == expected, "should have been refused" if done else reason

    def generation(self, provider: str, generations_behind: int) -> int:
        return self.model.providers[provider].generation - generations_behind

    def check_provider(self, roost: Roost, provider: str) -> None:
        modelled = self.model.providers[provider]
        shown = read_provider(roost, uuid=provider)
        assert (shown.name, shown.generation, shown.parent_uuid, shown.root_uuid) == (
            modelled.name,
            modelled.generation,
            modelled.parent,
            self.model.root(provider),
        )
        assert read_inventories(roost, provider_uuid=provider).inventories == modelled.inventories
        assert read_usages(roost, provider_uuid=provider).usages == {
            name: self.model.used(provider, name) for name in modelled.inventories
        }
        assert set(read_traits(roost, provider_uuid=provider).traits) == modelled.traits
        assert set(read_aggregates(roost, provider_uuid=provider).aggregates) == (
            modelled.aggregates
        )

    def check_consumer(self, roost: Roost, consumer: str) -> None:
        modelled, shown = (
            self.model.consumers.get(consumer),
            read_consumer(roost, consumer_uuid=consumer),
        )
        if modelled is None:
            assert shown is None
            return
        assert (shown.generation, shown.project_id) == (modelled.generation, modelled.project)
        assert {
            provider: dict(held.resources) for provider, held in shown.allocations.items()
        } == modelled.allocations

    def check_everything(self, roost: Roost) -> None:
        listed = {one.uuid for one in list_providers(roost, query=ProviderQuery())}
        assert listed == self.model.providers.keys()
        for provider in self.model.providers:
            self.check_provider(roost, provider)
        for consumer in CONSUMERS:
            self.check_consumer(roost, consumer)
        index = roost.current_index()
        contents = index.contents()
        _, rows = roost.store.load()
        assert contents == Index.build(rows).contents()

    # -- the writes ----------------------------------------------------------------------------

    def draw_provider(self, data) -> str:
        return data.draw(st.sampled_from(sorted(self.model.providers)))

    service_numbers = st.integers(0, 1)

    @rule(service=service_numbers, uuid=st.sampled_from(PROVIDERS), data=st.data())
    def create(self, service, uuid, data) -> None:
        parent = data.draw(st.sampled_from([None, *sorted(self.model.providers)]))
        name = data.draw(st.sampled_from([*NAMES, f"name of {uuid}"]))
        self.write(
            service,
            lambda roost: create_provider(roost, uuid=uuid, name=name, parent_uuid=parent),
            self.model.create,
            uuid,
            name,
            parent,
        )
        if uuid in self.model.providers:
            self.check_provider(self.services[1 - service], uuid)

    @precondition(lambda self: self.model.providers)
    @rule(service=service_numbers, name=st.sampled_from(NAMES), data=st.data())
    def update(self, service, name, data) -> None:
        provider = self.draw_provider(data)
        parent = data.draw(st.sampled_from([None, *sorted(self.model.providers)]))
        self.write(
            service,
            lambda roost: update_provider(
                roost, uuid=provider, name=name, parent_uuid=parent, may_reparent=True
            ),
            self.model.update,
            provider,
            name,
            parent,
        )
        self.check_provider(self.services[1 - service], provider)

    @precondition(lambda self: self.model.providers)
    @rule(service=service_numbers, data=st.data())
    def delete(self, service, data) -> None:
        provider = self.draw_provider(data)
        self.write(
            service,
            lambda roost: delete_provider(roost, uuid=provider),
            self.model.delete,
            provider,
        )

    @precondition(lambda self: self.model.providers)
    @rule(
        service=service_numbers, generations_behind=staleness, wanted=inventory_sets, data=st.data()
    )
    def set_inventories(self, service, generations_behind, wanted, data) -> None:
        provider = self.draw_provider(data)
        generation = self.generation(provider, generations_behind)
        change = InventoryChange(
            provider_uuid=provider, inventories=wanted, expected_generation=generation
        )
        self.write(
            service,
            lambda roost: replace_inventories(roost, change=change),
            self.model.set_inventories,
            provider,
            wanted,
            generation,
        )
        self.check_provider(self.services[1 - service], provider)

    @precondition(lambda self: self.model.providers)
    @rule(
        service=service_numbers,
        generations_behind=staleness,
        wanted=st.frozensets(st.sampled_from(TRAITS)),
        data=st.data(),
    )
    def set_traits(self, service, generations_behind, wanted, data) -> None:
        provider = self.draw_provider(data)
        generation = self.generation(provider, generations_behind)
        self.write(
            service,
            lambda roost: replace_traits(
                roost, provider_uuid=provider, traits=wanted, expected_generation=generation
            ),
            self.model.set_traits,
            provider,
            wanted,
            generation,
        )
        self.check_provider(self.services[1 - service], provider)

    @precondition(lambda self: self.model.providers)
    @rule(
        service=service_numbers,
        generations_behind=staleness,
        wanted=st.frozensets(st.sampled_from(AGGREGATES)),
        data=st.data(),
    )
    def set_aggregates(self, service, generations_behind, wanted, data) -> None:
        provider = self.draw_provider(data)
        generation = self.generation(provider, generations_behind)
        self.write(
            service,
            lambda roost: replace_aggregates(
                roost,
                provider_uuid=provider,
                aggregates=sorted(wanted),
                expected_generation=generation,
            ),
            self.model.set_aggregates,
            provider,
            wanted,
            generation,
        )
        self.check_provider(self.services[1 - service], provider)

    def draw_allocations(self, data):
        """Mostly from existing inventories; sometimes of a class that a provider does not have."""
        pairs = [
            (provider, name)
            for provider, one in sorted(self.model.providers.items())
            for name in (*sorted(one.inventories), CLASSES[0])
        ]
        allocations: dict[str, dict[str, int]] = {}
        for provider, name in data.draw(st.lists(st.sampled_from(pairs), max_size=3)):
            allocations.setdefault(provider, {})[name] = data.draw(st.integers(1, 3))
        return allocations

    def draw_changes(self, data, consumers):
        """Allocations from existing providers, by a writer whose generation may be stale."""
        wanted = {}
        for consumer in consumers:
            allocations = self.draw_allocations(data)
            current = self.model.consumers.get(consumer)
            generation = current.generation if current else None
            if data.draw(staleness):
                generation = 7 if generation is None else None
            wanted[consumer] = (generation, allocations)
        changes = [
            ConsumerChange(
                consumer_uuid=consumer,
                allocations=allocations,
                project_id="project",
                user_id="user",
                consumer_type="INSTANCE",
                checks_generation=True,
                expected_generation=generation,
            )
            for consumer, (generation, allocations) in wanted.items()
        ]
        return wanted, changes

    @precondition(lambda self: self.model.providers)
    @rule(
        service=service_numbers,
        consumers=st.lists(st.sampled_from(CONSUMERS), min_size=1, max_size=2, unique=True),
        data=st.data(),
    )
    def replace_allocations(self, service, consumers, data) -> None:
        wanted, changes = self.draw_changes(data, consumers)
        self.write(
            service,
            lambda roost: replace_allocations(roost, changes=changes),
            self.model.allocate,
            wanted,
            "project",
        )
        for consumer, (_, allocations) in wanted.items():
            self.check_consumer(self.services[1 - service], consumer)
            for provider in allocations:
                self.check_provider(self.services[1 - service], provider)

    @rule(service=service_numbers, consumer=st.sampled_from(CONSUMERS))
    def release(self, service, consumer) -> None:
        self.write(
            service,
            lambda roost: delete_allocations(roost, consumer_uuid=consumer),
            self.model.release,
            consumer,
        )

    @precondition(lambda self: self.model.consumers and len(self.model.providers) > 1)
    @rule(service=service_numbers, data=st.data())
    def reshape(self, service, data) -> None:
        """Move the inventory of one class to another provider, with all its allocations."""
        source, target = data.draw(
            st.lists(
                st.sampled_from(sorted(self.model.providers)), min_size=2, max_size=2, unique=True
            )
        )
        moving = self.model.providers[source].inventories.keys() - (
            self.model.providers[target].inventories.keys()
        )
        if not moving:
            return
        name = sorted(moving)[0]
        inventories, consumers = self.changes_of_move(source, target, name)
        self.write(
            service,
            lambda roost: reshape(roost, inventories=inventories, consumers=consumers),
            self.model.move,
            source,
            target,
            name,
        )
        for provider in (source, target):
            self.check_provider(self.services[1 - service], provider)

    def changes_of_move(self, source: str, target: str, name: str):
        after = copy.deepcopy(self.model)
        with contextlib.suppress(Refused):
            after.move(source, target, name, checked=False)
        inventories = [
            InventoryChange(
                provider_uuid=provider,
                inventories=after.providers[provider].inventories,
                expected_generation=self.model.providers[provider].generation,
            )
            for provider in (source, target)
        ]
        consumers = [
            ConsumerChange(
                consumer_uuid=consumer,
                allocations=after.consumers[consumer].allocations,
                project_id="project",
                user_id="user",
                consumer_type="INSTANCE",
                checks_generation=True,
                expected_generation=held.generation,
            )
            for consumer, held in self.model.consumers.items()
            if name in held.allocations.get(source, {})
        ]
        return inventories, consumers


STEPS = choose(
    short={"sqlite": (12, 40), "postgresql": (4, 40), "mariadb": (4, 40)},
    long={"sqlite": (60, 40), "postgresql": (12, 40), "mariadb": (12, 40)},
)


def test_two_services_behave_like_the_model(
    database_url: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    kind = request.node.callspec.params["database_url"]
    url, engine, count = synchronise(database_url), sa.create_engine(database_url), 0
    template = tmp_path / "template.db"
    if kind == "sqlite":
        shutil.copy(tmp_path / "roost.db", template)

    def fresh_database() -> str:
        nonlocal count
        count += 1
        if kind == "sqlite":
            # Copying a file is faster than emptying tables.
            shutil.copy(template, tmp_path / f"{count}.db")
            return f"sqlite:///{tmp_path}/{count}.db"
        tables.empty(engine)
        return url

    def machine() -> TwoServices:
        fresh = fresh_database()
        return TwoServices(lambda: Roost(Store.open(fresh), Settings()))

    examples, steps = STEPS[kind]
    factor = int(os.environ.get("ROOST_EXAMPLES", "0")) // 100 or 1
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples * factor,
            stateful_step_count=steps,
            deadline=None,
            derandomize=bool(os.environ.get("CI")),
            suppress_health_check=list(HealthCheck),
        ),
    )
    engine.dispose()
