"""Threads that wait for the change feed to move. One poll of the database serves all of them.

A waiting client occupies a thread of the server, so their number is bounded. It occupies a
connection to the database only for the moment of a poll.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from roost.errors import TooManyWatchers
from roost.store.feed.positions import FeedPosition, is_ahead
from roost.store.store import Store

# The most that passes before the process notices a write of another process.
POLL_SECONDS = 0.2


class EventWaiters:
    """The threads of this process that wait for events."""

    def __init__(self, store: Store, count_max: int, stopping: threading.Event) -> None:
        self._store = store
        self._free = threading.BoundedSemaphore(count_max) if count_max else None
        self._stopping = stopping
        self._poll_lock = threading.Lock()
        self._polled_at = -POLL_SECONDS
        self._position: FeedPosition = {}  # where the writers were then

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        """End every wait."""
        self._stopping.set()

    def enter(self) -> None:
        """Count the caller as a waiter until it calls `leave`; refuses one too many."""
        if self._free is None or not self._free.acquire(blocking=False):
            raise TooManyWatchers()

    def leave(self) -> None:
        assert self._free is not None
        self._free.release()

    @contextmanager
    def entered(self) -> Iterator[None]:
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def wait(self, position: FeedPosition, until: float) -> bool:
        """Wait until somebody has written after a position, or the monotonic clock says `until`.

        Gives back whether somebody has. A poll from before the call may predate the position, and
        so report a write that the caller has read already. So only a poll made during the call
        counts, and a caller that reads and waits in turns reads once for each poll.
        """
        started = time.monotonic()
        while True:
            polled_at, writers = self._poll()
            if polled_at >= started and is_ahead(writers, position):
                return True
            now = time.monotonic()
            if now >= until or self._stopping.wait(min(until, polled_at + POLL_SECONDS) - now):
                return False

    def _poll(self) -> tuple[float, FeedPosition]:
        """Where the writers are, or were at the last poll, and when that was."""
        with self._poll_lock:
            now = time.monotonic()
            if now - self._polled_at >= POLL_SECONDS:
                self._position = self._store.position()
                self._polled_at = now
            return self._polled_at, self._position
