"""A refused write leaves every table as it was."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from roost import errors
from roost.model import Inventory, InventoryChange
from roost.operations.aggregates import replace_aggregates
from roost.operations.allocations import delete_allocations
from roost.operations.inventories import (
    add_inventory,
    delete_inventories,
    replace_inventories,
    update_inventory,
)
from roost.operations.providers import create_provider, delete_provider, update_provider
from roost.operations.reshaper import reshape
from roost.operations.resource_classes import (
    create_resource_class,
    delete_resource_class,
    rename_resource_class,
)
from roost.operations.traits import delete_trait, ensure_trait, replace_traits
from roost.service.service import Roost
from tests.concurrency.races import add_provider, claim, dump, put
from tests.support.names import uid

INVENTORY = Inventory(total=1)


def inventory_change(name: str, generation: int, *classes: str, **fields: Any) -> InventoryChange:
    inventory = Inventory(total=10, **fields)
    return InventoryChange(
        provider_uuid=uid(name),
        inventories=dict.fromkeys(classes, inventory),
        expected_generation=generation,
    )


@pytest.fixture
def world(roost: Roost) -> Roost:
    """host (VCPU, CUSTOM_A) and its child; c1 holds 2 VCPU of host. host is at generation 3."""
    create_resource_class(roost, name="CUSTOM_A")
    create_resource_class(roost, name="CUSTOM_B")
    ensure_trait(roost, name="CUSTOM_T")
    add_provider(roost, "host", VCPU=10, CUSTOM_A=10)
    add_provider(roost, "child", parent="host", MEMORY_MB=10)
    add_provider(roost, "other", VCPU=1)
    add_provider(roost, "bare")
    put(roost, claim("c1", {"host": {"VCPU": 2}}))
    replace_traits(roost, provider_uuid=uid("host"), traits={"CUSTOM_T"}, expected_generation=2)
    return roost


def claim_of_new(allocations: dict[str, dict[str, int]], **fields: Any) -> Callable[[Roost], None]:
    """A claim of a consumer, project, user and type that are all new."""
    fields = {"project_id": "new", "user_id": "new", "consumer_type": "NEW", **fields}
    return lambda roost: put(roost, claim("new", allocations, **fields))


def claims_of_two(roost: Roost) -> None:
    put(
        roost,
        claim("new1", {"host": {"VCPU": 1}}, project_id="new"),
        claim("new2", {"host": {"VCPU": 8}}, user_id="new"),
    )


update = partial(update_provider, name="host", may_reparent=False)

REFUSALS: list[tuple[type[errors.RoostError], Callable[[Roost], object]]] = [
    # Allocations
    (errors.CapacityExceeded, claim_of_new({"host": {"VCPU": 9}})),
    (errors.CapacityExceeded, claims_of_two),
    (errors.ConstraintViolated, claim_of_new({"host": {"VCPU": 2**31}})),
    (errors.MissingInventory, claim_of_new({"host": {"MEMORY_MB": 1}})),
    (errors.MissingInventory, claim_of_new({"bare": {"VCPU": 1}})),
    (errors.UnknownProvider, claim_of_new({"nowhere": {"VCPU": 1}})),
    (errors.UnknownResourceClass, claim_of_new({"host": {"CUSTOM_NONE": 1}})),
    (errors.ConsumerGenerationConflict, claim_of_new({"host": {"VCPU": 1}}, expected_generation=7)),
    (
        errors.ConsumerGenerationConflict,
        lambda roost: put(roost, claim("c1", {"other": {"VCPU": 1}}, project_id="new")),
    ),
    (
        errors.CapacityExceeded,
        lambda roost: put(
            roost, claim("c1", {"other": {"VCPU": 2}}, expected_generation=1, project_id="new")
        ),
    ),
    (
        errors.ConsumerNotFound,
        lambda roost: delete_allocations(roost, consumer_uuid=uid("nobody")),
    ),
    # Inventories
    (
        errors.InventoryInUse,
        lambda roost: replace_inventories(roost, change=inventory_change("host", 3, "CUSTOM_B")),
    ),
    (
        errors.ProviderGenerationConflict,
        lambda roost: replace_inventories(roost, change=inventory_change("host", 2, "VCPU")),
    ),
    (
        errors.UnknownResourceClass,
        lambda roost: replace_inventories(roost, change=inventory_change("host", 3, "CUSTOM_NONE")),
    ),
    (
        errors.ProviderNotFound,
        lambda roost: replace_inventories(roost, change=inventory_change("nowhere", 3, "VCPU")),
    ),
    (
        errors.InventoryExists,
        lambda roost: add_inventory(
            roost, provider_uuid=uid("host"), resource_class="VCPU", inventory=INVENTORY
        ),
    ),
    (
        errors.UnknownResourceClass,
        lambda roost: add_inventory(
            roost, provider_uuid=uid("host"), resource_class="CUSTOM_NONE", inventory=INVENTORY
        ),
    ),
    (
        errors.InventoryNotFound,
        lambda roost: update_inventory(
            roost,
            provider_uuid=uid("host"),
            resource_class="MEMORY_MB",
            inventory=INVENTORY,
            expected_generation=3,
        ),
    ),
    (
        errors.ResourceClassNotFound,
        lambda roost: update_inventory(
            roost,
            provider_uuid=uid("host"),
            resource_class="CUSTOM_NONE",
            inventory=INVENTORY,
            expected_generation=3,
        ),
    ),
    (
        errors.InventoryInUse,
        lambda roost: delete_inventories(roost, provider_uuid=uid("host"), resource_class=None),
    ),
    (
        errors.InventoryInUse,
        lambda roost: delete_inventories(roost, provider_uuid=uid("host"), resource_class="VCPU"),
    ),
    (
        errors.InventoryNotFound,
        lambda roost: delete_inventories(roost, provider_uuid=uid("host"), resource_class="PGPU"),
    ),
    # Providers
    (
        errors.ProviderExists,
        lambda roost: create_provider(
            roost, uuid=uid("new"), name="child", parent_uuid=uid("host")
        ),
    ),
    (
        errors.ProviderExists,
        lambda roost: create_provider(roost, uuid=uid("child"), name="new", parent_uuid=None),
    ),
    (
        errors.InvalidParent,
        lambda roost: create_provider(
            roost, uuid=uid("new"), name="new", parent_uuid=uid("nowhere")
        ),
    ),
    (
        errors.InvalidParent,
        lambda roost: create_provider(roost, uuid=uid("new"), name="new", parent_uuid=uid("new")),
    ),
    (
        errors.InvalidParent,
        lambda roost: update(roost, uuid=uid("host"), parent_uuid=uid("child")),
    ),
    (
        errors.InvalidParent,
        lambda roost: update(roost, uuid=uid("child"), parent_uuid=None, name="child"),
    ),
    (
        errors.InvalidParent,
        lambda roost: update(roost, uuid=uid("child"), parent_uuid=uid("bare"), name="child"),
    ),
    (
        errors.ProviderExists,
        lambda roost: update(roost, uuid=uid("bare"), parent_uuid=uid("host"), name="child"),
    ),
    (
        errors.ProviderNotFound,
        lambda roost: update(roost, uuid=uid("nowhere"), parent_uuid=msgspec.UNSET),
    ),
    (errors.ProviderHasChildren, lambda roost: delete_provider(roost, uuid=uid("host"))),
    (errors.ProviderNotFound, lambda roost: delete_provider(roost, uuid=uid("nowhere"))),
    # Traits, aggregates, names
    (
        errors.UnknownTrait,
        lambda roost: replace_traits(
            roost,
            provider_uuid=uid("host"),
            traits={"CUSTOM_NONE", "CUSTOM_T"},
            expected_generation=3,
        ),
    ),
    (
        errors.ProviderGenerationConflict,
        lambda roost: replace_traits(
            roost, provider_uuid=uid("host"), traits=set(), expected_generation=9
        ),
    ),
    (
        errors.ProviderGenerationConflict,
        lambda roost: replace_aggregates(
            roost, provider_uuid=uid("host"), aggregates=[uid("new")], expected_generation=9
        ),
    ),
    (errors.ResourceClassExists, lambda roost: create_resource_class(roost, name="CUSTOM_A")),
    (errors.ResourceClassInUse, lambda roost: delete_resource_class(roost, name="CUSTOM_A")),
    (errors.StandardName, lambda roost: delete_resource_class(roost, name="VCPU")),
    (errors.ResourceClassNotFound, lambda roost: delete_resource_class(roost, name="CUSTOM_C")),
    (
        errors.ResourceClassExists,
        lambda roost: rename_resource_class(roost, name="CUSTOM_A", new_name="CUSTOM_B"),
    ),
    (
        errors.StandardName,
        lambda roost: rename_resource_class(roost, name="VCPU", new_name="CUSTOM_C"),
    ),
    (errors.TraitInUse, lambda roost: delete_trait(roost, name="CUSTOM_T")),
    (errors.StandardName, lambda roost: delete_trait(roost, name="HW_CPU_X86_AVX")),
    (errors.TraitNotFound, lambda roost: delete_trait(roost, name="CUSTOM_NONE")),
    # Reshape
    (
        errors.InventoryInUse,
        lambda roost: reshape(
            roost,
            inventories=[
                inventory_change("host", 3, "CUSTOM_B"),
                inventory_change("bare", 0, "VCPU"),
            ],
            consumers=[claim("new", {"bare": {"VCPU": 1}}, project_id="new")],
        ),
    ),
    (
        errors.ConstraintViolated,
        lambda roost: reshape(
            roost,
            inventories=[
                inventory_change("host", 3),
                inventory_change("bare", 0, "VCPU", max_unit=1),
            ],
            consumers=[claim("c1", {"bare": {"VCPU": 2}}, expected_generation=1)],
        ),
    ),
    (
        errors.ProviderGenerationConflict,
        lambda roost: reshape(
            roost,
            inventories=[inventory_change("host", 3), inventory_change("bare", 1, "VCPU")],
            consumers=[claim("c1", {"bare": {"VCPU": 2}}, expected_generation=1)],
        ),
    ),
    (
        errors.ConsumerGenerationConflict,
        lambda roost: reshape(
            roost,
            inventories=[inventory_change("host", 3), inventory_change("bare", 0, "VCPU")],
            consumers=[claim("c1", {"bare": {"VCPU": 2}}, expected_generation=2)],
        ),
    ),
    (
        errors.ProviderNotFound,
        lambda roost: reshape(roost, inventories=[inventory_change("nowhere", 0)], consumers=[]),
    ),
]


def test_a_refused_write_leaves_every_table_as_it_was(world: Roost) -> None:
    before = dump(world.store.engine)
    for expected, attempt in REFUSALS:
        with pytest.raises(expected):
            attempt(world)
        assert dump(world.store.engine) == before


def test_an_empty_claim_of_a_new_consumer_leaves_nothing(world: Roost) -> None:
    before = dump(world.store.engine)
    claim_of_new({})(world)
    assert dump(world.store.engine) == before
    # So the consumer is still new for the next claim.
    claim_of_new({"host": {"VCPU": 1}})(world)


def test_a_consumer_is_deleted_with_its_last_allocation(world: Roost) -> None:
    put(world, claim("c1", {}, expected_generation=1))
    tables = dump(world.store.engine)
    assert tables["consumers"] == []
    assert tables["allocations"] == []
    put(world, claim("c1", {"host": {"VCPU": 1}}))
