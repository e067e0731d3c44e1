"""Reads rows of the tables for the index: of every provider, or of some."""

from collections.abc import Collection
from typing import Any

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
    AGGREGATE_TYPECODES,
    INVENTORY_TYPECODES,
    PROVIDER_TYPECODES,
    TRAIT_TYPECODES,
    USAGE_TYPECODES,
    Rows,
    TableColumns,
)
from roost.progress import SILENT, Progress
from roost.store.connection.statements import chunks
from roost.store.schema import (
    allocations,
    inventories,
    last_modified,
    placement_aggregates,
    provider_generation,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)

# How many rows of a table are Python objects at a time while the whole table is read.
PART_ROWS_MAX = 5_000


class _Seconds(FunctionElement[float]):
    """A time as seconds since 1970, computed by the database.

    A large cloud has millions of times, and most drivers are slow to make datetime objects.
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
    # Times are texts. SQLite itself computes only whole seconds, or milliseconds, and rounds: from
    # .9995 on it would count the next second. So the fraction is cut off, and added afterwards.
    moment = compiler.process(element.clauses, **options)
    seconds = f"strftime('%s', substr({moment}, 1, 19))"
    return f"({seconds} + CAST(substr({moment}, 20) AS REAL))"


def _modified_seconds(table: Table) -> Any:
    return func.coalesce(_Seconds(last_modified(table)), 0.0)


_PROVIDERS = select(
    resource_providers.c.id,
    resource_providers.c.uuid,
    resource_providers.c.name,
    provider_generation.label("generation"),
    # Early releases of Placement stored no root for a root provider.
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

# In MySQL the sum of integers is a decimal.
_USAGES = select(
    allocations.c.resource_provider_id,
    allocations.c.resource_class_id,
    cast(func.sum(allocations.c.used), BigInteger),
).group_by(allocations.c.resource_provider_id, allocations.c.resource_class_id)

_TRAITS = select(
    resource_provider_traits.c.resource_provider_id, resource_provider_traits.c.trait_id
)

# Ids of aggregates are in the order in which the aggregates were first named.
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


def read_all(connection: Connection, progress: Progress = SILENT) -> Rows:
    """Every row that the index needs. The caller has begun a snapshot."""

    def fetch(statement: Select[Any]) -> list[Any]:
        return list(map(tuple, connection.execute(statement)))

    def fetch_table(statement: Select[Any], kinds: str) -> TableColumns:
        table = TableColumns(kinds)
        options = {"yield_per": PART_ROWS_MAX}
        for part in connection.execute(statement, execution_options=options).partitions():
            table.extend(part)
            progress.advance(len(part))
        return table

    def fetch_counted(
        title: str, statement: Select[Any], kinds: str, counted: Table
    ) -> TableColumns:
        progress.stage(f"reading {title}", rows_to_read(connection, counted, progress))
        return fetch_table(statement, kinds)

    def fetch_usages() -> TableColumns:
        # How many sums there are is known only when all of them have been computed.
        progress.stage("adding up allocations")
        return fetch_table(_USAGES, USAGE_TYPECODES)

    return Rows(
        providers=fetch_counted("providers", _PROVIDERS, PROVIDER_TYPECODES, resource_providers),
        inventories=fetch_counted("inventories", _INVENTORIES, INVENTORY_TYPECODES, inventories),
        usages=fetch_usages(),
        traits=fetch_counted("traits", _TRAITS, TRAIT_TYPECODES, resource_provider_traits),
        aggregates=fetch_counted(
            "aggregates", _AGGREGATES, AGGREGATE_TYPECODES, resource_provider_aggregates
        ),
        resource_classes=fetch(_CLASS_NAMES),
        trait_names=fetch(_TRAIT_NAMES),
    )


def rows_to_read(connection: Connection, table: Table, progress: Progress) -> int | None:
    """How many rows a table has; None if nobody wants to know."""
    if not progress.is_shown:
        return None
    return connection.scalar(select(func.count()).select_from(table)) or 0


def read_some(
    connection: Connection,
    provider_ids: Collection[int],
    class_ids: Collection[int],
    trait_ids: Collection[int],
) -> Rows:
    """The rows of these providers, classes and traits. The caller has begun a snapshot."""

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
