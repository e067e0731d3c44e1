"""Character sets and collations of the tables in MySQL and MariaDB, as `roost status` tells them.

A table keeps the character set that its database had when Placement created it. Years ago that was
utf8mb3 or latin1, which cannot hold every text that a client may send. The collation says which
texts are equal to the database.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, text

from roost.health.outcome import Outcome, failure, success, warning
from roost.store.schema import PLACEMENT_TABLES

FULL = "utf8mb4"  # the character set that holds every text
_OLD_UNICODE = "utf8mb3"

# Columns that statements compare with each other. If their collations differ, a join fails, or does
# without an index.
_COMPARED = (("consumers", "uuid"), ("allocations", "consumer_id"))


class TextColumn(NamedTuple):
    """A column of Placement's tables that holds text."""

    table: str
    column: str
    character_set: str
    collation: str


def read_columns(connection: Connection) -> list[TextColumn]:
    names = ", ".join(f"'{table.name}'" for table in PLACEMENT_TABLES)
    rows = connection.execute(
        text(
            "SELECT table_name, column_name, character_set_name, collation_name "
            "FROM information_schema.columns WHERE table_schema = DATABASE() "
            f"AND character_set_name IS NOT NULL AND table_name IN ({names}) "
            "ORDER BY table_name, column_name"
        )
    )
    return [TextColumn(*row) for row in rows]


def judge_columns(columns: Sequence[TextColumn]) -> Iterator[Outcome]:
    """The outcomes for these columns; none if there are no tables."""
    if columns:
        yield _judge_character_sets(columns)
        yield _judge_collations(columns)


def _judge_character_sets(columns: Sequence[TextColumn]) -> Outcome:
    narrow = [each for each in columns if each.character_set != FULL]
    if not narrow:
        return success("character set", FULL)
    tables = sorted({each.table for each in narrow})
    sets = " and ".join(sorted({each.character_set for each in narrow}))
    return warning(
        "character set",
        f"{sets}: names and ids with other characters, such as emoji, are refused with 400. To "
        f"accept them, stop roost and run ALTER TABLE ... CONVERT TO CHARACTER SET {FULL} COLLATE "
        f"{_full_collation(narrow[0])} on {', '.join(tables)}",
    )


def _full_collation(column: TextColumn) -> str:
    """The collation that compares like that of the column, in the full character set."""
    if column.character_set == _OLD_UNICODE:
        return column.collation.replace(_OLD_UNICODE, FULL)
    return f"{FULL}_bin" if column.collation.endswith("_bin") else f"{FULL}_general_ci"


def _judge_collations(columns: Sequence[TextColumn]) -> Outcome:
    compared = {
        f"{each.table}.{each.column}": each.collation
        for each in columns
        if (each.table, each.column) in _COMPARED
    }
    if len(set(compared.values())) > 1:
        found = " and ".join(f"{name} is {collation}" for name, collation in compared.items())
        return failure(
            "collation",
            f"{found}: the database cannot compare them, or only slowly; convert one of the tables "
            "with ALTER TABLE ... CONVERT TO CHARACTER SET ... COLLATE ...",
        )
    names = sorted({each.collation for each in columns})
    loose = [name for name in names if name.endswith("_ci")]
    meaning = (
        "names and ids that differ only in case, accents or spaces at the end are the same, as for "
        f"Placement; a collation that ends in _bin, such as {FULL}_bin, tells them apart"
        if loose
        else "names and ids are the same only if spelt alike; spaces at the end need not count"
    )
    return success("collation", f"{', '.join(names)}: {meaning}")
