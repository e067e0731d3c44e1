"""The address that the service listens on, with a socket for each worker."""

import socket
import sys
from typing import Final

# How many connections may wait until a worker accepts them.
BACKLOG = 1024

# The kernel then spreads connections evenly over the sockets. If workers shared one socket, the
# first of them to wake up would take most connections, and keep them while they last.
_SPREADS: Final = sys.platform == "linux"


class Address:
    """A host and port that no other service listens on. Every method may raise `OSError`."""

    def __init__(self, host: str, port: int) -> None:
        """Reserve it. Until workers listen, connections are refused."""
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self._reserved = socket.socket(family, kind)
        self._is_claimed = False
        # Connections of a previous server may still be closing.
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._reserved.bind(address)
        except OSError:
            self._reserved.close()
            raise

    def claim(self) -> None:
        """Keep others away that have reserved it, too: only the first one succeeds."""
        self._reserved.listen(BACKLOG)

    def listen(self) -> socket.socket:
        """A socket for one worker. It must be claimed."""
        if not _SPREADS:
            worker_socket = self._reserved.dup()
            _send_at_once(worker_socket)
            worker_socket.setblocking(False)
            return worker_socket
        # Not before it is claimed: any other server of the same user could share it.
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        worker_socket = socket.socket(self._reserved.family, self._reserved.type)
        try:
            worker_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            worker_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            _send_at_once(worker_socket)
            worker_socket.setblocking(False)
            worker_socket.bind(self._reserved.getsockname())
            worker_socket.listen(BACKLOG)
            if not self._is_claimed:
                # Nobody accepts connections on this one. It stops listening, and keeps the address
                # even while no worker is left.
                self._reserved.shutdown(socket.SHUT_RDWR)
                self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
                self._is_claimed = True
        except OSError:
            worker_socket.close()
            raise
        return worker_socket

    def close(self) -> None:
        self._reserved.close()


def _send_at_once(listener: socket.socket) -> None:
    """Let connections send what they have, as accepted connections inherit it.

    Otherwise the end of an answer that is sent in pieces waits until the client has acknowledged
    the piece before it, which clients put off for 40 ms.
    """
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
