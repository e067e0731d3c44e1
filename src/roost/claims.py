"""Whether a claim is allowed: the rules of allocation, as pure functions."""

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
    """Refuse a client that saw another generation of the consumer; None: it does not exist."""
    if change.checks_generation and change.expected_generation != current:
        raise ConsumerGenerationConflict(change.consumer_uuid, change.expected_generation, current)


def requested_amounts(changes: Iterable[ConsumerChange]) -> dict[tuple[str, str], int]:
    """How much all changes together request."""
    amounts: dict[tuple[str, str], int] = {}
    for change in changes:
        for provider_uuid, resources in change.allocations.items():
            for resource_class, amount in resources.items():
                key = provider_uuid, resource_class
                amounts[key] = amounts.get(key, 0) + amount
    return amounts


def requested_classes(changes: Iterable[ConsumerChange]) -> set[str]:
    return {
        resource_class
        for change in changes
        for resources in change.allocations.values()
        for resource_class in resources
    }


def check_capacity(
    inventories: InventoryStates,
    released: Amounts,
    changes: Sequence[ConsumerChange],
    class_ids: Mapping[str, int],
) -> None:
    """Refuse changes that do not fit. `released` is what the same consumers held before.

    All changes are one replacement and are judged by their outcome. Where usage exceeds the
    capacity already (the inventory was made smaller), a replacement may leave it as it is.
    """
    _check_not_bare(inventories, changes, class_ids)
    # In the order of the request, so that the error names the first item that does not fit.
    taken: dict[tuple[str, str], int] = {}
    for change in changes:
        for provider_uuid, resources in change.allocations.items():
            for name, amount in resources.items():
                state = inventories[provider_uuid].get(name)
                if state is None:
                    raise MissingInventory(name, provider_uuid)
                if not fits_units(state.inventory, amount):
                    raise ConstraintViolated(name, provider_uuid)
                key = provider_uuid, name
                taken[key] = taken.get(key, 0) + amount
                used = state.used - released.get(key, 0) + taken[key]
                if used > state.inventory.capacity and used > state.used:
                    raise CapacityExceeded(name, provider_uuid)


def _check_not_bare(
    inventories: InventoryStates,
    changes: Sequence[ConsumerChange],
    class_ids: Mapping[str, int],
) -> None:
    """Refuse providers that have nothing at all of what is requested."""
    uuids: dict[str, None] = {}
    has_all = True
    for change in changes:
        for uuid, resources in change.allocations.items():
            uuids[uuid] = None
            has_all = has_all and bool(resources) and inventories[uuid].keys() >= resources.keys()
    if has_all:
        return
    requested = sorted(requested_classes(changes), key=lambda name: class_ids[name])
    bare = [uuid for uuid in uuids if inventories[uuid].keys().isdisjoint(requested)]
    if bare:
        raise MissingInventory(", ".join(requested), ", ".join(bare))


def check_not_in_use(
    provider_uuid: str, inventories: Mapping[str, InventoryState], names: Iterable[str]
) -> None:
    """Refuse to delete an inventory while a consumer holds allocations of it."""
    used = [name for name in inventories if name in set(names) and inventories[name].used]
    if used:
        raise InventoryInUse(used, provider_uuid)
