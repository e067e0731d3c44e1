"""HTTP as a hostile client speaks it: byte by byte, over plain sockets."""

import select
import socket
from collections.abc import Sequence

SECONDS_MAX = 30


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), SECONDS_MAX)


def head(method: str, path: str, *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "host: localhost", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1")


def receive_answer(connection: socket.socket) -> tuple[int, bytes]:
    """The status and the body of an answer that has a length."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += _more(connection)
    headers, _, body = received.partition(b"\r\n\r\n")
    named = dict(
        line.lower().split(b": ", 1) for line in headers.split(b"\r\n")[1:] if b": " in line
    )
    length = int(named.get(b"content-length", b"0"))
    whole = bytearray(body)
    while len(whole) < length:
        whole += _more(connection)
    return int(headers.split()[1]), bytes(whole)


def ask(port: int, data: bytes) -> tuple[int, bytes]:
    """Send bytes, and receive an answer."""
    with connect(port) as connection:
        connection.sendall(data)
        return receive_answer(connection)


def answered(connections: Sequence[socket.socket]) -> int:
    """How many of the connections have something to read by now."""
    return len(select.select(connections, [], [], 0)[0])


def _more(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise ConnectionError("the server ended the connection")
    return data
