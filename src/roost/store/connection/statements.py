"""Statements: compiled once, deferred, and sent to the database in batches.

For a statement that is always the same, SQLAlchemy spends more on looking it up, filling it in
and reading its outcome than the statement needs. And waiting for each outcome before the next
statement is sent costs a round trip, during which other transactions wait for the locks. So the
writes of the hot path are compiled once (`Prepared`, `PreparedInsert`), a transaction collects
what it wants to write, and `send` sends all of it in one execution and compares the numbers of
written rows with those that were expected.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, NoReturn, TypeVar

import msgspec
from sqlalchemy import Connection, Dialect, Engine, Executable, Table, bindparam, event
from sqlalchemy.dialects import mysql, postgresql, sqlite

from roost.store.connection.driver_errors import LostRace

Values = Mapping[str, Any]

# Databases limit the number of parameters of a statement.
CHUNK = 500

# A parameter with a name.
NAMED = re.compile(r"%\((\w+)\)s")

# How many rows one INSERT adds at most.
ROWS_MAX = 64

# Between the statements of a batch, in the text that listeners of the engine see.
STATEMENT_END = ";\n"

# The last statement of a block of MariaDB, which is one statement with one answer.
BLOCK_END = "END"

# The execution option that carries a batch to the driver.
_BATCH = "roost_batch"
# That carries an error of a statement which the engine has not seen.
_FAILED = "roost_failed"

Key = TypeVar("Key", int, str)

# The dialect, and the parameters of a row by name -> an expression.
Computation = Callable[[str, Callable[[str], Any]], Any]


def chunks(keys: Iterable[Key], size: int = CHUNK) -> Iterator[list[Key]]:
    """The keys in order, in lists that are short enough for one statement."""
    ordered = sorted(keys)
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]


# The collector of garbage need not look at them: they refer to nothing that refers to them.
class Write(msgspec.Struct, frozen=True, gc=False):
    """One statement with its values, compiled for one dialect."""

    text: str
    values: Any = None  # None: they are part of the text
    expected: int | None = None  # how many rows it must write; None: any number
    reason: str = ""  # why the race is lost if it wrote another number


class _Compiled(NamedTuple):
    text: str
    constants: Values  # parameters whose values are part of the statement
    converters: Mapping[str, Callable[[Any], Any]]
    # Takes the values out in the order of the parameters, where the driver has them by position.
    in_order: Callable[[Values], tuple[Any, ...]] | None

    def fill(self, values: Values) -> Any:
        if self.constants or self.converters:
            filled = {**self.constants, **values}
            for name, convert in self.converters.items():
                filled[name] = convert(filled[name])
            values = filled
        return values if self.in_order is None else self.in_order(values)


def _taker(names: Sequence[str]) -> Callable[[Values], tuple[Any, ...]]:
    """What takes the values of these names out of a mapping, in this order."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda values: tuple([values[name] for name in names])


class Prepared:
    """One statement with named parameters, compiled once for each dialect."""

    def __init__(self, statement: Executable) -> None:
        self._statement: Any = statement
        self._compiled: dict[str, _Compiled] = {}

    def write(
        self, dialect: Dialect, values: Values, *, expected: int | None = None, reason: str = ""
    ) -> Write:
        found = self._compiled.get(dialect.name)
        if found is None:
            compiled = self._statement.compile(dialect=dialect)
            text, order = str(compiled), compiled.positiontup if compiled.positional else None
            if dialect.name == "mysql":
                # By position, as a prepared statement takes them (`past_engine.py`).
                text, order = NAMED.sub("%s", text), NAMED.findall(text)
            found = self._compiled[dialect.name] = _Compiled(
                text=text,
                constants={k: v for k, v in compiled.params.items() if v is not None},
                converters=dict(compiled._bind_processors),
                in_order=None if order is None else _taker(order),
            )
        return Write(found.text, found.fill(values), expected, reason)


class PreparedInsert:
    """An INSERT of any number of rows into some columns of a table.

    With `replacing`, a new row overwrites an existing one that has the same values in these
    columns. `computed` are columns whose values the database computes, each by a function of the
    dialect and of the row's parameters by name.
    """

    def __init__(
        self,
        table: Table,
        columns: Sequence[str],
        replacing: Sequence[str] = (),
        computed: Mapping[str, Computation] | None = None,
    ) -> None:
        self._table = table
        self._columns = tuple(columns)
        self._replacing = tuple(replacing)
        self._computed = dict(computed or {})
        self._statements: dict[tuple[str, int], Prepared] = {}

    def writes(self, dialect: Dialect, rows: Sequence[Values]) -> Iterable[Write]:
        for start in range(0, len(rows), ROWS_MAX):
            some = rows[start : start + ROWS_MAX]
            values = {f"{name}_{n}": row[name] for n, row in enumerate(some) for name in row}
            yield self._statement(dialect.name, len(some)).write(dialect, values)

    def _statement(self, dialect: str, count: int) -> Prepared:
        found = self._statements.get((dialect, count))
        if found is None:
            found = self._statements[dialect, count] = Prepared(self._build(dialect, count))
        return found

    def _build(self, dialect: str, count: int) -> Any:
        rows = [self._row(dialect, n) for n in range(count)]
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

    def _row(self, dialect: str, n: int) -> dict[str, Any]:
        def parameter(name: str) -> Any:
            return bindparam(f"{name}_{n}", type_=types.get(name))

        types = {column.name: column.type for column in self._table.c}
        given = {name: parameter(name) for name in self._columns}
        computed = {name: each(dialect, parameter) for name, each in self._computed.items()}
        return given | computed


class PreparedDelete:
    """A DELETE of the rows that have a number in one column, and any of some in another."""

    def __init__(self, table: Table, column: str, other: str) -> None:
        self._table, self._column, self._other = table.name, column, other

    def writes(self, dialect: Dialect, number: int, others: Iterable[int]) -> Iterable[Write]:
        # MariaDB prepares texts that occur again; elsewhere numbers in the text are quicker.
        has_marks = dialect.name == "mysql"
        for some in chunks(others):
            numbers = number, *some
            own, *listed = ["%s"] * len(numbers) if has_marks else map(str, numbers)
            yield Write(
                f"DELETE FROM {self._table} "
                f"WHERE {self._column} = {own} AND {self._other} IN ({','.join(listed)})",
                numbers if has_marks else None,
            )


_INSERT: Mapping[str, Callable[[Table], Any]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
    "mysql": mysql.insert,
}


# ---------------------------------------------------------------------------------------------
# Sending


def send(connection: Connection, writes: Sequence[Write]) -> None:
    """Send these writes as one batch.

    Raises `LostRace` if one of them did not write the expected number of rows.
    """
    if not writes:
        return
    counts: list[int] = []
    connection.exec_driver_sql(
        STATEMENT_END.join([write.text for write in writes]),
        execution_options={_BATCH: (writes, counts)},
    )
    for write, count in zip(writes, counts, strict=True):
        if write.expected is not None and count != write.expected:
            raise LostRace(write.reason)


def raise_in_engine(connection: Connection, error: Exception) -> NoReturn:
    """Raise an error of the driver as if a statement of the engine had failed with it."""
    connection.exec_driver_sql("", execution_options={_FAILED: error})
    raise error


def register(engine: Engine) -> None:
    """Let this engine send batches. Its driver errors are converted as for any statement."""
    send_all = _SEND.get(engine.dialect.driver, _send_each)
    if send_all is _send_pipelined and engine.url.host in _LOCAL_HOSTS:
        # psycopg's pipeline costs more than round trips to a server on the same machine.
        send_all = _send_each

    def execute(cursor: Any, _statement: str, _parameters: object, context: Any) -> bool | None:
        options = context.execution_options
        if (batch := options.get(_BATCH)) is not None:
            writes, counts = batch
            counts += send_all(cursor, writes)
            return True
        if (error := options.get(_FAILED)) is not None:
            raise error
        return None

    event.listen(engine, "do_execute", execute)


def _send_each(cursor: Any, writes: Sequence[Write]) -> list[int]:
    """One by one: for SQLite, a server on this machine, or an unknown driver."""
    counts = []
    for write in writes:
        if write.values is None:
            cursor.execute(write.text)
        else:
            cursor.execute(write.text, write.values)
        counts.append(cursor.rowcount)
    return counts


def _send_pipelined(cursor: Any, writes: Sequence[Write]) -> list[int]:
    connection = cursor.connection
    with connection.pipeline():
        sent = [connection.execute(write.text, write.values) for write in writes]
    return [each.rowcount for each in sent]


def _send_as_one(cursor: Any, writes: Sequence[Write]) -> list[int]:
    cursor.execute(STATEMENT_END.join([cursor.mogrify(one.text, one.values) for one in writes]))
    counts = [cursor.rowcount]
    while cursor.nextset():
        counts.append(cursor.rowcount)
    return counts


_LOCAL_HOSTS = (None, "", "localhost", "127.0.0.1", "::1")

_SEND: Mapping[str, Callable[[Any, Sequence[Write]], list[int]]] = {
    "psycopg": _send_pipelined,
    "pymysql": _send_as_one,
}
