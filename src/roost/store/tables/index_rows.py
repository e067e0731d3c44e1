"""Rows of the tables as the index takes them: of everything, or of some providers."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Select,
    Table,
    cast,
    func,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from roost.changes import (
    AGGREGATE_KINDS,
    INVENTORY_KINDS,
    PROVIDER_KINDS,
    TRAIT_KINDS,
    USAGE_KINDS,
    Rows,
    TableColumns,
)
from roost.store.schema import (
    allocations,
    inventories,
    placement_aggregates,
    provider_generation,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)

# Databases limit the number of parameters of a statement.
CHUNK = 500

# As many rows of a whole table are objects at a time.
PART_ROWS_MAX = 5_000

Key = TypeVar("Key", int, str)


def chunks(keys: Iterable[Key], size: int = CHUNK) -> Iterator[list[Key]]:
    """The keys in order, in lists that a statement can hold."""
    ordered = sorted(keys)
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]


def modified(table: Table) -> Any:
    """When a row was last written."""
    return func.coalesce(table.c.updated_at, table.c.created_at)


class _Seconds(FunctionElement[float]):
    """A time as seconds since 1970.

    Said by the database: a large cloud has many times, and most drivers are slow to make one.
    """

    type = Float()
    inherit_cache = True


@compiles(_Seconds, "postgresql")
def _seconds_postgresql(element: Any, compiler: Any, **options: Any) -> str:
    moment = compiler.process(element.clauses, **options)
    return f"CAST(EXTRACT(EPOCH FROM {moment}) AS DOUBLE PRECISION)"


@compiles(_Seconds, "mysql")
def _seconds_mysql(element: Any, compiler: Any, **options: Any) -> str:
    moment = compiler.process(element.clauses, **options)
    return f"TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {moment}) / 1e6"


@compiles(_Seconds, "sqlite")
def _seconds_sqlite(element: Any, compiler: Any, **options: Any) -> str:
    # Times are texts, of which SQLite itself counts whole seconds only, or thousandths.
    moment = compiler.process(element.clauses, **options)
    return f"(strftime('%s', {moment}) + CAST(substr({moment}, 20) AS REAL))"


def _modified_seconds(table: Table) -> Any:
    return func.coalesce(_Seconds(modified(table)), 0.0)


_PROVIDERS = select(
    resource_providers.c.id,
    resource_providers.c.uuid,
    resource_providers.c.name,
    provider_generation.label("generation"),
    # Rows of early Placement releases have no root: they are their own.
    func.coalesce(resource_providers.c.root_provider_id, resource_providers.c.id),
    resource_providers.c.parent_provider_id,
    _modified_seconds(resource_providers),
).order_by(resource_providers.c.id)

_INVENTORIES = select(
    inventories.c.resource_provider_id,
    inventories.c.resource_class_id,
    inventories.c.total,
    inventories.c.reserved,
    inventories.c.min_unit,
    inventories.c.max_unit,
    inventories.c.step_size,
    inventories.c.allocation_ratio,
    _modified_seconds(inventories),
)

# MySQL sums integers to a decimal.
_USAGES = select(
    allocations.c.resource_provider_id,
    allocations.c.resource_class_id,
    cast(func.sum(allocations.c.used), BigInteger),
).group_by(allocations.c.resource_provider_id, allocations.c.resource_class_id)

_TRAITS = select(
    resource_provider_traits.c.resource_provider_id, resource_provider_traits.c.trait_id
)

# Aggregates became known in the order of their ids.
_AGGREGATES = (
    select(resource_provider_aggregates.c.resource_provider_id, placement_aggregates.c.uuid)
    .join_from(
        resource_provider_aggregates,
        placement_aggregates,
        placement_aggregates.c.id == resource_provider_aggregates.c.aggregate_id,
    )
    .order_by(placement_aggregates.c.id)
)

_CLASS_NAMES = select(
    resource_classes.c.id, resource_classes.c.name, _modified_seconds(resource_classes)
).order_by(resource_classes.c.id)
_TRAIT_NAMES = select(traits.c.id, traits.c.name, _modified_seconds(traits)).order_by(traits.c.id)


def read_all(connection: Connection) -> Rows:
    def fetch(statement: Select[Any]) -> list[Any]:
        return list(map(tuple, connection.execute(statement)))

    def fetch_table(statement: Select[Any], kinds: str) -> TableColumns:
        table = TableColumns(kinds)
        options = {"yield_per": PART_ROWS_MAX}
        for part in connection.execute(statement, execution_options=options).partitions():
            table.extend(part)
        return table

    return Rows(
        providers=fetch_table(_PROVIDERS, PROVIDER_KINDS),
        inventories=fetch_table(_INVENTORIES, INVENTORY_KINDS),
        usages=fetch_table(_USAGES, USAGE_KINDS),
        traits=fetch_table(_TRAITS, TRAIT_KINDS),
        aggregates=fetch_table(_AGGREGATES, AGGREGATE_KINDS),
        resource_classes=fetch(_CLASS_NAMES),
        trait_names=fetch(_TRAIT_NAMES),
    )


def read_some(
    connection: Connection,
    provider_ids: Collection[int],
    class_ids: Collection[int],
    trait_ids: Collection[int],
) -> Rows:
    def fetch(statement: Select[Any], column: Column[Any], ids: Collection[int]) -> list[Any]:
        return [
            tuple(row)
            for chunk in chunks(ids)
            for row in connection.execute(statement.where(column.in_(chunk)))
        ]

    return Rows(
        providers=fetch(_PROVIDERS, resource_providers.c.id, provider_ids),
        inventories=fetch(_INVENTORIES, inventories.c.resource_provider_id, provider_ids),
        usages=fetch(_USAGES, allocations.c.resource_provider_id, provider_ids),
        traits=fetch(_TRAITS, resource_provider_traits.c.resource_provider_id, provider_ids),
        aggregates=fetch(
            _AGGREGATES, resource_provider_aggregates.c.resource_provider_id, provider_ids
        ),
        resource_classes=fetch(_CLASS_NAMES, resource_classes.c.id, class_ids),
        trait_names=fetch(_TRAIT_NAMES, traits.c.id, trait_ids),
    )
