"""The question for the position of the feed, asked past the cursors of the drivers.

It is asked before every answer, and a cursor takes several times as long for it as the server.
"""

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

POSITION_TEXT = "SELECT id, sequence FROM roost_writers"


class Question(NamedTuple):
    """Asks a server for the position."""

    # Takes the last answer, and gives the new one; raises if it is none.
    ask: Callable[[bytes], bytes]
    # The sequence number of each writer that an answer names.
    read: Callable[[bytes], list[tuple[int, int]]]


def prepare_question(driver: str, connection: Any) -> Question | None:
    """The question on this connection of a driver; None where a cursor has to ask it."""
    prepare = _PREPARE.get(driver)
    return prepare and prepare(connection)


# ---------------------------------------------------------------------------------------------
# PostgreSQL

# The position as one value, of eight bytes for each number: PostgreSQL makes it in less time than a
# client takes to read the rows one by one.
_POSITION_BYTES_TEXT = (
    b"SELECT string_agg(int8send(id) || int8send(sequence), ''::bytea) FROM roost_writers"
)
# Its name among the prepared statements of the connection. psycopg gives its own another prefix.
_POSITION_NAME = b"roost_position"


def _prepare_postgresql(connection: Any) -> Question:
    """Asks PostgreSQL through libpq itself.

    A cursor of psycopg waits in Python. Here one call in C sends the question and waits, without
    the interpreter.
    """
    # An optional dependency, which the connection was made with.
    from psycopg.pq import ExecStatus, Format

    libpq = connection.pgconn
    is_prepared = (
        connection.prepare_threshold is not None
        and libpq.prepare(_POSITION_NAME, _POSITION_BYTES_TEXT).status == ExecStatus.COMMAND_OK
    )

    def ask(_known: bytes) -> bytes:
        if is_prepared:
            result = libpq.exec_prepared(_POSITION_NAME, None, None, Format.BINARY)
        else:
            # Through a proxy that cannot prepare statements.
            result = libpq.exec_params(_POSITION_BYTES_TEXT, None, None, None, Format.BINARY)
        if result.status != ExecStatus.TUPLES_OK:
            raise ConnectionError(result.error_message)
        # None if there are no writers.
        return result.get_value(0, 0) or b""

    return Question(ask, lambda answer: list(struct.iter_unpack(">qq", answer)))


# ---------------------------------------------------------------------------------------------
# MariaDB and MySQL

# Of what a server sends at once. The position of some hundred writers is shorter.
RECEIVE_BYTES = 16 * 1024

# PyMySQL has no names for the commands of prepared statements.
_PREPARE_STATEMENT, _EXECUTE_STATEMENT = 0x16, 0x17
# The answer to the first of them: the statement, and how many columns its rows have.
_PREPARED = struct.Struct("<xIH")
# What follows the second one: the statement, no cursor, and always 1.
_EXECUTED = struct.Struct("<IBI")

# The packets of an answer: how many columns there are, a packet for each of them, their end, the
# rows, the end of the rows. A packet begins with its length and its number.
_PACKET_HEAD = 4
_COLUMNS = 2
_FIRST_ROW_PACKET = 1 + _COLUMNS + 1
# The first byte of a packet that says what went wrong, and of one that is an end.
_ERROR, _END = 0xFF, 0xFE
# A row: its first byte, which of its values are missing, and two numbers of eight bytes.
_ROW = struct.Struct("<xxqq")


def _prepare_mysql(connection: Any) -> Question | None:
    """Asks MySQL by a prepared statement, and takes what it sends as it is.

    The server does not read and plan a text again and again. PyMySQL knows no prepared statements;
    it reads packet by packet, describes the columns of a result, converts rows and keeps them.
    test_polling.py pins what this relies on of PyMySQL.
    """
    # An optional dependency, which the connection was made with.
    from pymysql.err import MySQLError  # type: ignore[import-untyped]

    try:
        connection._execute_command(_PREPARE_STATEMENT, POSITION_TEXT)
        statement, columns = _PREPARED.unpack_from(connection._read_packet().get_all_data())
        # The columns, and their end.
        for _ in range(columns + 1):
            connection._read_packet()
    except MySQLError:
        # Through a proxy that cannot prepare statements, or the server has too many of them.
        return None
    command = bytes([_EXECUTE_STATEMENT]) + _EXECUTED.pack(statement, 0, 1)
    packet = struct.pack("<I", len(command)) + command
    has_two_timeouts = connection._read_timeout != connection._write_timeout

    def ask(known: bytes) -> bytes:
        connection._write_bytes(packet)
        if has_two_timeouts:
            connection._sock.settimeout(connection._read_timeout)
            connection._current_timeout = connection._read_timeout
        received = receive()
        while received != known and not _is_whole(received):
            received += receive()
        return received

    def receive() -> bytes:
        received: bytes = connection._rfile.read1(RECEIVE_BYTES)
        if not received:
            raise ConnectionError("The server closed the connection.")
        return received

    return Question(ask, _read_rows)


def _packets(received: bytes) -> list[bytes]:
    """The packets that have arrived, without their heads; raises if one is an error."""
    found = []
    begin = 0
    while begin + _PACKET_HEAD <= len(received):
        end = begin + _PACKET_HEAD + int.from_bytes(received[begin : begin + 3], "little")
        if end > len(received):
            break
        found.append(received[begin + _PACKET_HEAD : end])
        if found[-1][0] == _ERROR:
            raise ConnectionError(found[-1].decode(errors="replace"))
        begin = end
    return found


def _is_whole(received: bytes) -> bool:
    packets = _packets(received)
    return len(packets) > _FIRST_ROW_PACKET and packets[-1][0] == _END


def _read_rows(received: bytes) -> list[tuple[int, int]]:
    return [_ROW.unpack(row) for row in _packets(received)[_FIRST_ROW_PACKET:-1]]


_PREPARE: dict[str, Callable[[Any], Question | None]] = {
    "psycopg": _prepare_postgresql,
    "pymysql": _prepare_mysql,
}
