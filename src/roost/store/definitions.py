"""Compares the indexes and keys of a database with those of the schema.

What a table or a column lacks that does not exist at all is not the business of this module: a
database that was not adopted yet has no consumer types, for example.
"""

import warnings
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Dialect, Table
from sqlalchemy.schema import AddConstraint, CreateIndex

from roost.model import Value
from roost.store.index_names import (
    HolderKind,
    IndexNames,
    NameHolder,
    drop_index,
    read_index_names,
)
from roost.store.schema import metadata


class PartKind(StrEnum):
    # In the order in which they can be added: a foreign key refers to a primary key.
    PRIMARY_KEY = "primary key"
    UNIQUE_KEY = "unique key"
    INDEX = "index"
    FOREIGN_KEY = "foreign key"


class PrimaryKey(Value, frozen=True, kw_only=True):
    """The primary key that a table has."""

    name: str  # empty in MySQL and SQLite
    columns: tuple[str, ...]  # none if there is no key


class MissingPart(Value, frozen=True, kw_only=True):
    """An index or a key that the schema has and the database does not."""

    kind: PartKind
    table: str
    columns: tuple[str, ...]
    refers_to: tuple[str, tuple[str, ...]] | None = None  # table and columns, of a foreign key
    statements: tuple[str, ...]  # that add it; none where the database has no such statement
    # What must be dropped by hand before.
    name_holder: NameHolder | None = None
    other_primary_key: PrimaryKey | None = None


class ExtraKey(Value, frozen=True, kw_only=True):
    """A key that the database has and the schema does not, so that it may refuse valid writes."""

    kind: PartKind
    table: str
    name: str
    columns: tuple[str, ...]
    is_constraint: bool  # or else a unique index


# ---------------------------------------------------------------------------------------------
# What the database has

# SQLAlchemy leaves out indexes on expressions in SQLite, and warns about each.
_EXPRESSION_WARNING = "Skipped unsupported reflection of expression-based index"


class _Found(Value, frozen=True, kw_only=True):
    """The parts of one table. Names are not compared: databases give some of their own."""

    columns: frozenset[str]
    indexes: frozenset[tuple[str, ...]]  # of every kind, by columns
    primary_key: PrimaryKey
    unique_keys: frozenset[frozenset[str]]  # by columns, whose order does not matter
    unique_indexes: frozenset[tuple[str, tuple[str, ...]]]  # name, columns; also of some rows
    constraints: frozenset[str]  # the names of those that are constraints
    foreign_keys: dict[tuple[Any, ...], str]  # columns, and what they refer to -> name


def _find(inspector: sa.Inspector, table: str, names: IndexNames) -> _Found:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _EXPRESSION_WARNING, sa.exc.SAWarning)
        indexes = inspector.get_indexes(table)
        constraints = inspector.get_unique_constraints(table)
    # An index of some rows, or of the first characters, replaces none of all.
    partial = {each["name"] for each in indexes if _is_partial(each)}
    whole = [each for each in indexes if each["name"] not in partial]
    unique_keys = [
        *(_columns(each) for each in whole if each["unique"]),
        *(tuple(each["column_names"]) for each in constraints if each["name"] not in partial),
    ]
    reflected = {each["name"] or "" for each in indexes}
    primary_key = inspector.get_pk_constraint(table)
    primary_columns = tuple(primary_key["constrained_columns"])
    return _Found(
        columns=frozenset(each["name"] for each in inspector.get_columns(table)),
        indexes=frozenset([*map(_columns, whole), *unique_keys, primary_columns]),
        primary_key=PrimaryKey(name=primary_key["name"] or "", columns=primary_columns),
        unique_keys=frozenset(map(frozenset, unique_keys)),
        unique_indexes=frozenset(
            [
                *((name, ("an expression",)) for name in names.unique_indexes(table) - reflected),
                *((each["name"] or "", _columns(each)) for each in indexes if each["unique"]),
                *((each["name"] or "", tuple(each["column_names"])) for each in constraints),
            ]
        ),
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
    options = index.get("dialect_options", {})
    return any(name.endswith(("_where", "_length", "_prefix")) for name in options)


def _columns(index: Any) -> tuple[str, ...]:
    return tuple(name or "" for name in index.get("expressions", index["column_names"]))


# ---------------------------------------------------------------------------------------------
# Comparing


def compare_definitions(connection: Connection) -> tuple[list[MissingPart], list[ExtraKey]]:
    """The indexes and keys that are missing, and the keys that should not be there.

    Missing parts are in an order in which they can be added. More indexes than the schema has are
    no fault: old revisions of Placement have some.
    """
    inspector = sa.inspect(connection)
    existing = set(inspector.get_table_names())
    names = read_index_names(connection)
    missing: list[MissingPart] = []
    extra: list[ExtraKey] = []
    for table in metadata.tables.values():
        if table.name in existing:
            found = _find(inspector, table.name, names)
            missing += _missing(table, found, names, connection.dialect)
            extra += _extra(table, found)
    order = list(PartKind)
    return sorted(missing, key=lambda part: order.index(part.kind)), extra


def _missing(
    table: Table, found: _Found, names: IndexNames, dialect: Dialect
) -> Iterator[MissingPart]:
    def part(
        kind: PartKind, columns: Sequence[str], statements: Sequence[str], **more: Any
    ) -> MissingPart:
        return MissingPart(
            kind=kind,
            table=table.name,
            columns=tuple(columns),
            statements=tuple(statements),
            **more,
        )

    def named(kind: PartKind, item: sa.Index | sa.UniqueConstraint) -> MissingPart:
        adding = _adding(item, dialect)
        columns = item.columns.keys()
        holder = names.find(str(item.name), table.name)
        if holder is None:
            return part(kind, columns, [adding])
        if holder.kind is HolderKind.INDEX and holder.table == table.name:
            # It has a name of the schema and keeps no rule, so it may be replaced.
            dropping = drop_index(dialect, table.name, holder.name)
            return part(kind, columns, [dropping, adding])
        return part(kind, columns, [adding], name_holder=holder)

    primary_key = tuple(table.primary_key.columns.keys())
    if {*found.primary_key.columns} != {*primary_key}:
        other = found.primary_key if found.primary_key.columns else None
        statements = _adding_primary_key(table, other, dialect)
        yield part(PartKind.PRIMARY_KEY, primary_key, statements, other_primary_key=other)
    for key in _unique_keys(table):
        columns = {*key.columns.keys()}
        if columns not in found.unique_keys and found.columns.issuperset(columns):
            yield named(PartKind.UNIQUE_KEY, key)
    for index in sorted(table.indexes, key=lambda index: str(index.name)):
        in_order = tuple(index.columns.keys())
        if in_order not in found.indexes and found.columns.issuperset(in_order):
            yield named(PartKind.INDEX, index)
    for reference, target in _foreign_keys(table).items():
        if reference not in found.foreign_keys and found.columns.issuperset(reference[0]):
            adding = _adding(target, dialect)
            name, is_taken = str(target.name), target.name in found.foreign_keys.values()
            holder = NameHolder(name=name, kind=HolderKind.CONSTRAINT, table=table.name)
            yield part(
                PartKind.FOREIGN_KEY,
                reference[0],
                [adding] if adding else [],
                refers_to=reference[1:],
                name_holder=holder if is_taken else None,
            )


def _extra(table: Table, found: _Found) -> Iterator[ExtraKey]:
    known = [{*key.columns.keys()} for key in (table.primary_key, *_unique_keys(table))]
    for name, columns in sorted(found.unique_indexes):
        # A key with more columns than one of the schema refuses nothing that this one allows.
        if not any(each.issubset(columns) for each in known):
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


def _adding(item: sa.Constraint | sa.Index, dialect: Dialect) -> str:
    """The statement that adds a part; empty where the database has none."""
    if isinstance(item, sa.Index):
        return _text(CreateIndex(item), dialect)
    if dialect.name != "sqlite":
        return _text(AddConstraint(item, isolate_from_table=False), dialect)
    if not isinstance(item, sa.UniqueConstraint):
        # SQLite adds keys to existing tables only in the form of a unique index.
        return ""
    columns = ", ".join(item.columns.keys())
    return f"CREATE UNIQUE INDEX {item.name} ON {item.table.name} ({columns})"


def _adding_primary_key(table: Table, other: PrimaryKey | None, dialect: Dialect) -> list[str]:
    adding = _adding(table.primary_key, dialect)
    if not adding or other is None:
        return [adding] if adding else []
    # In one statement, because MySQL does not leave a column that counts up without a key.
    name = dialect.identifier_preparer.quote(other.name)
    dropping = "DROP PRIMARY KEY" if dialect.name == "mysql" else f"DROP CONSTRAINT {name}"
    return [adding.replace(" ADD ", f" {dropping}, ADD ", 1)]


def _text(statement: Any, dialect: Dialect) -> str:
    return " ".join(str(statement.compile(dialect=dialect)).split())
