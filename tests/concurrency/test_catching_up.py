"""Two services write at random; readers of their change feed have what the tables have."""

import contextlib
import random
from collections.abc import Callable
from functools import partial

import pytest

from roost.errors import Conflict, RoostError
from roost.model import Inventory, InventoryChange
from roost.operations.aggregates import replace_aggregates
from roost.operations.allocations import delete_allocations
from roost.operations.inventories import delete_inventories, replace_inventories
from roost.operations.providers import (
    create_provider,
    delete_provider,
    read_provider,
    update_provider,
)
from roost.operations.reshaper import reshape
from roost.operations.resource_classes import (
    delete_resource_class,
    ensure_resource_class,
    rename_resource_class,
)
from roost.operations.traits import delete_trait, ensure_trait, replace_traits
from roost.service.service import Roost
from tests.concurrency.follower import Follower, tables
from tests.concurrency.races import add_provider, claim, put, refusals, run_concurrently
from tests.support.names import uid

OpenRoost = Callable[[], Roost]
PROVIDERS = [f"provider{number}" for number in range(5)]
CONSUMERS = [f"consumer{number}" for number in range(5)]
CLASSES = ["VCPU", "MEMORY_MB", "CUSTOM_A", "CUSTOM_B"]
TRAITS = ["CUSTOM_S", "CUSTOM_T", "HW_CPU_X86_AVX"]


class RandomWriter:
    """Takes random steps, most of which are refused."""

    def __init__(self, roost: Roost, seed: int) -> None:
        self.roost = roost
        self.random = random.Random(seed)

    def step(self) -> None:
        actions = [
            *[self.allocate] * 6,
            *[self.inventories] * 3,
            self.create,
            self.move,
            self.delete,
            self.traits,
            self.aggregates,
            self.change_names,
            self.delete_allocations,
            self.reshape,
        ]
        self.random.choice(actions)()

    def some_provider(self) -> str:
        return self.random.choice(PROVIDERS)

    def generation(self, name: str) -> int:
        return read_provider(self.roost, uuid=uid(name)).generation

    def create(self) -> None:
        name, parent = self.some_provider(), self.random.choice([None, *PROVIDERS])
        create_provider(self.roost, uuid=uid(name), name=name, parent_uuid=parent and uid(parent))

    def move(self) -> None:
        name, parent = self.some_provider(), self.random.choice([None, *PROVIDERS])
        update_provider(
            self.roost,
            uuid=uid(name),
            name=name,
            parent_uuid=parent and uid(parent),
            may_reparent=True,
        )

    def delete(self) -> None:
        delete_provider(self.roost, uuid=uid(self.some_provider()))

    def inventory_change(self, name: str) -> InventoryChange:
        classes = self.random.sample(CLASSES, self.random.randint(0, 3))
        return InventoryChange(
            provider_uuid=uid(name),
            inventories={
                each: Inventory(total=self.random.randint(1, 20), allocation_ratio=1.5)
                for each in classes
            },
            expected_generation=self.generation(name),
        )

    def inventories(self) -> None:
        if self.random.random() < 0.2:
            uuid = uid(self.some_provider())
            delete_inventories(self.roost, provider_uuid=uuid, resource_class=None)
        else:
            replace_inventories(self.roost, change=self.inventory_change(self.some_provider()))

    def claims(self) -> list[object]:
        providers = self.random.sample(PROVIDERS, self.random.randint(0, 2))
        allocations = {
            name: {
                each: self.random.randint(1, 4)
                for each in self.random.sample(CLASSES, self.random.randint(1, 2))
            }
            for name in providers
        }
        consumer = self.random.choice(CONSUMERS)
        return [claim(consumer, allocations, checks_generation=False)]

    def allocate(self) -> None:
        put(self.roost, *self.claims())  # type: ignore[arg-type]

    def delete_allocations(self) -> None:
        delete_allocations(self.roost, consumer_uuid=uid(self.random.choice(CONSUMERS)))

    def reshape(self) -> None:
        name = self.some_provider()
        reshape(
            self.roost,
            inventories=[self.inventory_change(name)],
            consumers=self.claims(),  # type: ignore[arg-type]
        )

    def traits(self) -> None:
        name = self.some_provider()
        replace_traits(
            self.roost,
            provider_uuid=uid(name),
            traits=set(self.random.sample(TRAITS, self.random.randint(0, 3))),
            expected_generation=self.generation(name),
        )

    def aggregates(self) -> None:
        name = self.some_provider()
        replace_aggregates(
            self.roost,
            provider_uuid=uid(name),
            aggregates=[uid(each) for each in self.random.sample("abc", 2)],
            expected_generation=self.random.choice([None, self.generation(name)]),
        )

    def change_names(self) -> None:
        actions = [
            partial(ensure_resource_class, name=self.random.choice(CLASSES[2:])),
            partial(delete_resource_class, name=self.random.choice(CLASSES[2:])),
            partial(rename_resource_class, name="CUSTOM_A", new_name="CUSTOM_B"),
            partial(ensure_trait, name=self.random.choice(TRAITS[:2])),
            partial(delete_trait, name=self.random.choice(TRAITS[:2])),
        ]
        self.random.choice(actions)(self.roost)

    def take_steps(self, steps: int) -> None:
        for _ in range(steps):
            # Refusals are fine; what counts is what the steps leave in the tables.
            with contextlib.suppress(RoostError):
                self.step()


@pytest.mark.parametrize("seed", [1, 2])
def test_followers_have_what_the_tables_have(open_roost: OpenRoost, seed: int) -> None:
    first, second = open_roost(), open_roost()
    for name in PROVIDERS[:3]:
        add_provider(first, name, VCPU=10, MEMORY_MB=10)
    followers = [Follower(first.store), Follower(second.store)]
    writers = [RandomWriter(first, seed), RandomWriter(second, seed + 100)]
    for _ in range(12):
        run_concurrently([partial(writer.take_steps, 6) for writer in writers])
        fresh = tables(first.store.load()[1])
        for follower in followers:
            follower.catch_up()
            assert follower.rows == fresh
            assert follower.reloads == 1


def test_catching_up_while_others_write(open_roost: OpenRoost) -> None:
    """Every position is consistent, even one that is read in the middle of writes."""
    first, second = open_roost(), open_roost()
    for name in PROVIDERS:
        add_provider(first, name, VCPU=100)
    follower = Follower(second.store)

    def keep_catching_up() -> None:
        for _ in range(100):
            follower.catch_up()

    writers = [
        partial(put, first, claim(f"{name}-{number}", {name: {"VCPU": 1}}))
        for number in range(3)
        for name in PROVIDERS
    ]
    results = run_concurrently([keep_catching_up, *writers])
    assert not [refusal for refusal in refusals(results) if not isinstance(refusal, Conflict)]
    follower.catch_up()
    assert follower.rows == tables(second.store.load()[1])
    assert follower.reloads == 1
