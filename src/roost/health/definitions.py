"""Finds indexes and keys that differ from the schema, and adds those that are missing.

A run of `placement-manage db sync` or of an old roost that was interrupted can leave tables without
them, and so can a hand-made copy of a database.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, and_, exists, func, or_, select

from roost.health.findings import Finding, FindingKind
from roost.store.definitions import ExtraKey, MissingPart, PartKind, compare_definitions
from roost.store.index_names import HolderKind, NameHolder, drop_constraint, drop_index
from roost.store.schema import metadata

INDEXES = frozenset({PartKind.INDEX})
KEYS = frozenset(PartKind) - INDEXES

_NEW_FILE = "run `roost db sync` on a new file, and copy the rows"


def find_wrong_definitions(connection: Connection) -> Iterator[Finding]:
    missing, extra = compare_definitions(connection)
    for part, obstacles in _with_obstacles(connection, missing):
        if part.kind is PartKind.PRIMARY_KEY and (count := _count_incomplete(connection, part)):
            detail = f"{count} row{'s' if count > 1 else ''}"
            yield Finding(kind=FindingKind.NULL_IN_KEY, subject=describe(part), detail=detail)
        yield Finding(
            kind=FindingKind.MISSING_INDEX if part.kind in INDEXES else FindingKind.MISSING_KEY,
            subject=describe(part),
            detail=_advice(part, obstacles),
            is_blocked=bool(obstacles) or not part.statements,
        )
    for key in extra:
        yield Finding(
            kind=FindingKind.EXTRA_KEY,
            subject=f"{key.table} ({', '.join(key.columns)})",
            detail=f"{key.kind} {key.name}: {_dropping(connection, key)}",
        )


def find_addable(connection: Connection, kinds: Collection[PartKind]) -> list[MissingPart]:
    """The missing parts of these kinds that nothing is in the way of, in the order to add them."""
    missing, _ = compare_definitions(connection)
    return [
        part
        for part, obstacles in _with_obstacles(connection, missing)
        if part.kind in kinds and part.statements and not obstacles
    ]


def describe(part: MissingPart) -> str:
    return f"{part.table} ({', '.join(part.columns)})"


def _advice(part: MissingPart, obstacles: Sequence[str]) -> str:
    steps = [*obstacles, *part.statements]
    if not part.statements:
        steps.append(f"SQLite cannot add it: {_NEW_FILE}")
    text = "; then ".join(steps) if obstacles else "; ".join(steps)
    return f"{part.kind}: {text}" + (";" if part.statements else "")


# ---------------------------------------------------------------------------------------------
# What is in the way of adding a part


class _PartWithObstacles(NamedTuple):
    part: MissingPart
    obstacles: Sequence[str]  # each with what to do about it


def _with_obstacles(
    connection: Connection, missing: Sequence[MissingPart]
) -> Iterator[_PartWithObstacles]:
    blocked = set()  # tables whose primary keys cannot be added
    for part in missing:
        obstacles = [*_obstacles(connection, part)]
        if part.refers_to is not None and part.refers_to[0] in blocked:
            obstacles.append(f"add the primary key of {part.refers_to[0]}")
        if part.kind is PartKind.PRIMARY_KEY and obstacles:
            blocked.add(part.table)
        yield _PartWithObstacles(part, obstacles)


def _obstacles(connection: Connection, part: MissingPart) -> Iterator[str]:
    if part.name_holder is not None:
        yield _taken(connection, part.name_holder)
    if part.other_primary_key is not None:
        columns = ", ".join(part.other_primary_key.columns)
        yield f"the table has another primary key, ({columns}): see what needs it"
    if part.kind is PartKind.PRIMARY_KEY and (count := _count_incomplete(connection, part)):
        yield f"complete or remove {count} rows with NULL in {' or '.join(part.columns)}"
    if part.kind in (PartKind.PRIMARY_KEY, PartKind.UNIQUE_KEY):
        yield from _repeated(connection, part)
    if part.refers_to is not None and (count := _count_dangling(connection, part)):
        yield f"remove {count} rows that refer to nothing"


def _taken(connection: Connection, holder: NameHolder) -> str:
    of = f" of {holder.table}" if holder.table else ""
    text = f"the name {holder.name} is taken by {holder.kind}{of}"
    match holder.kind:
        case HolderKind.INDEX | HolderKind.UNIQUE_INDEX:
            drop = drop_index(connection.dialect, holder.table, holder.name)
            return f"{text}: unless you need it, {drop}"
        case HolderKind.CONSTRAINT:
            return f"{text}: {drop_constraint(connection.dialect, holder.table, holder.name)}"
        case _:
            return f"{text}: rename it"


def _count_incomplete(connection: Connection, part: MissingPart) -> int:
    table = metadata.tables[part.table]
    is_incomplete = or_(*(table.c[name].is_(None) for name in part.columns))
    return connection.scalar(select(func.count()).select_from(table).where(is_incomplete)) or 0


def _repeated(connection: Connection, part: MissingPart) -> Iterator[str]:
    table = metadata.tables[part.table]
    columns = [table.c[name] for name in part.columns]
    # Values that are NULL are never equal.
    given = and_(*(column.is_not(None) for column in columns))
    repeated = (
        select(*columns).where(given).group_by(*columns).having(func.count() > 1).order_by(*columns)
    )
    count = connection.scalar(select(func.count()).select_from(repeated.subquery())) or 0
    if count:
        example = ", ".join(map(str, connection.execute(repeated.limit(1)).one()))
        yield f"{count} values are in more than one row ({example}): leave one row of each"


def _count_dangling(connection: Connection, part: MissingPart) -> int:
    assert part.refers_to is not None
    table, target = metadata.tables[part.table], metadata.tables[part.refers_to[0]].alias("target")
    columns = [table.c[name] for name in part.columns]
    names = zip(columns, part.refers_to[1], strict=True)
    found = exists().where(*(target.c[name] == column for column, name in names))
    rows = select(func.count()).select_from(table)
    return connection.scalar(rows.where(*(each.is_not(None) for each in columns), ~found)) or 0


def _dropping(connection: Connection, key: ExtraKey) -> str:
    """What removes a key."""
    dialect = connection.dialect
    is_index = dialect.name == "mysql" and key.kind is PartKind.UNIQUE_KEY
    if is_index or not key.is_constraint:
        return f"{drop_index(dialect, key.table, key.name)};"
    if dialect.name == "sqlite":
        return f"SQLite cannot drop it: {_NEW_FILE}"
    return f"{drop_constraint(dialect, key.table, key.name)};"
