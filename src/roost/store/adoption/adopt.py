"""Adopts a database that a release of OpenStack Placement left behind.

Placement's table `alembic_version` names the revision of its tables. Adoption adds the tables and
columns of later revisions that roost needs, and fills in what old releases left empty. It removes
and renames nothing, and leaves the true revision in `alembic_version`, from which any later
Placement can continue.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy import Connection

from roost.errors import Unavailable
from roost.model import Value
from roost.progress import Progress
from roost.store.adoption.backfill import (
    MissingRoots,
    create_consumers,
    ensure_owner,
    find_missing_roots,
    set_roots,
)
from roost.store.schema import PLACEMENT_TABLES, consumer_types, consumers, projects, users

# Placement's revisions, oldest first. Train ended with the third, Xena added the fourth.
REVISIONS = ("b4ed3a175331", "611cd6dffd7b", "b5c396305c25", "422ece571366", "a082b8bb98d0")
NEWEST = REVISIONS[-1]

# From this revision on the tables have every column. The next one only drops redundant indexes,
# which roost leaves to Placement.
WITH_EVERY_COLUMN = "422ece571366"

VERSION_TABLE = "alembic_version"
ROOST_VERSION_TABLE = "roost_alembic_version"

# Table and name of an index that the newest revision dropped.
_DROPPED_INDEX = ("resource_providers", "resource_providers_uuid_idx")

ZEROS = "00000000-0000-0000-0000-000000000000"


class IncompleteIds(Value, frozen=True, kw_only=True):
    """The project and the user of consumers that old releases stored without them."""

    project: str = ZEROS
    user: str = ZEROS


def revision(connection: Connection) -> str | None:
    """The revision of Placement's tables; None if there are none.

    Raises `Unavailable` if the tables are not those of a Placement that this roost knows.
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
    # When roost creates the tables, it begins with its own version table and ends with both
    # versions. So this is the work of a roost that was interrupted, on a database that cannot roll
    # it back. There may be tables without their indexes, even if no table is missing.
    interrupted = ROOST_VERSION_TABLE in tables and not _stamps(connection, ROOST_VERSION_TABLE)
    if not present or interrupted:
        return None
    return _recognised(inspector, tables, present)


def find_revision(text: str) -> str | None:
    """A revision by its name, or by the beginning of its name; `head` is the newest, `base` none.

    Raises ValueError if no revision, or more than one, is meant.
    """
    if text in _SYMBOLIC:
        return _SYMBOLIC[text]
    found = [each for each in REVISIONS if text and each.startswith(text)]
    if len(found) != 1:
        known = ", ".join((*REVISIONS, *_SYMBOLIC))
        raise ValueError(f"{text} is no revision of Placement's tables; expected one of {known}")
    return found[0]


_SYMBOLIC = {"head": NEWEST, "base": None}


def stamped_revision(connection: Connection) -> str | None:
    """What Placement's version table says."""
    if VERSION_TABLE not in sa.inspect(connection).get_table_names():
        return None
    return ", ".join(_stamps(connection)) or None


def has_every_column(found: str) -> bool:
    return REVISIONS.index(found) >= REVISIONS.index(WITH_EVERY_COLUMN)


def adopt(
    connection: Connection, incomplete: IncompleteIds, progress: Progress, *, is_first: bool
) -> None:
    """Upgrade the tables of an older Placement to what roost needs. Idempotent.

    Only the first run checks the rows, which takes a while. Later ones need not: since Train,
    Placement itself stores complete rows.
    """
    found = revision(connection)
    if found is None or (has_every_column(found) and not is_first):
        return
    # First everything that may refuse, then rows, then tables, because not every database can roll
    # back the creation of a table.
    progress.stage("looking for providers without a root")
    missing = find_missing_roots(connection)
    _refuse_loops(missing)
    set_roots(connection, missing.roots, progress)
    progress.stage("adding missing records of consumers")
    _create_missing_consumers(connection, incomplete)
    tables = set(sa.inspect(connection).get_table_names())
    if not has_every_column(found):
        progress.stage("adding types of consumers")
        _add_consumer_types(connection, tables)
        found = WITH_EVERY_COLUMN
    stamp(connection, found)


def stamp(connection: Connection, found: str | None) -> None:
    """Write the revision of Placement's tables to its own version table; None removes it."""
    if VERSION_TABLE not in sa.inspect(connection).get_table_names():
        sa.Table(
            VERSION_TABLE,
            sa.MetaData(),
            sa.Column("version_num", sa.String(32), nullable=False),
            sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
        ).create(connection)
    stamps = [] if found is None else [found]
    if _stamps(connection) != stamps:
        connection.execute(sa.delete(_STAMP))
        for each in stamps:
            connection.execute(sa.insert(_STAMP).values(version_num=each))


_STAMP = sa.table(VERSION_TABLE, sa.column("version_num"))


def _stamps(connection: Connection, table: str = VERSION_TABLE) -> list[str]:
    return list(connection.scalars(sa.text(f"SELECT version_num FROM {table}")))


# ---------------------------------------------------------------------------------------------
# Refusals


def _refuse_unknown(stamps: Sequence[str]) -> None:
    unknown = [each for each in stamps if each not in REVISIONS]
    if unknown or len(stamps) > 1:
        raise Unavailable(
            f"alembic_version says {', '.join(stamps)}, which is no revision of Placement that "
            f"this version of roost knows (the newest is {NEWEST}): it is the database of a newer "
            "Placement, or of another program. Nothing was changed."
        )


def refuse_stamp(connection: Connection, wanted: str) -> None:
    """Raise `Unavailable` if the tables lack what this revision has."""
    inspector = sa.inspect(connection)
    tables = {table.name for table in PLACEMENT_TABLES}
    present = tables & set(inspector.get_table_names())
    missing = _missing_parts(wanted, _missing_columns(inspector, present))
    if missing:
        some = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise Unavailable(
            f"The tables are not those of {wanted}, because {len(missing)} columns are missing "
            f"({some}). Nothing was changed."
        )


def _missing_parts(found: str, missing: Sequence[str]) -> Sequence[str]:
    """Of the missing columns, those that this revision has."""
    if has_every_column(found):
        return missing
    return [name for name in missing if name not in _CONSUMER_TYPE_PARTS]


def _refuse_incomplete(found: str, missing: Sequence[str]) -> None:
    missing = _missing_parts(found, missing)
    if missing:
        raise Unavailable(
            f"alembic_version says {found}, but {', '.join(missing)} are missing: restore them "
            "from a backup. Nothing was changed."
        )


def _refuse_loops(missing: MissingRoots) -> None:
    if missing.in_loops:
        some = ", ".join(sorted(missing.in_loops)[:3])
        raise Unavailable(
            f"{len(missing.in_loops)} providers have no root and are below each other in a circle "
            f"({some}): set resource_providers.parent_provider_id of one of them to NULL, then run "
            "`roost db sync` again. Nothing was changed."
        )


# ---------------------------------------------------------------------------------------------
# Recognising tables without a version


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
    """The revision of tables without a version, recognised by their columns and indexes."""
    foreign = {name for name in tables - present if not name.startswith("roost_")}
    missing = set(_missing_columns(inspector, present))
    if foreign - {VERSION_TABLE} or missing - _CONSUMER_TYPE_PARTS:
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
# Additions


def _create_missing_consumers(connection: Connection, incomplete: IncompleteIds) -> None:
    def project_and_user() -> Mapping[str, int]:
        return {
            "project_id": ensure_owner(connection, projects, incomplete.project, _now()),
            "user_id": ensure_owner(connection, users, incomplete.user, _now()),
        }

    create_consumers(connection, project_and_user, _now())


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)


def _add_consumer_types(connection: Connection, tables: set[str]) -> None:
    """Add the table of Placement's fourth revision, and the column that refers to it.

    Each part only if it is missing: an earlier run may have been interrupted between two parts, on
    a database that cannot roll back the creation of a table.
    """
    if consumer_types.name not in tables:
        consumer_types.create(connection)
    column = "consumer_type_id"
    inspector = sa.inspect(connection)
    if column not in [each["name"] for each in inspector.get_columns(consumers.name)]:
        key = "consumers_consumer_type_id_fkey"
        target = f"REFERENCES {consumer_types.name} (id)"
        if connection.dialect.name == "mysql":
            # MySQL ignores a reference in the definition of a column.
            parts = f"{column} INTEGER, ADD CONSTRAINT {key} FOREIGN KEY ({column}) {target}"
        else:
            parts = f"{column} INTEGER CONSTRAINT {key} {target}"
        connection.execute(sa.text(f"ALTER TABLE {consumers.name} ADD COLUMN {parts}"))
    for index in consumers.indexes:
        if index.name == "consumers_consumer_type_id_idx":
            index.create(connection, checkfirst=True)
