"""A lock that the processes of one service share. A process that ends, however it ends, leaves it.

It is one byte of a file, which the kernel locks for a process. So the threads of a process need
another lock before it.
"""

import fcntl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# The kernel has no limit of time for such a lock, so it is asked again and again.
ASK_SECONDS = 0.00005


class SharedLock:
    """The lock of one byte."""

    def __init__(self, file: int, byte: int) -> None:
        self._file = file
        self._byte = byte
        self._thread_lock = threading.Lock()

    @contextmanager
    def hold(self, *, seconds_max: float | None = None) -> Iterator[bool]:
        """Let no other process, and no other thread, in at the same time.

        False if somebody was in it for longer than this; None: wait for as long as it takes.
        """
        if not self._acquire(seconds_max):
            yield False
            return
        try:
            yield True
        finally:
            unlock_byte(self._file, self._byte)
            self._thread_lock.release()

    def _acquire(self, seconds_max: float | None) -> bool:
        until = None if seconds_max is None else time.monotonic() + seconds_max
        if not self._thread_lock.acquire(timeout=-1 if seconds_max is None else seconds_max):
            return False
        try:
            while not lock_byte(self._file, self._byte, wait=until is None):
                if until is not None and time.monotonic() >= until:
                    self._thread_lock.release()
                    return False
                time.sleep(ASK_SECONDS)
        except BaseException:
            self._thread_lock.release()
            raise
        return True


def lock_byte(file: int, byte: int, *, wait: bool) -> bool:
    """Take a lock that ends with this process, however it ends."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, byte)
    except BlockingIOError:
        return False
    return True


def unlock_byte(file: int, byte: int) -> None:
    fcntl.lockf(file, fcntl.LOCK_UN, 1, byte)
