"""Resource classes, traits and aggregates that several writers create, use and delete at once."""

from collections.abc import Callable
from functools import partial

from sqlalchemy import select

from roost.errors import ResourceClassInUse, TraitInUse, UnknownResourceClass, UnknownTrait
from roost.model import Inventory
from roost.operations.aggregates import replace_aggregates
from roost.operations.inventories import add_inventory
from roost.operations.resource_classes import (
    create_resource_class,
    delete_resource_class,
    ensure_resource_class,
)
from roost.operations.traits import delete_trait, ensure_trait, replace_traits
from roost.service.service import Roost
from roost.store.schema import inventories, placement_aggregates, resource_classes
from tests.concurrency.races import add_provider, refusals, run_concurrently
from tests.support.names import uid

OpenRoost = Callable[[], Roost]


def test_a_class_is_deleted_or_used_but_not_both(open_roost: OpenRoost) -> None:
    first, second = open_roost(), open_roost()
    for number in range(12):
        name, host = f"CUSTOM_{number}", f"host{number}"
        create_resource_class(first, name=name)
        add_provider(first, host)
        results = run_concurrently(
            [
                partial(delete_resource_class, first, name=name),
                partial(
                    add_inventory,
                    second,
                    provider_uuid=uid(host),
                    resource_class=name,
                    inventory=Inventory(total=1),
                ),
            ]
        )
        assert [type(each) for each in refusals(results)] in (
            [ResourceClassInUse],
            [UnknownResourceClass],
        )
    with first.store.engine.connect() as connection:
        used = set(connection.scalars(select(inventories.c.resource_class_id)))
        known = set(connection.scalars(select(resource_classes.c.id)))
    assert used <= known


def test_a_trait_is_deleted_or_used_but_not_both(open_roost: OpenRoost) -> None:
    first, second = open_roost(), open_roost()
    for number in range(8):
        name, host = f"CUSTOM_{number}", f"host{number}"
        ensure_trait(first, name=name)
        add_provider(first, host)
        results = run_concurrently(
            [
                partial(delete_trait, first, name=name),
                partial(
                    replace_traits,
                    second,
                    provider_uuid=uid(host),
                    traits={name},
                    expected_generation=0,
                ),
            ]
        )
        assert [type(each) for each in refusals(results)] in ([TraitInUse], [UnknownTrait])


def test_a_name_is_created_once(open_roost: OpenRoost) -> None:
    services = [open_roost(), open_roost()]
    for ensure in (ensure_resource_class, ensure_trait):
        results = run_concurrently(
            [partial(ensure, each, name="CUSTOM_NEW") for each in services * 4]
        )
        assert sorted(results) == [False] * 7 + [True]


def test_custom_classes_get_the_next_id(open_roost: OpenRoost) -> None:
    services = [open_roost(), open_roost()]
    results = run_concurrently(
        [
            partial(create_resource_class, services[number % 2], name=f"CUSTOM_{number}")
            for number in range(8)
        ]
    )
    assert refusals(results) == []
    with services[0].store.engine.connect() as connection:
        ids = connection.scalars(
            select(resource_classes.c.id).where(resource_classes.c.name.startswith("CUSTOM_"))
        ).all()
    assert sorted(ids) == list(range(10_000, 10_008))


def test_an_aggregate_that_many_writers_name_is_created_once(open_roost: OpenRoost) -> None:
    services = [open_roost(), open_roost()]
    for number in range(8):
        add_provider(services[0], f"host{number}")
    results = run_concurrently(
        [
            partial(
                replace_aggregates,
                services[number % 2],
                provider_uuid=uid(f"host{number}"),
                aggregates=[uid("one"), uid("two")],
                expected_generation=0,
            )
            for number in range(8)
        ]
    )
    assert refusals(results) == []
    with services[0].store.engine.connect() as connection:
        uuids = connection.scalars(
            select(placement_aggregates.c.uuid).order_by(placement_aggregates.c.id)
        ).all()
    assert uuids == [uid("one"), uid("two")]
