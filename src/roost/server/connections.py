"""What the front does to the sockets of its server, which does not hand them out."""

import os
import resource
import socket
import stat
from collections.abc import Iterator
from contextlib import suppress

# How many connections a process accepts. Most only wait: for events, or for the next request.
# The server takes no more until one ends.
CONNECTIONS_MAX = 16384
# The open files that are left for everything else: the database, the log, the metrics.
OTHER_FILES_MAX = 256


def allow_open_files() -> None:
    """Let this process have as many open files, and so connections, as the system allows it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def connections_max() -> int:
    """How many connections this process accepts, with as many open files as it may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return CONNECTIONS_MAX
    return min(CONNECTIONS_MAX, max(soft - OTHER_FILES_MAX, soft // 2))


def cut_off(client: tuple[str, str]) -> None:
    """End the connection from an address and port of a client that does not read its answer.

    The server has no way to end it, and would hold what it has to send for as long as the client
    likes.
    """
    for connection in _connections():
        with connection, suppress(OSError):
            host, port, *_ = connection.getpeername()
            if (host, str(port)) == tuple(client):
                connection.shutdown(socket.SHUT_RDWR)
                return


def _connections() -> Iterator[socket.socket]:
    """The sockets of this process with an address, each as a copy of its descriptor."""
    try:
        numbers = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        return
    for number in numbers:
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                connection = socket.socket(fileno=os.dup(number))
                if connection.family in (socket.AF_INET, socket.AF_INET6):
                    yield connection
                else:
                    connection.close()
