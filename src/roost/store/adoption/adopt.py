"""Placement's own tables, as a release of OpenStack Placement left them.

Which revision they have is told by Placement's `alembic_version`. Adopting them adds what newer
releases of Placement added and roost needs, and fills in what old releases left empty. Nothing is
removed or renamed, and `alembic_version` says what is true afterwards: any later Placement goes on
from there.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy import Connection

from roost.errors import Unavailable
from roost.model import Value
from roost.store.adoption.backfill import (
    MissingRoots,
    create_consumers,
    missing_roots,
    name_row,
    set_roots,
)
from roost.store.schema import PLACEMENT_TABLES, consumer_types, consumers, projects, users

# Placement's revisions, oldest first. Train ended with the third, Xena brought the fourth.
REVISIONS = ("b4ed3a175331", "611cd6dffd7b", "b5c396305c25", "422ece571366", "a082b8bb98d0")
NEWEST = REVISIONS[-1]

# From this one on the tables have every column. The revision after it only drops indexes that
# are there twice, which is left to Placement.
WITH_EVERY_COLUMN = "422ece571366"

VERSION_TABLE = "alembic_version"
ROOST_VERSION_TABLE = "roost_alembic_version"

# An index that the newest revision has no more.
_DROPPED_INDEX = ("resource_providers", "resource_providers_uuid_idx")

ZEROS = "00000000-0000-0000-0000-000000000000"


class IncompleteIds(Value, frozen=True, kw_only=True):
    """Whose the consumers are that old releases wrote without a project and a user."""

    project: str = ZEROS
    user: str = ZEROS


def revision(connection: Connection) -> str | None:
    """The revision of Placement's tables; None where there are none.

    Raises `Unavailable` where the tables are not those of a Placement that roost knows.
    """
    inspector = sa.inspect(connection)
    tables = set(inspector.get_table_names())
    present = tables & {table.name for table in PLACEMENT_TABLES}
    stamps = _stamps(connection) if VERSION_TABLE in tables else []
    if stamps:
        _refuse_unknown(stamps)
        if not present:
            raise Unavailable(
                f"alembic_version says {stamps[0]}, but there are no tables of Placement: restore "
                "them from a backup, or begin with an empty database."
            )
        _refuse_incomplete(stamps[0], _missing_columns(inspector, present))
        return stamps[0]
    # Roost's version table comes first and Placement's last where roost creates the tables: so
    # this is its own work, which was interrupted on a database that cannot undo it.
    begun = ROOST_VERSION_TABLE in tables and VERSION_TABLE not in tables
    if not present or (begun and _missing_columns(inspector, present)):
        return None
    return _recognised(inspector, tables, present)


def has_every_column(found: str) -> bool:
    return REVISIONS.index(found) >= REVISIONS.index(WITH_EVERY_COLUMN)


def adopt(connection: Connection, incomplete: IncompleteIds, *, is_first: bool) -> None:
    """Bring the tables of an older Placement to what roost needs. Harmless when done twice.

    Only the first time are the rows looked at, which takes a while: Placement itself refuses to
    leave gaps in them since Train.
    """
    found = revision(connection)
    if found is None or (has_every_column(found) and not is_first):
        return
    # First all that may be refused, then rows, then tables: not every database undoes the latter.
    roots = missing_roots(connection)
    _refuse_circles(roots)
    set_roots(connection, roots.found)
    _create_missing_consumers(connection, incomplete)
    tables = set(sa.inspect(connection).get_table_names())
    if not has_every_column(found):
        _add_consumer_types(connection, tables)
        found = WITH_EVERY_COLUMN
    stamp(connection, found)


def stamp(connection: Connection, found: str) -> None:
    """Let Placement's own table say which revision its tables have."""
    if VERSION_TABLE not in sa.inspect(connection).get_table_names():
        sa.Table(
            VERSION_TABLE,
            sa.MetaData(),
            sa.Column("version_num", sa.String(32), nullable=False),
            sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
        ).create(connection)
    if _stamps(connection) != [found]:
        connection.execute(sa.delete(_STAMP))
        connection.execute(sa.insert(_STAMP).values(version_num=found))


_STAMP = sa.table(VERSION_TABLE, sa.column("version_num"))


def _stamps(connection: Connection) -> list[str]:
    return list(connection.scalars(sa.select(_STAMP.c.version_num)))


# ---------------------------------------------------------------------------------------------
# What is refused


def _refuse_unknown(stamps: Sequence[str]) -> None:
    unknown = [each for each in stamps if each not in REVISIONS]
    if unknown or len(stamps) > 1:
        raise Unavailable(
            f"alembic_version says {', '.join(stamps)}, which is no revision of Placement that "
            f"this version of roost knows (the newest is {NEWEST}): it is the database of a newer "
            "Placement, or of another program. Nothing was changed."
        )


def _refuse_incomplete(found: str, missing: Sequence[str]) -> None:
    if not has_every_column(found):
        missing = [name for name in missing if name not in _CONSUMER_TYPE_PARTS]
    if missing:
        raise Unavailable(
            f"alembic_version says {found}, but {', '.join(missing)} are missing: restore them "
            "from a backup. Nothing was changed."
        )


def _refuse_circles(roots: MissingRoots) -> None:
    if roots.in_circles:
        some = ", ".join(sorted(roots.in_circles)[:3])
        raise Unavailable(
            f"{len(roots.in_circles)} providers have no root and are below each other in a circle "
            f"({some}): set resource_providers.parent_provider_id of one of them to NULL, then run "
            "`roost db sync` again. Nothing was changed."
        )


# ---------------------------------------------------------------------------------------------
# Recognising tables


_CONSUMER_TYPE_PARTS = {
    *(f"consumer_types.{column.name}" for column in consumer_types.columns),
    "consumers.consumer_type_id",
}


def _missing_columns(inspector: sa.Inspector, present: set[str]) -> list[str]:
    return [
        f"{table.name}.{name}"
        for table in PLACEMENT_TABLES
        for name in _absent(
            table.c.keys(),
            [each["name"] for each in inspector.get_columns(table.name)]
            if table.name in present
            else [],
        )
    ]


def _absent(wanted: Sequence[str], found: Sequence[str]) -> list[str]:
    return [name for name in wanted if name not in found]


def _recognised(inspector: sa.Inspector, tables: set[str], present: set[str]) -> str:
    """The revision of tables that nobody stamped, told by what they look like."""
    strangers = {name for name in tables - present if not name.startswith("roost_")}
    missing = set(_missing_columns(inspector, present))
    if strangers - {VERSION_TABLE} or missing - _CONSUMER_TYPE_PARTS:
        raise Unavailable(
            "There are tables of Placement without a version in alembic_version, and they are not "
            "those that roost knows: stamp them with `placement-manage db stamp`, or begin with an "
            "empty database. Nothing was changed."
        )
    if missing:
        return REVISIONS[0]
    table, name = _DROPPED_INDEX
    indexes = {index["name"] for index in inspector.get_indexes(table)}
    return WITH_EVERY_COLUMN if name in indexes else NEWEST


# ---------------------------------------------------------------------------------------------
# What is added


def _create_missing_consumers(connection: Connection, incomplete: IncompleteIds) -> None:
    def project_and_user() -> Mapping[str, int]:
        return {
            "project_id": name_row(connection, projects, incomplete.project, _now()),
            "user_id": name_row(connection, users, incomplete.user, _now()),
        }

    create_consumers(connection, project_and_user, _now())


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)


def _add_consumer_types(connection: Connection, tables: set[str]) -> None:
    """The table of Placement's fourth revision, and the column that refers to it.

    Each part by itself, since a database without transactions for tables may have stopped here.
    """
    if consumer_types.name not in tables:
        consumer_types.create(connection)
    column = "consumer_type_id"
    inspector = sa.inspect(connection)
    if column not in [each["name"] for each in inspector.get_columns(consumers.name)]:
        key = "consumers_consumer_type_id_fkey"
        target = f"REFERENCES {consumer_types.name} (id)"
        if connection.dialect.name == "mysql":
            # It reads over a reference in the definition of a column.
            parts = f"{column} INTEGER, ADD CONSTRAINT {key} FOREIGN KEY ({column}) {target}"
        else:
            parts = f"{column} INTEGER CONSTRAINT {key} {target}"
        connection.execute(sa.text(f"ALTER TABLE {consumers.name} ADD COLUMN {parts}"))
    for index in consumers.indexes:
        if index.name == "consumers_consumer_type_id_idx":
            index.create(connection, checkfirst=True)
