"""The names of indexes that a database has, whatever they are of.

A database refuses an index or a unique key whose name is taken: MySQL within a table, the others
among all indexes and tables.
"""

from collections.abc import Iterable
from enum import StrEnum

from sqlalchemy import Connection, Dialect, text

from roost.model import Value


class HolderKind(StrEnum):
    INDEX = "an index"
    UNIQUE_INDEX = "a unique index"
    CONSTRAINT = "a constraint"
    TABLE = "a table"
    OTHER = "something"  # such as a view or a sequence


class NameHolder(Value, frozen=True, kw_only=True):
    """What has a name."""

    name: str
    kind: HolderKind
    table: str  # empty for what is of no table


_STATEMENTS = {
    "sqlite": """
        SELECT name,
            CASE WHEN type = 'index' AND sql LIKE 'CREATE UNIQUE%' THEN 'UNIQUE_INDEX'
                WHEN type IN ('index', 'table') THEN upper(type) ELSE 'OTHER' END,
            CASE type WHEN 'index' THEN tbl_name ELSE '' END
        FROM sqlite_master
        """,
    "postgresql": """
        SELECT relation.relname,
            CASE WHEN key.oid IS NOT NULL THEN 'CONSTRAINT'
                WHEN index.indisunique THEN 'UNIQUE_INDEX'
                WHEN index.indexrelid IS NOT NULL THEN 'INDEX'
                WHEN relation.relkind IN ('r', 'p') THEN 'TABLE' ELSE 'OTHER' END,
            coalesce(of.relname, '')
        FROM pg_class AS relation
        LEFT JOIN pg_index AS index ON index.indexrelid = relation.oid
        LEFT JOIN pg_class AS of ON of.oid = index.indrelid
        LEFT JOIN pg_constraint AS key
            ON key.conindid = relation.oid AND key.contype IN ('p', 'u', 'x')
        WHERE relation.relnamespace = current_schema()::regnamespace
        """,
    "mysql": """
        SELECT DISTINCT index_name,
            CASE non_unique WHEN 0 THEN 'UNIQUE_INDEX' ELSE 'INDEX' END, table_name
        FROM information_schema.statistics
        WHERE table_schema = DATABASE() AND index_name <> 'PRIMARY'
        """,
}


class IndexNames:
    """Finds what has the name of an index."""

    def __init__(self, holders: Iterable[NameHolder], *, is_of_table: bool) -> None:
        self._is_of_table = is_of_table
        self._holders = {self._key(each.name, each.table): each for each in holders}

    def find(self, name: str, table: str) -> NameHolder | None:
        """What is in the way of an index of this name, on this table."""
        return self._holders.get(self._key(name, table))

    def unique_indexes(self, table: str) -> set[str]:
        return {
            each.name
            for each in self._holders.values()
            if each.table == table and each.kind is HolderKind.UNIQUE_INDEX
        }

    def _key(self, name: str, table: str) -> tuple[str, str]:
        return name, table if self._is_of_table else ""


def read_index_names(connection: Connection) -> IndexNames:
    dialect = connection.dialect.name
    rows = connection.execute(text(_STATEMENTS[dialect]))
    holders = [NameHolder(name=name, kind=HolderKind[kind], table=of) for name, kind, of in rows]
    return IndexNames(holders, is_of_table=dialect == "mysql")


def drop_index(dialect: Dialect, table: str, name: str) -> str:
    """The statement that drops an index."""
    quote = dialect.identifier_preparer.quote
    if dialect.name == "mysql":
        return f"ALTER TABLE {quote(table)} DROP INDEX {quote(name)}"
    return f"DROP INDEX {quote(name)}"


def drop_constraint(dialect: Dialect, table: str, name: str) -> str:
    """The statement that drops a constraint. SQLite has none; MySQL calls only foreign keys so."""
    quote = dialect.identifier_preparer.quote
    what = "FOREIGN KEY" if dialect.name == "mysql" else "CONSTRAINT"
    return f"ALTER TABLE {quote(table)} DROP {what} {quote(name)}"
