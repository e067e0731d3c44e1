"""Run actions concurrently, and read the tables afterwards."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqlalchemy import Engine, func, select

from roost.errors import RoostError
from roost.model import ConsumerChange, Inventory, InventoryChange
from roost.operations.allocations import replace_allocations
from roost.operations.inventories import replace_inventories
from roost.operations.providers import create_provider
from roost.service.service import Roost
from roost.store import schema
from tests.support.names import uid


def run_concurrently(actions: Sequence[Callable[[], Any]]) -> list[Any]:
    """Start all actions at the same time; the result of each, or the error that refused it."""
    start = threading.Barrier(len(actions))

    def run(action: Callable[[], Any]) -> Any:
        start.wait()
        try:
            return action()
        except RoostError as refusal:
            return refusal

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(run, actions))


def refusals(results: Sequence[Any]) -> list[RoostError]:
    return [result for result in results if isinstance(result, RoostError)]


def add_provider(roost: Roost, name: str, parent: str | None = None, **totals: int) -> str:
    """Create a provider with these inventories and return its UUID."""
    create_provider(
        roost, uuid=uid(name), name=name, parent_uuid=None if parent is None else uid(parent)
    )
    if totals:
        inventories = {key: Inventory(total=total) for key, total in totals.items()}
        change = InventoryChange(
            provider_uuid=uid(name), inventories=inventories, expected_generation=0
        )
        replace_inventories(roost, change=change)
    return uid(name)


def claim(
    consumer: str, allocations: Mapping[str, Mapping[str, int]], **fields: Any
) -> ConsumerChange:
    """What a consumer shall have, by names of providers. Without a generation it must be new."""
    fields = {"checks_generation": True, "project_id": "p", "user_id": "u", **fields}
    return ConsumerChange(
        consumer_uuid=uid(consumer),
        allocations={uid(name): resources for name, resources in allocations.items()},
        **fields,
    )


def put(roost: Roost, *changes: ConsumerChange) -> None:
    replace_allocations(roost, changes=changes)


def used(roost: Roost, name: str, resource_class: str) -> int:
    """The amount in use, summed up from the tables."""
    statement = (
        select(func.coalesce(func.sum(schema.allocations.c.used), 0))
        .join(
            schema.resource_providers,
            schema.resource_providers.c.id == schema.allocations.c.resource_provider_id,
        )
        .join(
            schema.resource_classes,
            schema.resource_classes.c.id == schema.allocations.c.resource_class_id,
        )
        .where(
            schema.resource_providers.c.uuid == uid(name),
            schema.resource_classes.c.name == resource_class,
        )
    )
    with roost.store.engine.connect() as connection:
        return int(connection.scalar(statement) or 0)


def dump(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table."""
    with engine.connect() as connection:
        return {
            name: sorted(map(tuple, connection.execute(select(table))), key=repr)
            for name, table in schema.metadata.tables.items()
        }
