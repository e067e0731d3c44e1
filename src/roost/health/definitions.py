"""Finds indexes and keys that differ from the schema, and adds those that are missing.

A run of `placement-manage db sync` or of an old roost that was interrupted can leave tables without
them, and so can a hand-made copy of a database.
"""

from collections.abc import Collection, Iterator

from sqlalchemy import Connection, and_, exists, func, select, text

from roost.health.findings import Finding, FindingKind
from roost.store.definitions import ExtraKey, MissingPart, PartKind, compare_definitions
from roost.store.schema import metadata

INDEXES = frozenset({PartKind.INDEX})
KEYS = frozenset(PartKind) - INDEXES

_NEW_FILE = "run `roost db sync` on a new file, and copy the rows"


def find_wrong_definitions(connection: Connection) -> Iterator[Finding]:
    missing, extra = compare_definitions(connection)
    for part in missing:
        kind = FindingKind.MISSING_INDEX if part.kind in INDEXES else FindingKind.MISSING_KEY
        subject = f"{part.table} ({', '.join(part.columns)})"
        yield Finding(kind=kind, subject=subject, detail=_advice(connection, part))
    for key in extra:
        yield Finding(
            kind=FindingKind.EXTRA_KEY,
            subject=f"{key.table} ({', '.join(key.columns)})",
            detail=f"{key.kind} {key.name}: {_dropping(connection.dialect.name, key)}",
        )


def add_missing_parts(connection: Connection, kinds: Collection[PartKind]) -> int:
    """Add missing parts of these kinds, where that is possible; returns how many."""
    missing, _ = compare_definitions(connection)
    parts = [
        part
        for part in missing
        if part.kind in kinds and part.statement and not _obstacle(connection, part)
    ]
    for part in parts:
        connection.execute(text(part.statement))
    return len(parts)


def _advice(connection: Connection, part: MissingPart) -> str:
    obstacle = _obstacle(connection, part)
    cannot = f"SQLite cannot add it: {_NEW_FILE}"
    repair = f"{part.statement};" if part.statement else cannot
    return f"{part.kind}: {obstacle}, then {repair}" if obstacle else f"{part.kind}: {repair}"


def _obstacle(connection: Connection, part: MissingPart) -> str:
    """The rows because of which a key cannot be added; empty if there are none."""
    if part.kind in INDEXES:
        return ""
    if part.refers_to is not None:
        count = _count_dangling(connection, part)
        return f"remove {count} rows that refer to nothing" if count else ""
    table = metadata.tables[part.table]
    columns = [table.c[name] for name in part.columns]
    # Values that are NULL are never equal.
    given = and_(*(column.is_not(None) for column in columns))
    repeated = (
        select(*columns).where(given).group_by(*columns).having(func.count() > 1).order_by(*columns)
    )
    count = connection.scalar(select(func.count()).select_from(repeated.subquery())) or 0
    if not count:
        return ""
    example = ", ".join(map(str, connection.execute(repeated.limit(1)).one()))
    return f"{count} values are in more than one row ({example}): leave one row of each"


def _count_dangling(connection: Connection, part: MissingPart) -> int:
    assert part.refers_to is not None
    table, target = metadata.tables[part.table], metadata.tables[part.refers_to[0]].alias("target")
    columns = [table.c[name] for name in part.columns]
    names = zip(columns, part.refers_to[1], strict=True)
    found = exists().where(*(target.c[name] == column for column, name in names))
    rows = select(func.count()).select_from(table)
    return connection.scalar(rows.where(*(each.is_not(None) for each in columns), ~found)) or 0


def _dropping(dialect: str, key: ExtraKey) -> str:
    """The statement that removes a key."""
    if dialect == "mysql":
        what = "FOREIGN KEY" if key.kind is PartKind.FOREIGN_KEY else "INDEX"
        return f"ALTER TABLE {key.table} DROP {what} {key.name};"
    if not key.is_constraint:
        return f"DROP INDEX {key.name};"
    if dialect == "sqlite":
        return f"SQLite cannot drop it: {_NEW_FILE}"
    return f"ALTER TABLE {key.table} DROP CONSTRAINT {key.name};"
