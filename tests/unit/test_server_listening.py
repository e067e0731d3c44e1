"""The sockets that workers listen on."""

import socket
from contextlib import closing

from roost.server.listening import Address


def test_connections_send_at_once_what_they_have() -> None:
    """Otherwise the last piece of an answer waits 40 ms for an acknowledgement."""
    with closing(Address("127.0.0.1", 0)) as address:
        address.claim()
        with closing(address.listen()) as listener:
            listener.setblocking(True)
            with socket.create_connection(listener.getsockname(), timeout=5):
                connection, _ = listener.accept()
                with connection:
                    assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
