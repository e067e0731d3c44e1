"""Knowing that the process was told to stop, whoever handles the signal."""

import signal
import socket
import threading

_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})


def stopping_event() -> threading.Event:
    """An event that is set with the first SIGTERM or SIGINT. Only for the main thread.

    The HTTP server has its handlers for these, and replaces all others. But Python also writes
    the number of each signal that is handled to a socket, if there is one.
    """
    stopping = threading.Event()
    heard, told = socket.socketpair()
    told.setblocking(False)
    signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)

    def listen() -> None:
        # To the end of the process: signals may come as long as it lives.
        with heard, told:
            while numbers := heard.recv(64):
                if _SIGNALS.intersection(numbers):
                    stopping.set()

    threading.Thread(target=listen, name="stopping", daemon=True).start()
    return stopping
