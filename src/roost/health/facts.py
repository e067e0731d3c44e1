"""What the tables say of every provider, asked for in another way than the index asks.

The index is loaded by `rows`. These are other statements for the same: by names where those go by
ids, joined where those are put together in memory. So a fault in one does not hide in the other.
"""

from collections.abc import Mapping

from sqlalchemy import BigInteger, Connection, cast, func, select

from roost.model import Value
from roost.store.schema import (
    allocations,
    inventories,
    placement_aggregates,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)

_parents = resource_providers.alias("parents")
_providers = resource_providers.alias("providers")

# Name, generation, UUID of the parent.
ProviderFacts = tuple[str, int, str | None]
# total, reserved, min_unit, max_unit, step_size, allocation_ratio, used
InventoryFacts = tuple[int, int, int, int, int, float, int]


class Facts(Value, frozen=True, kw_only=True):
    """Everything by UUID and name."""

    providers: Mapping[str, ProviderFacts]
    inventories: Mapping[tuple[str, str], InventoryFacts]  # provider, class
    traits: frozenset[tuple[str, str]]  # provider, trait
    aggregates: frozenset[tuple[str, str]]  # provider, aggregate


def read_facts(connection: Connection) -> Facts:
    return Facts(
        providers={
            uuid: (name, generation or 0, parent)
            for uuid, name, generation, parent in connection.execute(_PROVIDERS)
        },
        inventories={
            (uuid, name): (*numbers, used)
            for uuid, name, *numbers, used in connection.execute(_INVENTORIES)
        },
        traits=frozenset((uuid, name) for uuid, name in connection.execute(_TRAITS)),
        aggregates=frozenset((uuid, other) for uuid, other in connection.execute(_AGGREGATES)),
    )


_PROVIDERS = select(
    _providers.c.uuid, _providers.c.name, _providers.c.generation, _parents.c.uuid
).outerjoin_from(_providers, _parents, _parents.c.id == _providers.c.parent_provider_id)

_INVENTORIES = (
    select(
        _providers.c.uuid,
        resource_classes.c.name,
        inventories.c.total,
        inventories.c.reserved,
        inventories.c.min_unit,
        inventories.c.max_unit,
        inventories.c.step_size,
        inventories.c.allocation_ratio,
        # MySQL sums integers to a decimal.
        cast(func.coalesce(func.sum(allocations.c.used), 0), BigInteger),
    )
    .join_from(inventories, _providers, _providers.c.id == inventories.c.resource_provider_id)
    .join(resource_classes, resource_classes.c.id == inventories.c.resource_class_id)
    .outerjoin(
        allocations,
        (allocations.c.resource_provider_id == inventories.c.resource_provider_id)
        & (allocations.c.resource_class_id == inventories.c.resource_class_id),
    )
    .group_by(inventories.c.id, _providers.c.id, resource_classes.c.id)
)

_TRAITS = (
    select(_providers.c.uuid, traits.c.name)
    .join_from(
        resource_provider_traits,
        _providers,
        _providers.c.id == resource_provider_traits.c.resource_provider_id,
    )
    .join(traits, traits.c.id == resource_provider_traits.c.trait_id)
)

_AGGREGATES = (
    select(_providers.c.uuid, placement_aggregates.c.uuid)
    .join_from(
        resource_provider_aggregates,
        _providers,
        _providers.c.id == resource_provider_aggregates.c.resource_provider_id,
    )
    .join(
        placement_aggregates,
        placement_aggregates.c.id == resource_provider_aggregates.c.aggregate_id,
    )
)
