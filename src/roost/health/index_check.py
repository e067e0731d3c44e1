"""Compares an index with the tables, which it reads by other statements than the index.

`roost.store.tables.index_rows` reads rows by id, and the index joins them in memory. The statements
here read the same facts by name, and the database joins them. So a fault on one side does not hide
on the other.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Connection, Select, Table, cast, func, select

from roost.health.findings import Finding, FindingKind
from roost.model import Value
from roost.progress import SILENT, Progress
from roost.search.index.index import Index
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
from roost.store.tables.index_rows import PART_ROWS_MAX, rows_to_read

_parents = resource_providers.alias("parents")
_providers = resource_providers.alias("providers")

# name, generation, UUID of the parent
ProviderContents = tuple[str, int, str | None]
# total, reserved, min_unit, max_unit, step_size, allocation_ratio, used
InventoryContents = tuple[int, int, int, int, int, float, int]


class TableContents(Value, frozen=True, kw_only=True):
    """Providers with all that they have, by UUID and name."""

    providers: Mapping[str, ProviderContents]
    inventories: Mapping[tuple[str, str], InventoryContents]  # provider, class
    traits: frozenset[tuple[str, str]]  # provider, trait
    aggregates: frozenset[tuple[str, str]]  # provider, aggregate as stored
    searched_aggregates: frozenset[tuple[str, str]]  # provider, aggregate as searches compare it


# ---------------------------------------------------------------------------------------------
# The tables


def read_contents(connection: Connection, progress: Progress = SILENT) -> TableContents:
    def rows(title: str, statement: Select[Any], counted: Table) -> Iterator[Any]:
        total = rows_to_read(connection, counted, progress)
        progress.stage(f"reading {title} by name", total)
        for part in connection.execute(statement).partitions(PART_ROWS_MAX):
            yield from part
            progress.advance(len(part))

    aggregates = frozenset(
        (uuid, other)
        for uuid, other in rows("aggregates", _AGGREGATES, resource_provider_aggregates)
    )
    return TableContents(
        providers={
            uuid: (name, generation or 0, parent)
            for uuid, name, generation, parent in rows("providers", _PROVIDERS, resource_providers)
        },
        inventories={
            (uuid, name): (*numbers, used)
            for uuid, name, *numbers, used in rows("inventories", _INVENTORIES, inventories)
        },
        traits=frozenset(
            (uuid, name) for uuid, name in rows("traits", _TRAITS, resource_provider_traits)
        ),
        aggregates=aggregates,
        searched_aggregates=frozenset((uuid, _spelled(other)) for uuid, other in aggregates),
    )


def _spelled(aggregate: str) -> str:
    """As `roost.uuids.canonical_uuid`, which the index uses, but by other means."""
    try:
        return str(UUID(aggregate))
    except ValueError:
        return aggregate


_PROVIDERS = select(
    _providers.c.uuid, _providers.c.name, _providers.c.generation, _parents.c.uuid
).outerjoin_from(_providers, _parents, _parents.c.id == _providers.c.parent_provider_id)

# By itself, because PostgreSQL groups joined rows by a primary key only if the table has one.
_USAGES = (
    select(
        allocations.c.resource_provider_id,
        allocations.c.resource_class_id,
        func.sum(allocations.c.used).label("used"),
    )
    .group_by(allocations.c.resource_provider_id, allocations.c.resource_class_id)
    .subquery()
)

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
        # In MySQL the sum of integers is a decimal.
        cast(func.coalesce(_USAGES.c.used, 0), BigInteger),
    )
    .join_from(inventories, _providers, _providers.c.id == inventories.c.resource_provider_id)
    .join(resource_classes, resource_classes.c.id == inventories.c.resource_class_id)
    .outerjoin(
        _USAGES,
        (_USAGES.c.resource_provider_id == inventories.c.resource_provider_id)
        & (_USAGES.c.resource_class_id == inventories.c.resource_class_id),
    )
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


# ---------------------------------------------------------------------------------------------
# The index


def compare_index(index: Index, tables: TableContents, ignored: set[str]) -> Iterator[Finding]:
    """Where the index differs from the tables, except for the providers in `ignored`."""
    served = _index_contents(index)
    stored = TableContents(
        providers={uuid: each for uuid, each in tables.providers.items() if uuid not in ignored},
        inventories={
            key: each for key, each in tables.inventories.items() if key[0] not in ignored
        },
        traits=frozenset(pair for pair in tables.traits if pair[0] not in ignored),
        aggregates=frozenset(pair for pair in tables.aggregates if pair[0] not in ignored),
        searched_aggregates=frozenset(
            pair for pair in tables.searched_aggregates if pair[0] not in ignored
        ),
    )
    yield from _differences("provider", served.providers, stored.providers)
    yield from _differences("inventory", served.inventories, stored.inventories)
    for what, in_index, in_tables in (
        ("trait", served.traits, stored.traits),
        ("aggregate", served.aggregates, stored.aggregates),
        ("aggregate in searches", served.searched_aggregates, stored.searched_aggregates),
    ):
        for uuid, name in in_index ^ in_tables:
            where = "served" if (uuid, name) in in_index else "in the tables"
            yield _finding(uuid, f"{what} {name} is only {where}")


def _differences(
    what: str, served: Mapping[Any, Any], stored: Mapping[Any, Any]
) -> Iterator[Finding]:
    if served == stored:
        return
    for key in served.keys() | stored.keys():
        if served.get(key) != stored.get(key):
            uuid, name = key if isinstance(key, tuple) else (key, "")
            text = f"{what} {name}".rstrip()
            yield _finding(
                uuid, f"{text}: served {_shown(served, key)}, in the tables {_shown(stored, key)}"
            )


def _shown(values: Mapping[Any, Any], key: Any) -> str:
    return " ".join(map(str, values[key])) if key in values else "nothing"


def _finding(uuid: str, detail: str) -> Finding:
    return Finding(kind=FindingKind.INDEX, subject=uuid, detail=detail)


def _index_contents(index: Index) -> TableContents:
    """What the index holds, in the form in which the tables are read."""
    rows = index.rows
    numbers = range(rows.count)
    generations, parents = rows.generation.tolist(), rows.parent.tolist()
    return TableContents(
        providers={
            index.uuids[row]: (
                index.names[row],
                generations[row],
                None if parents[row] < 0 else index.uuids[parents[row]],
            )
            for row in numbers
        },
        inventories=dict(_index_inventories(index)),
        traits=frozenset(
            (index.uuids[row], name) for row in numbers for name in _trait_names(index, row)
        ),
        aggregates=frozenset(
            (index.uuids[row], aggregate)
            for row in numbers
            for aggregate in index.stored_aggregates(row)
        ),
        searched_aggregates=frozenset(
            (index.uuids[row], aggregate)
            for row in numbers
            for aggregate in index.row_aggregates(row)
        ),
    )


def _trait_names(index: Index, row: int) -> Iterable[str]:
    names = index.traits.names
    return (names[number] for number in index.row_traits(row) if number in names)


def _index_inventories(index: Index) -> Iterator[tuple[tuple[str, str], Any]]:
    for class_id, column in index.columns.items():
        name = index.classes.names.get(class_id)
        if name is None:
            # The class does not exist, which is a finding already.
            continue
        fields = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
        values = [getattr(column, field)[: column.count].tolist() for field in (*fields, "used")]
        for row, *numbers in zip(column.row[: column.count].tolist(), *values, strict=True):
            yield (index.uuids[row], name), tuple(numbers)
