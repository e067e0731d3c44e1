"""Sends a whole transaction to the driver itself, past SQLAlchemy and past cursors.

A transaction that reads nothing is one text, or one statement. What SQLAlchemy does around it (a
transaction of its own, a context, a result) and a cursor takes longer than the driver needs to
send it. Errors still pass the engine, which converts them, and forgets a connection that is lost.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import Connection

from roost.store.connection.statements import (
    BLOCK_END,
    NAMED,
    STATEMENT_END,
    Write,
    raise_in_engine,
)


def can_send_past_engine(driver: str) -> bool:
    return driver in _SEND


def send_past_engine(connection: Connection, writes: Sequence[Write]) -> None:
    """Send a batch that fails as a whole, and whose row counts nobody asks for.

    The connection is in autocommit mode and in no transaction: the batch is one.
    """
    dialect = connection.dialect
    try:
        _SEND[dialect.driver](connection.connection.driver_connection, writes)
    except dialect.loaded_dbapi.Error as error:
        raise_in_engine(connection, error)


# ---------------------------------------------------------------------------------------------
# PostgreSQL


# One call in C sends a text and waits, without the interpreter. A cursor would wait in Python.
def _send_postgresql(connection: Any, writes: Sequence[Write]) -> None:
    if len(writes) == 1:
        # A statement by itself is a transaction, too, and the server keeps its plan.
        _send_statement(connection, writes[0])
        return
    # An optional dependency, which the connection was made with.
    from psycopg import ClientCursor

    in_text = ClientCursor(connection)
    text = STATEMENT_END.join([in_text.mogrify(one.text, one.values) for one in writes])
    _check_postgresql(connection, connection.pgconn.exec_(text.encode(connection.info.encoding)))


class _PreparedStatement(NamedTuple):
    name: bytes
    parameters: Sequence[str]  # their names, in the order of their numbers


# Each connection has few.
_prepared: WeakKeyDictionary[Any, dict[str, _PreparedStatement]] = WeakKeyDictionary()


def _send_statement(connection: Any, write: Write) -> None:
    if connection.prepare_threshold is None:
        # Through a proxy that cannot prepare statements.
        connection.execute(write.text, write.values)
        return
    prepared = _prepared.setdefault(connection, {})
    statement = prepared.get(write.text)
    if statement is None:
        statement = prepared[write.text] = _prepare(connection, write.text, len(prepared))
    values = [write.values[name] for name in statement.parameters]
    encoding = connection.info.encoding
    texts = [None if value is None else str(value).encode(encoding) for value in values]
    _check_postgresql(connection, connection.pgconn.exec_prepared(statement.name, texts))


def _prepare(connection: Any, text: str, number: int) -> _PreparedStatement:
    """Prepare a statement, each of whose parameters has a number."""
    parameters = list(dict.fromkeys(NAMED.findall(text)))
    numbered = NAMED.sub(lambda found: f"${parameters.index(found[1]) + 1}", text)
    name = b"roost_%d" % number
    _check_postgresql(connection, connection.pgconn.prepare(name, numbered.encode()))
    return _PreparedStatement(name, parameters)


def _check_postgresql(connection: Any, result: Any) -> None:
    # An optional dependency, which the connection was made with.
    from psycopg import errors
    from psycopg.pq import ExecStatus

    if result.status not in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK):
        raise errors.error_from_result(result, connection.info.encoding)


# ---------------------------------------------------------------------------------------------
# MariaDB and MySQL

# To parse a transaction of the usual shape takes MariaDB a quarter of its time for it. So a shape
# that occurs again is prepared. Those of large batches are long, and hardly ever occur again.
SHAPE_LENGTH_MAX = 4096
# How many shapes are remembered for a connection, and how many of them are prepared.
SHAPES_MAX = 128
PREPARED_MAX = 32
# A proxy, or an earlier version, cannot prepare it: such a statement cannot be prepared, its syntax
# is wrong, too many are prepared, or the prepared one is not known any more.
_CANNOT_PREPARE = frozenset({1295, 1064, 1461, 1243})

# See the client/server protocol of MySQL: the command for a text, and what its answer begins with.
_COM_QUERY = 3
_OK = 0
# What follows the first byte of an integer of variable length, by that byte.
_LONG_INTEGERS = {0xFC: 2, 0xFD: 3, 0xFE: 8}


class _Shapes:
    """What a connection was sent, without the values, and what of it the server has prepared."""

    def __init__(self) -> None:
        self.can_prepare = True
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._prepared: dict[str, str] = {}

    def name(self, shape: str) -> str | None:
        """The name of the prepared statement."""
        return self._prepared.get(shape)

    def is_usual(self, shape: str) -> bool:
        """Whether it occurs again, and there is room for one more that is prepared."""
        if shape in self._seen:
            return len(self._prepared) < PREPARED_MAX
        self._seen[shape] = None
        if len(self._seen) > SHAPES_MAX:
            self._seen.popitem(last=False)
        return False

    def add(self, shape: str) -> str:
        name = self._prepared[shape] = f"roost{len(self._prepared)}"
        return name


_shapes: WeakKeyDictionary[Any, _Shapes] = WeakKeyDictionary()


def _send_mysql(connection: Any, writes: Sequence[Write]) -> None:
    # MySQL has no blocks, which are one statement.
    if writes[-1].text == BLOCK_END:
        shapes = _shapes.get(connection)
        if shapes is None:
            shapes = _shapes[connection] = _Shapes()
        if shapes.can_prepare and _send_prepared(connection, shapes, writes):
            return
    text = STATEMENT_END.join([_with_literals(connection, write) for write in writes])
    _execute_mysql(connection, text)


def _send_prepared(connection: Any, shapes: _Shapes, writes: Sequence[Write]) -> bool:
    """Send it as a prepared statement. False: it was not sent."""
    shape = STATEMENT_END.join([write.text for write in writes])
    if len(shape) > SHAPE_LENGTH_MAX:
        return False
    name = shapes.name(shape)
    if name is None:
        if not shapes.is_usual(shape):
            return False
        statement = STATEMENT_END.join([_with_marks(write) for write in writes])
        name = shapes.add(shape)
        try:
            _execute_mysql(connection, f"PREPARE {name} FROM {connection.escape(statement)}")
        except connection.Error as error:
            return _without_preparing(shapes, error)
    values = ",".join(
        [
            # Most are numbers.
            str(value) if type(value) is int else _literal(connection, value)
            for write in writes
            if write.values is not None
            for value in write.values
        ]
    )
    try:
        _execute_mysql(connection, f"EXECUTE {name} USING {values}")
    except connection.Error as error:
        return _without_preparing(shapes, error)
    return True


def _without_preparing(shapes: _Shapes, error: Exception) -> bool:
    """Prepare nothing any more, if this error is about that: then nothing was executed."""
    if error.args[0] not in _CANNOT_PREPARE:
        raise error
    shapes.can_prepare = False
    return False


def _execute_mysql(connection: Any, text: str) -> None:
    connection._execute_command(_COM_QUERY, text)
    # Each statement is answered by one packet; reading it raises if it is an error.
    while _announces_another(connection._read_packet()._data):
        pass


def _announces_another(packet: bytes) -> bool:
    """Whether the answer to a statement says that another one follows."""
    if packet[0] != _OK:
        raise OSError("The database has answered a write with rows.")
    place = 1
    # The number of rows and the last id are before the status.
    for _ in range(2):
        place += 1 + _LONG_INTEGERS.get(packet[place], 0)
    # SERVER_MORE_RESULTS_EXISTS
    return bool(packet[place] & 8)


def _with_marks(write: Write) -> str:
    """The statement with a mark in the place of each value."""
    return write.text if write.values is None else write.text % (("?",) * len(write.values))


def _with_literals(connection: Any, write: Write) -> str:
    """The statement with its values in the text, as a cursor of PyMySQL writes them."""
    if write.values is None:
        return write.text
    return write.text % tuple([_literal(connection, value) for value in write.values])


# In a text between single quotes, nothing else means anything but itself.
_ESCAPED = re.compile(r"['\\\0\n\r\x1a]")


def _literal(connection: Any, value: object) -> Any:
    # Most are numbers, times and UUIDs. The driver would look them up in a table of types.
    if type(value) is int:
        return value
    if type(value) is datetime and value.tzinfo is None:
        return f"'{value}'"
    if type(value) is str and _ESCAPED.search(value) is None:
        return f"'{value}'"
    return connection.escape(value)


_SEND: Mapping[str, Callable[[Any, Sequence[Write]], None]] = {
    "psycopg": _send_postgresql,
    "pymysql": _send_mysql,
}
