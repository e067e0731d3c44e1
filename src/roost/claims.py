"""Whether what consumers ask for fits: the rules of allocation, without a database."""

from collections.abc import Iterable, Mapping, Sequence

from roost.errors import (
    CapacityExceeded,
    ConstraintViolated,
    ConsumerGenerationConflict,
    InventoryInUse,
    MissingInventory,
)
from roost.model import ConsumerChange, Inventory, Value, fits_units

# Amounts by provider UUID and resource class.
Amounts = Mapping[tuple[str, str], int]


class InventoryState(Value, frozen=True, kw_only=True):
    """What a provider has of one resource class, and how much of it is used."""

    class_id: int
    inventory: Inventory
    used: int


# By provider UUID, then by resource class.
InventoryStates = Mapping[str, Mapping[str, InventoryState]]


def check_consumer_generation(change: ConsumerChange, current: int | None) -> None:
    """Refuse a writer that saw another generation of the consumer; None is: no consumer."""
    if change.checks_generation and change.expected_generation != current:
        raise ConsumerGenerationConflict(change.consumer_uuid, change.expected_generation, current)


def wanted(changes: Iterable[ConsumerChange]) -> dict[tuple[str, str], int]:
    """How much all changes together ask for."""
    amounts: dict[tuple[str, str], int] = {}
    for change in changes:
        for provider_uuid, resources in change.allocations.items():
            for resource_class, amount in resources.items():
                key = provider_uuid, resource_class
                amounts[key] = amounts.get(key, 0) + amount
    return amounts


def classes_of(changes: Iterable[ConsumerChange]) -> set[str]:
    return {resource_class for _, resource_class in wanted(changes)}


def check_room(
    stocks: InventoryStates,
    released: Amounts,
    changes: Sequence[ConsumerChange],
    class_ids: Mapping[str, int],
) -> None:
    """Refuse changes that do not fit. `released` is what the same consumers give back.

    All changes are one replacement, judged by its outcome. Where a provider is used beyond its
    capacity (its inventory was made smaller), a replacement that does not make it worse is fine.
    """
    requested = sorted(classes_of(changes), key=lambda name: class_ids[name])
    uuids = dict.fromkeys(uuid for change in changes for uuid in change.allocations)
    bare = [uuid for uuid in uuids if not any(name in stocks[uuid] for name in requested)]
    if bare:
        raise MissingInventory(", ".join(requested), ", ".join(bare))
    # Item by item, so that the first one that does not fit is the one that is reported.
    taken: dict[tuple[str, str], int] = {}
    for change in changes:
        for provider_uuid, resources in change.allocations.items():
            for name, amount in resources.items():
                stock = stocks[provider_uuid].get(name)
                if stock is None:
                    raise MissingInventory(name, provider_uuid)
                if not fits_units(stock.inventory, amount):
                    raise ConstraintViolated(name, provider_uuid)
                key = provider_uuid, name
                taken[key] = taken.get(key, 0) + amount
                used = stock.used - released.get(key, 0) + taken[key]
                if used > stock.inventory.capacity and used > stock.used:
                    raise CapacityExceeded(name, provider_uuid)


def check_unused(
    provider_uuid: str, stocks: Mapping[str, InventoryState], names: Iterable[str]
) -> None:
    """Refuse to take away an inventory that somebody holds allocations of."""
    used = [name for name in stocks if name in set(names) and stocks[name].used]
    if used:
        raise InventoryInUse(used, provider_uuid)
