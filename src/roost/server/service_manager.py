"""What systemd is told about the service, where the unit has `Type=notify`."""

import logging
import os
import socket

LOG = logging.getLogger(__name__)

# systemd sets it; see sd_notify(3).
SOCKET_VARIABLE = "NOTIFY_SOCKET"

READY = "READY=1"
STOPPING = "STOPPING=1"


def notify(state: str) -> None:
    """Tell systemd a new state of the service; nothing happens if somebody else started it."""
    path = os.environ.get(SOCKET_VARIABLE)
    if not path:
        return
    # The name of a socket in no folder begins with a null byte, which a variable cannot hold.
    address = f"\0{path[1:]}" if path.startswith("@") else path
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.connect(address)
            connection.sendall(state.encode())
    except OSError as error:
        # The service works without it.
        LOG.warning("systemd cannot be told %s: %s", state, error.strerror)
