"""Compares the indexes and keys of a database with those of the schema.

What a table or a column lacks that does not exist at all is not the business of this module: a
database that was not adopted yet has no consumer types, for example.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Dialect, Table
from sqlalchemy.schema import AddConstraint, CreateIndex

from roost.model import Value
from roost.store.schema import metadata


class PartKind(StrEnum):
    INDEX = "index"
    PRIMARY_KEY = "primary key"
    UNIQUE_KEY = "unique key"
    FOREIGN_KEY = "foreign key"


class MissingPart(Value, frozen=True, kw_only=True):
    """An index or a key that the schema has and the database does not."""

    kind: PartKind
    table: str
    columns: tuple[str, ...]
    refers_to: tuple[str, tuple[str, ...]] | None = None  # table and columns, of a foreign key
    statement: str  # that adds it; empty where the database has none


class ExtraKey(Value, frozen=True, kw_only=True):
    """A key that the database has and the schema does not, so that it may refuse valid writes."""

    kind: PartKind
    table: str
    name: str
    columns: tuple[str, ...]
    is_constraint: bool  # or else a unique index


# ---------------------------------------------------------------------------------------------
# What the database has


class _Found(Value, frozen=True, kw_only=True):
    """The parts of one table. Names are not compared: databases give some of their own."""

    columns: frozenset[str]
    indexes: frozenset[tuple[str, ...]]  # of every kind, by columns
    index_names: frozenset[str]
    primary_key: tuple[str, ...]
    unique_keys: dict[tuple[str, ...], str]  # columns -> name
    constraints: frozenset[str]  # the names of those that are constraints
    foreign_keys: dict[tuple[Any, ...], str]  # columns, and what they refer to -> name


def _find(inspector: sa.Inspector, table: str) -> _Found:
    # An index of some rows only replaces none of all rows.
    indexes = [each for each in inspector.get_indexes(table) if not _is_partial(each)]
    constraints = inspector.get_unique_constraints(table)
    primary_key = tuple(inspector.get_pk_constraint(table)["constrained_columns"])
    unique_keys = {
        **{_columns(each): each["name"] or "" for each in indexes if each["unique"]},
        **{tuple(each["column_names"]): each["name"] or "" for each in constraints},
    }
    return _Found(
        columns=frozenset(each["name"] for each in inspector.get_columns(table)),
        indexes=frozenset([*map(_columns, indexes), *unique_keys, primary_key]),
        index_names=frozenset(each["name"] or "" for each in indexes),
        primary_key=primary_key,
        unique_keys=unique_keys,
        constraints=frozenset(each["name"] or "" for each in constraints),
        foreign_keys={
            (
                tuple(each["constrained_columns"]),
                each["referred_table"],
                tuple(each["referred_columns"]),
            ): each["name"] or ""
            for each in inspector.get_foreign_keys(table)
        },
    )


def _is_partial(index: Any) -> bool:
    return any(name.endswith("_where") for name in index.get("dialect_options", {}))


def _columns(index: Any) -> tuple[str, ...]:
    return tuple(name or "" for name in index["column_names"])


# ---------------------------------------------------------------------------------------------
# Comparing


def compare_definitions(connection: Connection) -> tuple[list[MissingPart], list[ExtraKey]]:
    """The indexes and keys that are missing, and the keys that should not be there.

    More indexes than the schema has are no fault: old revisions of Placement have some.
    """
    inspector = sa.inspect(connection)
    existing = set(inspector.get_table_names())
    missing: list[MissingPart] = []
    extra: list[ExtraKey] = []
    for table in metadata.tables.values():
        if table.name in existing:
            found = _find(inspector, table.name)
            missing += _missing(table, found, connection.dialect)
            extra += _extra(table, found)
    return missing, extra


def _missing(table: Table, found: _Found, dialect: Dialect) -> Iterator[MissingPart]:
    def part(kind: PartKind, columns: Sequence[str], statement: str, **more: Any) -> MissingPart:
        return MissingPart(
            kind=kind, table=table.name, columns=tuple(columns), statement=statement, **more
        )

    primary_key = tuple(table.primary_key.columns.keys())
    if found.primary_key != primary_key:
        yield part(PartKind.PRIMARY_KEY, primary_key, _adding(table.primary_key, dialect))
    for key in _unique_keys(table):
        columns = tuple(key.columns.keys())
        if columns not in found.unique_keys and found.columns.issuperset(columns):
            yield part(PartKind.UNIQUE_KEY, columns, _adding(key, dialect))
    for index in sorted(table.indexes, key=lambda index: str(index.name)):
        columns = tuple(index.columns.keys())
        is_found = index.name in found.index_names or columns in found.indexes
        if not is_found and found.columns.issuperset(columns):
            yield part(PartKind.INDEX, columns, _text(CreateIndex(index), dialect))
    for reference, target in _foreign_keys(table).items():
        if reference not in found.foreign_keys and found.columns.issuperset(reference[0]):
            yield part(
                PartKind.FOREIGN_KEY,
                reference[0],
                _adding(target, dialect),
                refers_to=reference[1:],
            )


def _extra(table: Table, found: _Found) -> Iterator[ExtraKey]:
    known = {tuple(key.columns.keys()) for key in _unique_keys(table)}
    for columns, name in found.unique_keys.items():
        if columns not in known and columns != found.primary_key:
            yield ExtraKey(
                kind=PartKind.UNIQUE_KEY,
                table=table.name,
                name=name,
                columns=columns,
                is_constraint=name in found.constraints,
            )
    for reference, name in found.foreign_keys.items():
        if reference not in _foreign_keys(table):
            yield ExtraKey(
                kind=PartKind.FOREIGN_KEY,
                table=table.name,
                name=name,
                columns=reference[0],
                is_constraint=True,
            )


def _unique_keys(table: Table) -> list[sa.UniqueConstraint]:
    keys = [each for each in table.constraints if isinstance(each, sa.UniqueConstraint)]
    return sorted(keys, key=lambda key: str(key.name))


def _foreign_keys(table: Table) -> dict[tuple[Any, ...], sa.ForeignKeyConstraint]:
    found: dict[tuple[Any, ...], sa.ForeignKeyConstraint] = {
        (
            tuple(each.columns.keys()),
            each.referred_table.name,
            tuple(element.column.name for element in each.elements),
        ): each
        for each in table.foreign_key_constraints
    }
    return {reference: found[reference] for reference in sorted(found)}


# ---------------------------------------------------------------------------------------------
# Statements


def _adding(key: sa.Constraint, dialect: Dialect) -> str:
    if dialect.name != "sqlite":
        return _text(AddConstraint(key, isolate_from_table=False), dialect)
    if not isinstance(key, sa.UniqueConstraint):
        # SQLite adds keys to existing tables only in the form of a unique index.
        return ""
    columns = ", ".join(key.columns.keys())
    return f"CREATE UNIQUE INDEX {key.name} ON {key.table.name} ({columns})"


def _text(statement: Any, dialect: Dialect) -> str:
    return " ".join(str(statement.compile(dialect=dialect)).split())
