"""A port where something else listens than the service that a client expects."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def answering_server(answer: bytes, *, reads_first: bool = True) -> Iterator[int]:
    """Answer these bytes to whoever connects, and end the connection; gives back the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    if reads_first:
                        connection.recv(1000)
                    connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
