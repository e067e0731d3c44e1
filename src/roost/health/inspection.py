"""What is wrong in the tables: rows that no release of Placement, nor roost, should leave behind.

Each kind of finding is one statement, whatever the size of the cloud.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    cast,
    distinct,
    func,
    literal,
    select,
)

from roost.health.findings import Finding
from roost.model import capacity
from roost.store.adoption.backfill import WITHOUT_CONSUMER, tops
from roost.store.schema import (
    allocations,
    consumers,
    inventories,
    placement_aggregates,
    projects,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
    users,
)


class Names(NamedTuple):
    """How ids are shown."""

    providers: Mapping[int, str]  # id -> UUID
    classes: Mapping[int, str]

    def provider(self, id: int) -> str:
        return self.providers.get(id, f"provider with id {id}")

    def resource_class(self, id: int) -> str:
        return self.classes.get(id, f"class with id {id}")


Step = Callable[[Connection, Names], Iterable[Finding]]


def names(connection: Connection) -> Names:
    providers = select(resource_providers.c.id, resource_providers.c.uuid)
    classes = select(resource_classes.c.id, resource_classes.c.name)
    return Names(
        dict(connection.execute(providers).all()),
        dict(connection.execute(classes).all()),
    )


# ---------------------------------------------------------------------------------------------
# Trees


class ProviderLine(NamedTuple):
    """Where a provider says that it stands."""

    id: int
    parent: int | None
    root: int | None


LINES = select(
    resource_providers.c.id,
    resource_providers.c.parent_provider_id,
    resource_providers.c.root_provider_id,
)


def lines(connection: Connection) -> list[ProviderLine]:
    return [ProviderLine(*row) for row in connection.execute(LINES)]


def find_broken_trees(connection: Connection, names: Names) -> Iterator[Finding]:
    found = lines(connection)
    top_of = tops({line.id: line.parent for line in found})
    for line in found:
        top = top_of[line.id]
        uuid = names.provider(line.id)
        if top is None:
            detail = f"its parents, from {names.provider(line.parent or 0)} on, have no end"
            yield Finding(kind="loop", subject=uuid, detail=detail)
        elif line.parent is not None and line.parent not in names.providers:
            detail = f"there is no {names.provider(line.parent)}"
            yield Finding(kind="missing_parent", subject=uuid, detail=detail)
        elif line.root != top:
            root = "no root" if line.root is None else f"root {names.provider(line.root)}"
            detail = f"has {root}, but the top of its parents is {names.provider(top)}"
            yield Finding(kind="wrong_root", subject=uuid, detail=detail)


# ---------------------------------------------------------------------------------------------
# Allocations and consumers

# MySQL sums integers to a decimal.
_TAKEN = cast(func.sum(allocations.c.used), BigInteger).label("used")


def find_over_capacity(connection: Connection, names: Names) -> Iterator[Finding]:
    taken = (
        select(allocations.c.resource_provider_id, allocations.c.resource_class_id, _TAKEN)
        .group_by(allocations.c.resource_provider_id, allocations.c.resource_class_id)
        .subquery()
    )
    rows = connection.execute(
        select(
            inventories.c.resource_provider_id,
            inventories.c.resource_class_id,
            inventories.c.total,
            inventories.c.reserved,
            inventories.c.allocation_ratio,
            taken.c.used,
        ).join(
            taken,
            (taken.c.resource_provider_id == inventories.c.resource_provider_id)
            & (taken.c.resource_class_id == inventories.c.resource_class_id),
        )
    )
    for provider, class_id, total, reserved, ratio, used in rows:
        # The rule has one home, so the database is not asked to apply it.
        if used > (most := capacity(total, reserved, ratio)):
            yield Finding(
                kind="over_capacity",
                subject=names.provider(provider),
                detail=f"{names.resource_class(class_id)}: {used} used of {most}",
            )


def find_without_inventory(connection: Connection, names: Names) -> Iterator[Finding]:
    has = (
        select(literal(1))
        .where(
            inventories.c.resource_provider_id == allocations.c.resource_provider_id,
            inventories.c.resource_class_id == allocations.c.resource_class_id,
        )
        .correlate(allocations)
        .exists()
    )
    rows = connection.execute(
        select(
            allocations.c.resource_provider_id,
            allocations.c.resource_class_id,
            _TAKEN,
            func.count(distinct(allocations.c.consumer_id)),
            func.min(allocations.c.consumer_id),
        )
        .where(~has)
        .group_by(allocations.c.resource_provider_id, allocations.c.resource_class_id)
    )
    for provider, class_id, used, count, consumer in rows:
        holders = f"consumer {consumer}" if count == 1 else f"{count} consumers, one is {consumer}"
        yield Finding(
            kind="no_inventory" if provider in names.providers else "no_provider",
            subject=names.provider(provider),
            detail=f"{names.resource_class(class_id)}: {used} held by {holders}",
        )


def find_unknown_consumers(connection: Connection, names: Names) -> Iterator[Finding]:
    rows = connection.execute(
        select(func.min(allocations.c.consumer_id), func.count())
        .where(WITHOUT_CONSUMER)
        .group_by(allocations.c.consumer_id)
    )
    for consumer, count in rows:
        detail = f"{count} allocation{'s' if count > 1 else ''}"
        yield Finding(kind="unknown_consumer", subject=consumer, detail=detail)


WITHOUT_ALLOCATION = ~(
    select(literal(1)).where(allocations.c.consumer_id == consumers.c.uuid).correlate(consumers)
).exists()


def find_orphaned_consumers(connection: Connection, names: Names) -> Iterator[Finding]:
    rows = connection.execute(
        select(consumers.c.uuid, consumers.c.generation).where(WITHOUT_ALLOCATION)
    )
    for consumer, generation in rows:
        detail = f"at generation {generation}"
        yield Finding(kind="orphaned_consumer", subject=consumer, detail=detail)


# ---------------------------------------------------------------------------------------------
# Rows that point to nothing


class Pointer(NamedTuple):
    """A column that holds the id of a row of another table."""

    column: Column[int]
    target: Column[int]

    @property
    def leads_nowhere(self) -> ColumnElement[bool]:
        exists = select(literal(1)).where(self.target == self.column)
        return ~exists.correlate(self.column.table).exists()


DANGLING = tuple(
    Pointer(column, target)
    for column, target in (
        (inventories.c.resource_provider_id, resource_providers.c.id),
        (resource_provider_traits.c.resource_provider_id, resource_providers.c.id),
        (resource_provider_traits.c.trait_id, traits.c.id),
        (resource_provider_aggregates.c.resource_provider_id, resource_providers.c.id),
        (resource_provider_aggregates.c.aggregate_id, placement_aggregates.c.id),
    )
)
OWNERS = (
    Pointer(consumers.c.project_id, projects.c.id),
    Pointer(consumers.c.user_id, users.c.id),
)
_CLASS = Pointer(inventories.c.resource_class_id, resource_classes.c.id)


def find_dangling(connection: Connection, names: Names) -> Iterator[Finding]:
    for pointer in DANGLING:
        column = pointer.column
        table = column.table
        rows = connection.execute(
            select(column, func.count(), func.min(table.c.resource_provider_id))
            .where(pointer.leads_nowhere)
            .group_by(column)
        )
        for id, count, provider in rows:
            of = "" if provider not in names.providers else f" of {names.provider(provider)}"
            more = "s" if count > 1 else ""
            yield Finding(
                kind="dangling",
                subject=f"{table.name}.{column.name} {id}",
                detail=f"{count} row{more}{of}; {pointer.target.table.name} has no row {id}",
            )


def find_without_class(connection: Connection, names: Names) -> Iterator[Finding]:
    rows = connection.execute(
        select(inventories.c.resource_provider_id, _CLASS.column).where(_CLASS.leads_nowhere)
    )
    for provider, class_id in rows:
        detail = f"there is no resource class with id {class_id}"
        yield Finding(kind="no_class", subject=names.provider(provider), detail=detail)


def find_without_owner(connection: Connection, names: Names) -> Iterator[Finding]:
    for pointer in OWNERS:
        rows = connection.execute(
            select(consumers.c.uuid, pointer.column).where(pointer.leads_nowhere)
        )
        for uuid, id in rows:
            detail = f"{pointer.target.table.name} has no row {id}"
            yield Finding(kind="no_owner", subject=uuid, detail=detail)


STEPS: Mapping[str, Step] = {
    "trees": find_broken_trees,
    "usage": find_over_capacity,
    "allocations": find_without_inventory,
    "consumers without a record": find_unknown_consumers,
    "consumers that hold nothing": find_orphaned_consumers,
    "projects and users": find_without_owner,
    "rows that point to nothing": find_dangling,
    "resource classes": find_without_class,
}


def count_gaps(connection: Connection) -> tuple[int, int]:
    """How many providers have no root, and how many consumers that hold something no record."""
    rootless = resource_providers.c.root_provider_id.is_(None)
    providers = select(func.count()).select_from(resource_providers).where(rootless)
    holders = select(func.count(distinct(allocations.c.consumer_id))).where(WITHOUT_CONSUMER)
    return connection.scalar(providers) or 0, connection.scalar(holders) or 0
