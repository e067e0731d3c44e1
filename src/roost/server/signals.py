"""Signals as bytes that arrive, not as code that runs in the middle of other code."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# What ends the service. A terminal that is closed hangs up.
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@contextmanager
def arriving_signals() -> Iterator[socket.socket]:
    """A socket that gets the number of each signal with a handler in Python. Main thread only.

    The numbers arrive even while the main thread cannot run its handlers.
    """
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.setblocking(False)
        previous = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            yield reader
        finally:
            # Before the sockets are closed: Python prints a traceback if it cannot write.
            signal.set_wakeup_fd(previous)


@contextmanager
def ending_when_interrupted(seconds: float) -> Iterator[None]:
    """Let Ctrl-C end the block by `KeyboardInterrupt`, or the process if that takes too long.

    Python raises `KeyboardInterrupt` between two of its instructions. A single one may take half a
    minute: to look up the host of a database, or to wait until another process unlocks a file.
    """
    # Python leaves it out in a program that a script started in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    over = threading.Event()

    def watch(signals: socket.socket) -> None:
        # It may be closed already, if a second Ctrl-C interrupts how the block ends.
        with suppress(OSError):
            while numbers := signals.recv(64):
                if signal.SIGINT in numbers and not over.wait(seconds):
                    os._exit(1)

    with arriving_signals() as signals:
        watcher = threading.Thread(target=watch, args=[signals], name="interrupts", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            # Nobody reads them any more.
            signal.set_wakeup_fd(-1)
            # Before worker processes are forked: a fork copies locks, but not the threads that hold
            # them.
            signals.shutdown(socket.SHUT_RD)
            watcher.join()
