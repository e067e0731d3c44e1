"""Tables as plain data: dumping a database, and filling another one with it."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Engine

from roost.store.schema import PLACEMENT_TABLES

# Table -> rows, by column.
Rows = Mapping[str, list[dict[str, Any]]]


def dump(engine: Engine) -> Rows:
    """Every row of every table that is not roost's, in a fixed order."""
    metadata = sa.MetaData()
    metadata.reflect(engine)
    with engine.connect() as connection:
        return {
            name: sorted(
                (dict(row) for row in connection.execute(sa.select(table)).mappings()), key=repr
            )
            for name, table in metadata.tables.items()
            if not name.startswith("roost_")
        }


def describe(engine: Engine) -> dict[str, Any]:
    """The definitions of all tables except roost's, as the database reports them."""
    inspector = sa.inspect(engine)

    def in_order(items: list[Any]) -> list[Any]:
        return sorted(items, key=lambda item: (item["name"] or "", repr(item)))

    return {
        name: {
            "columns": [
                {**column, "type": str(column["type"])} for column in inspector.get_columns(name)
            ],
            "primary key": inspector.get_pk_constraint(name),
            "indexes": in_order(inspector.get_indexes(name)),
            "unique": in_order(inspector.get_unique_constraints(name)),
            "foreign keys": in_order(inspector.get_foreign_keys(name)),
        }
        for name in inspector.get_table_names()
        if not name.startswith("roost_")
    }


def fill(engine: Engine, rows: Rows) -> None:
    """Insert rows into tables that may be of an older revision with fewer columns."""
    metadata = sa.MetaData()
    metadata.reflect(engine)
    with engine.begin() as connection:
        if engine.dialect.name == "mysql":
            # The first resource class has the id 0.
            connection.execute(
                sa.text("SET sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')")
            )
        # Providers refer to their parents and roots, whose ids are lower: insert in that order.
        for table in metadata.sorted_tables:
            values = [
                {name: value for name, value in row.items() if name in table.c}
                for row in rows.get(table.name, ())
            ]
            if values and table.name in {one.name for one in PLACEMENT_TABLES}:
                key = "id" if "id" in table.c else next(iter(table.primary_key)).name
                connection.execute(table.insert(), sorted(values, key=lambda row: row[key]))
        if engine.dialect.name == "postgresql":
            _move_sequences(connection, metadata)


def _move_sequences(connection: sa.Connection, metadata: sa.MetaData) -> None:
    for name, table in metadata.tables.items():
        if "id" in table.c and isinstance(table.c.id.type, sa.Integer):
            sequence = f"pg_get_serial_sequence('{name}', 'id')"
            newest = f"(SELECT max(id) FROM {name})"
            connection.execute(
                sa.text(f"SELECT setval({sequence}, {newest} + 1) WHERE {newest} > 0")
            )
