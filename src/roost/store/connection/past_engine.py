"""Sends a whole transaction to the driver itself, past SQLAlchemy and past cursors.

A transaction that reads nothing is one text, or one statement. What SQLAlchemy does around it (a
transaction of its own, a context, a result) and a cursor takes longer than the driver needs to
send it. Errors still pass the engine, which converts them, and forgets a connection that is lost.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from roost.store.connection.statements import STATEMENT_END, Write, raise_in_engine


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


def _send_postgresql(connection: Any, writes: Sequence[Write]) -> None:
    if len(writes) == 1:
        # A statement by itself is a transaction, too, and the server may keep its plan.
        connection.execute(writes[0].text, writes[0].values)
        return
    # An optional dependency, which the connection was made with.
    from psycopg import ClientCursor, errors
    from psycopg.pq import ExecStatus

    in_text = ClientCursor(connection)
    text = STATEMENT_END.join([in_text.mogrify(one.text, one.values) for one in writes])
    # One call in C sends it and waits, without the interpreter. A cursor would wait in Python.
    result = connection.pgconn.exec_(text.encode(connection.info.encoding))
    if result.status not in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK):
        raise errors.error_from_result(result, connection.info.encoding)


# ---------------------------------------------------------------------------------------------
# MariaDB and MySQL


_OK = 0
# What follows the first byte of an integer of variable length, by that byte.
_LONG_INTEGERS = {0xFC: 2, 0xFD: 3, 0xFE: 8}


def _send_mysql(connection: Any, writes: Sequence[Write]) -> None:
    # An optional dependency, which the connection was made with.
    from pymysql.constants import COMMAND  # type: ignore[import-untyped]

    text = STATEMENT_END.join([_with_literals(connection, write) for write in writes])
    connection._execute_command(COMMAND.COM_QUERY, text)
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


def _with_literals(connection: Any, write: Write) -> str:
    """The statement with its values in the text, as a cursor of PyMySQL writes them."""
    values = write.values
    if values is None:
        return write.text
    if isinstance(values, tuple):
        return write.text % tuple([_literal(connection, value) for value in values])
    return write.text % {name: _literal(connection, value) for name, value in values.items()}


def _literal(connection: Any, value: object) -> Any:
    # Most are numbers and times, which the driver would look up in a table of types.
    if type(value) is int:
        return value
    if type(value) is datetime and value.tzinfo is None:
        return f"'{value}'"
    return connection.escape(value)


_SEND: Mapping[str, Callable[[Any, Sequence[Write]], None]] = {
    "psycopg": _send_postgresql,
    "pymysql": _send_mysql,
}
