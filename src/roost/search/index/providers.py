"""Providers and inventories as values, between the rows of the tables and the index."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from roost.changes import ProviderParts, Rows
from roost.model import Inventory, capacity
from roost.search.index.columns import CAPACITY_MAX


class IndexedInventory(NamedTuple):
    """An inventory as the index takes it: of one provider and class."""

    class_id: int
    total: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int
    allocation_ratio: float
    modified: float
    used: int


class IndexedProvider(NamedTuple):
    """A provider as the index takes it, with everything that belongs to it."""

    id: int
    uuid: str
    name: str
    generation: int
    parent_id: int | None
    modified: float
    traits: tuple[int, ...]  # trait ids, ascending
    aggregates: tuple[str, ...]  # UUIDs as stored, in the order in which they became known
    inventories: tuple[IndexedInventory, ...]  # by class id, ascending


def column_capacity(inventory: IndexedInventory) -> int:
    return clipped_capacity(inventory.total, inventory.reserved, inventory.allocation_ratio)


def clipped_capacity(total: int, reserved: int, allocation_ratio: float) -> int:
    """A capacity as a column has it."""
    exact = capacity(total, reserved, allocation_ratio)
    # Never negative: in a column that marks the inventories of removed rows.
    return min(max(exact, 0), CAPACITY_MAX)


def inventory_of(inventory: IndexedInventory) -> Inventory:
    return Inventory(
        total=inventory.total,
        reserved=inventory.reserved,
        min_unit=inventory.min_unit,
        max_unit=inventory.max_unit,
        step_size=inventory.step_size,
        allocation_ratio=inventory.allocation_ratio,
    )


def providers_from(rows: Rows) -> dict[int, IndexedProvider]:
    """The providers among `rows`, by id."""
    traits: dict[int, list[int]] = {}
    for provider_id, trait_id in rows.traits:
        traits.setdefault(provider_id, []).append(trait_id)
    aggregates: dict[int, list[str]] = {}
    for provider_id, aggregate in rows.aggregates:
        aggregates.setdefault(provider_id, []).append(aggregate)
    used = {(provider_id, class_id): amount for provider_id, class_id, amount in rows.usages}
    inventories: dict[int, list[IndexedInventory]] = {}
    for (
        provider_id,
        class_id,
        total,
        reserved,
        low,
        high,
        step,
        ratio,
        modified,
    ) in rows.inventories:
        taken = used.get((provider_id, class_id), 0)
        inventory = IndexedInventory(
            class_id, total, reserved, low, high, step, ratio, modified, taken
        )
        inventories.setdefault(provider_id, []).append(inventory)
    return {
        number: IndexedProvider(
            id=number,
            uuid=uuid,
            name=name,
            generation=generation,
            parent_id=parent_id,
            modified=modified,
            traits=tuple(sorted(traits.get(number, ()))),
            aggregates=tuple(aggregates.get(number, ())),
            inventories=tuple(sorted(inventories.get(number, ()))),
        )
        for number, uuid, name, generation, _root_id, parent_id, modified in rows.providers
    }


def rows_from(providers: Iterable[IndexedProvider]) -> Rows:
    """The inverse of `providers_from`."""
    providers = list(providers)
    inventories = [(each.id, inventory) for each in providers for inventory in each.inventories]
    return Rows(
        providers=[
            (each.id, each.uuid, each.name, each.generation, 0, each.parent_id, each.modified)
            for each in providers
        ],
        inventories=[
            (
                provider_id,
                inventory.class_id,
                inventory.total,
                inventory.reserved,
                inventory.min_unit,
                inventory.max_unit,
                inventory.step_size,
                inventory.allocation_ratio,
                inventory.modified,
            )
            for provider_id, inventory in inventories
        ],
        usages=[
            (provider_id, inventory.class_id, inventory.used)
            for provider_id, inventory in inventories
        ],
        traits=[(each.id, trait) for each in providers for trait in each.traits],
        aggregates=[(each.id, aggregate) for each in providers for aggregate in each.aggregates],
    )


def with_parts(provider: IndexedProvider, parts: ProviderParts) -> IndexedProvider:
    """The provider after these parts of it were replaced. What is used of it stays."""
    inventories = provider.inventories
    if parts.inventories is not None:
        new = {numbers[0]: numbers for numbers in parts.inventories}
        inventories = tuple(
            IndexedInventory(*new[each.class_id], modified=parts.modified, used=each.used)
            if each.class_id in new
            else each
            for each in inventories
        )
    return provider._replace(
        generation=parts.generation,
        modified=parts.modified,
        traits=provider.traits if parts.traits is None else tuple(parts.traits),
        aggregates=provider.aggregates if parts.aggregates is None else tuple(parts.aggregates),
        inventories=inventories,
    )


def moment(number: float) -> datetime:
    """A time of the index as the tables have it: UTC without a time zone."""
    return datetime.fromtimestamp(number, UTC).replace(tzinfo=None)
