"""Finds rows in the tables that neither Placement nor roost should have left behind.

Each kind of finding takes one statement, whatever the size of the cloud.
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

from roost.health.findings import Finding, FindingKind
from roost.model import capacity
from roost.store.adoption.backfill import WITHOUT_CONSUMER, roots_by_parents
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
    """UUIDs and names, to show instead of ids."""

    providers: Mapping[int, str]  # id -> UUID
    classes: Mapping[int, str]

    def provider(self, id: int) -> str:
        return self.providers.get(id, f"provider with id {id}")

    def resource_class(self, id: int) -> str:
        return self.classes.get(id, f"class with id {id}")


Step = Callable[[Connection, Names], Iterable[Finding]]


def read_names(connection: Connection) -> Names:
    providers = select(resource_providers.c.id, resource_providers.c.uuid)
    classes = select(resource_classes.c.id, resource_classes.c.name)
    return Names(
        dict(connection.execute(providers).all()),
        dict(connection.execute(classes).all()),
    )


# ---------------------------------------------------------------------------------------------
# Trees


class TreeLinks(NamedTuple):
    """The ids of a provider, its parent and its root, as its row names them."""

    id: int
    parent: int | None
    root: int | None


_TREE_LINKS = select(
    resource_providers.c.id,
    resource_providers.c.parent_provider_id,
    resource_providers.c.root_provider_id,
)


def read_tree_links(connection: Connection) -> list[TreeLinks]:
    return [TreeLinks(*row) for row in connection.execute(_TREE_LINKS)]


def find_broken_trees(connection: Connection, names: Names) -> Iterator[Finding]:
    providers = read_tree_links(connection)
    roots = roots_by_parents({each.id: each.parent for each in providers})
    for each in providers:
        root = roots[each.id]
        uuid = names.provider(each.id)
        if root is None:
            detail = f"its parents, from {names.provider(each.parent or 0)} on, have no end"
            yield Finding(kind=FindingKind.LOOP, subject=uuid, detail=detail)
        elif each.parent is not None and each.parent not in names.providers:
            detail = f"there is no {names.provider(each.parent)}"
            yield Finding(kind=FindingKind.MISSING_PARENT, subject=uuid, detail=detail)
        elif each.root != root:
            has = "no root" if each.root is None else f"root {names.provider(each.root)}"
            detail = f"has {has}, but the top of its parents is {names.provider(root)}"
            yield Finding(kind=FindingKind.WRONG_ROOT, subject=uuid, detail=detail)


# ---------------------------------------------------------------------------------------------
# Allocations and consumers

# In MySQL the sum of integers is a decimal.
_USED = cast(func.sum(allocations.c.used), BigInteger).label("used")


def find_over_capacity(connection: Connection, names: Names) -> Iterator[Finding]:
    usage = (
        select(allocations.c.resource_provider_id, allocations.c.resource_class_id, _USED)
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
            usage.c.used,
        ).join(
            usage,
            (usage.c.resource_provider_id == inventories.c.resource_provider_id)
            & (usage.c.resource_class_id == inventories.c.resource_class_id),
        )
    )
    for provider, class_id, total, reserved, ratio, used in rows:
        # The rule has one home, so the database does not apply it.
        if used > (limit := capacity(total, reserved, ratio)):
            yield Finding(
                kind=FindingKind.OVER_CAPACITY,
                subject=names.provider(provider),
                detail=f"{names.resource_class(class_id)}: {used} used of {limit}",
            )


def find_without_inventory(connection: Connection, names: Names) -> Iterator[Finding]:
    has_inventory = (
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
            _USED,
            func.count(distinct(allocations.c.consumer_id)),
            func.min(allocations.c.consumer_id),
        )
        .where(~has_inventory)
        .group_by(allocations.c.resource_provider_id, allocations.c.resource_class_id)
    )
    for provider, class_id, used, count, consumer in rows:
        holders = f"consumer {consumer}" if count == 1 else f"{count} consumers, one is {consumer}"
        yield Finding(
            kind=FindingKind.NO_INVENTORY
            if provider in names.providers
            else FindingKind.NO_PROVIDER,
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
        yield Finding(kind=FindingKind.UNKNOWN_CONSUMER, subject=consumer, detail=detail)


def find_same_consumers(connection: Connection, names: Names) -> Iterator[Finding]:
    """Consumers whose UUIDs are spelled in two ways, as Placement stores them.

    A database that takes them for equal has none, unless its unique key is missing.
    """
    first, last = func.min(consumers.c.uuid), func.max(consumers.c.uuid)
    rows = connection.execute(
        select(first, last, func.count())
        .group_by(func.lower(consumers.c.uuid))
        # Rows of one spelling are in the way of the unique key, which is another finding.
        .having(func.count() > 1, first != last)
    )
    for one, other, count in rows:
        more = "" if count == 2 else f", and {count - 2} more"
        detail = f"also stored as {other}{more}"
        yield Finding(kind=FindingKind.SAME_CONSUMER, subject=one, detail=detail)


WITHOUT_ALLOCATION = ~(
    select(literal(1)).where(allocations.c.consumer_id == consumers.c.uuid).correlate(consumers)
).exists()


def find_orphaned_consumers(connection: Connection, names: Names) -> Iterator[Finding]:
    rows = connection.execute(
        select(consumers.c.uuid, consumers.c.generation).where(WITHOUT_ALLOCATION)
    )
    for consumer, generation in rows:
        detail = f"at generation {generation}"
        yield Finding(kind=FindingKind.ORPHANED_CONSUMER, subject=consumer, detail=detail)


# ---------------------------------------------------------------------------------------------
# References to rows that do not exist


class Reference(NamedTuple):
    """A column that holds the id of a row of another table."""

    column: Column[int]
    target: Column[int]

    @property
    def is_dangling(self) -> ColumnElement[bool]:
        """Whether the other table has no such row."""
        exists = select(literal(1)).where(self.target == self.column)
        return ~exists.correlate(self.column.table).exists()


# References without which a row has no meaning.
ESSENTIAL_REFERENCES = tuple(
    Reference(column, target)
    for column, target in (
        (inventories.c.resource_provider_id, resource_providers.c.id),
        (resource_provider_traits.c.resource_provider_id, resource_providers.c.id),
        (resource_provider_traits.c.trait_id, traits.c.id),
        (resource_provider_aggregates.c.resource_provider_id, resource_providers.c.id),
        (resource_provider_aggregates.c.aggregate_id, placement_aggregates.c.id),
    )
)
OWNER_REFERENCES = (
    Reference(consumers.c.project_id, projects.c.id),
    Reference(consumers.c.user_id, users.c.id),
)
_CLASS_REFERENCE = Reference(inventories.c.resource_class_id, resource_classes.c.id)


def find_dangling(connection: Connection, names: Names) -> Iterator[Finding]:
    for reference in ESSENTIAL_REFERENCES:
        column = reference.column
        table = column.table
        rows = connection.execute(
            select(column, func.count(), func.min(table.c.resource_provider_id))
            .where(reference.is_dangling)
            .group_by(column)
        )
        for id, count, provider in rows:
            of = "" if provider not in names.providers else f" of {names.provider(provider)}"
            more = "s" if count > 1 else ""
            yield Finding(
                kind=FindingKind.DANGLING,
                subject=f"{table.name}.{column.name} {id}",
                detail=f"{count} row{more}{of}; {reference.target.table.name} has no row {id}",
            )


def find_without_class(connection: Connection, names: Names) -> Iterator[Finding]:
    rows = connection.execute(
        select(inventories.c.resource_provider_id, _CLASS_REFERENCE.column).where(
            _CLASS_REFERENCE.is_dangling
        )
    )
    for provider, class_id in rows:
        detail = f"there is no resource class with id {class_id}"
        yield Finding(kind=FindingKind.NO_CLASS, subject=names.provider(provider), detail=detail)


def find_without_owner(connection: Connection, names: Names) -> Iterator[Finding]:
    for reference in OWNER_REFERENCES:
        rows = connection.execute(
            select(consumers.c.uuid, reference.column).where(reference.is_dangling)
        )
        for uuid, id in rows:
            detail = f"{reference.target.table.name} has no row {id}"
            yield Finding(kind=FindingKind.NO_OWNER, subject=uuid, detail=detail)


# By the names that are shown while a step runs.
STEPS: Mapping[str, Step] = {
    "trees": find_broken_trees,
    "usage": find_over_capacity,
    "allocations": find_without_inventory,
    "consumers without a record": find_unknown_consumers,
    "spellings of consumers": find_same_consumers,
    "consumers that hold nothing": find_orphaned_consumers,
    "projects and users": find_without_owner,
    "rows that point to nothing": find_dangling,
    "resource classes": find_without_class,
}


def count_missing_rows(connection: Connection) -> tuple[int, int]:
    """The number of providers without a root, and of consumers with allocations but no record."""
    rootless = resource_providers.c.root_provider_id.is_(None)
    providers = select(func.count()).select_from(resource_providers).where(rootless)
    holders = select(func.count(distinct(allocations.c.consumer_id))).where(WITHOUT_CONSUMER)
    return connection.scalar(providers) or 0, connection.scalar(holders) or 0
