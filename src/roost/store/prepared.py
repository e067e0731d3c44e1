"""Statements of the hot path: compiled once, and then handed to the driver as text.

SQLAlchemy looks a statement up, fills it in and reads its outcome with more care than a
statement needs that is always the same. Errors are converted, and events fire, as always.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, CursorResult, Dialect, Executable, Table, bindparam
from sqlalchemy.dialects import mysql, postgresql, sqlite

Values = Mapping[str, Any]

# Up to so many rows are one statement; more are left to the driver.
ROWS_MAX = 8


class _Text(NamedTuple):
    """A statement in the words of one dialect."""

    text: str
    constants: Values  # parameters that the statement brings along
    converters: Mapping[str, Callable[[Any], Any]]
    order: Sequence[str] | None  # where parameters have places instead of names

    def fill(self, values: Values) -> Any:
        filled = {**self.constants, **values}
        for name, convert in self.converters.items():
            filled[name] = convert(filled[name])
        return filled if self.order is None else tuple(filled[name] for name in self.order)


class Prepared:
    """One statement, whose parameters are given by name."""

    def __init__(self, statement: Executable) -> None:
        self._statement: Any = statement
        self._texts: dict[str, _Text] = {}

    def run(self, connection: Connection, values: Values) -> CursorResult[Any]:
        text = self._text(connection.dialect)
        return connection.exec_driver_sql(text.text, text.fill(values))

    def run_many(self, connection: Connection, rows: Sequence[Values]) -> None:
        text = self._text(connection.dialect)
        connection.exec_driver_sql(text.text, [text.fill(values) for values in rows])

    def _text(self, dialect: Dialect) -> _Text:
        found = self._texts.get(dialect.name)
        if found is None:
            compiled = self._statement.compile(dialect=dialect)
            found = self._texts[dialect.name] = _Text(
                text=str(compiled),
                constants={k: v for k, v in compiled.params.items() if v is not None},
                converters=dict(compiled._bind_processors),
                order=compiled.positiontup if compiled.positional else None,
            )
        return found


class PreparedInsert:
    """Rows for a table, with these columns.

    With `replacing`, a row that agrees with an existing one in these columns takes its place.
    """

    def __init__(self, table: Table, columns: Sequence[str], replacing: Sequence[str] = ()) -> None:
        self._table = table
        self._columns = tuple(columns)
        self._replacing = tuple(replacing)
        self._statements: dict[tuple[str, int], Prepared] = {}

    def run(self, connection: Connection, rows: Sequence[Values]) -> None:
        dialect = connection.dialect.name
        if len(rows) > ROWS_MAX:
            named = [{f"{name}_0": row[name] for name in self._columns} for row in rows]
            self._statement(dialect, 1).run_many(connection, named)
        elif rows:
            values = {f"{name}_{n}": row[name] for n, row in enumerate(rows) for name in row}
            self._statement(dialect, len(rows)).run(connection, values)

    def _statement(self, dialect: str, count: int) -> Prepared:
        found = self._statements.get((dialect, count))
        if found is None:
            found = self._statements[dialect, count] = Prepared(self._build(dialect, count))
        return found

    def _build(self, dialect: str, count: int) -> Any:
        rows = [
            {
                name: bindparam(f"{name}_{n}", type_=self._table.c[name].type)
                for name in self._columns
            }
            for n in range(count)
        ]
        statement: Any = _INSERT[dialect](self._table).inline().values(rows)
        if not self._replacing:
            return statement
        others = [name for name in self._columns if name not in self._replacing]
        if dialect == "mysql":
            new = {name: statement.inserted[name] for name in others}
            return statement.on_duplicate_key_update(new)
        new = {name: statement.excluded[name] for name in others}
        keys = [self._table.c[name] for name in self._replacing]
        return statement.on_conflict_do_update(index_elements=keys, set_=new)


_INSERT: Mapping[str, Callable[[Table], Any]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
    "mysql": mysql.insert,
}
