"""Waiting for what others write: one look at the database does for all who wait.

Who waits occupies a thread of the server, so there is a bound on how many may; and no connection
to the database, except in the moment of a look.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from roost.errors import TooManyWatchers
from roost.store.feed.positions import FeedPosition, is_ahead
from roost.store.store import Store

# How late a write of another process may be noticed.
LOOK_SECONDS = 0.2


class EventWaiters:
    """Those who wait in this process."""

    def __init__(self, store: Store, places: int, stopping: threading.Event) -> None:
        self._store = store
        self._places = threading.BoundedSemaphore(places) if places else None
        self._stopping = stopping
        self._looking = threading.Lock()
        self._looked = -LOOK_SECONDS  # when somebody last looked
        self._position: FeedPosition = {}

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        """Let everybody go."""
        self._stopping.set()

    def enter(self) -> None:
        """Take a place among those who wait; `leave` gives it back."""
        if self._places is None or not self._places.acquire(blocking=False):
            raise TooManyWatchers()

    def leave(self) -> None:
        assert self._places is not None
        self._places.release()

    @contextmanager
    def place(self) -> Iterator[None]:
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def wait(self, position: FeedPosition, until: float) -> bool:
        """Whether anything was written after a position, at the latest at a time of the clock.

        A look that is older than the position would tell of what its owner has read already. So
        only one from now on counts, and who reads and waits in turns reads once for each look.
        """
        begun = time.monotonic()
        while True:
            looked, seen = self._look()
            if looked >= begun and is_ahead(seen, position):
                return True
            now = time.monotonic()
            if now >= until or self._stopping.wait(min(until, looked + LOOK_SECONDS) - now):
                return False

    def _look(self) -> tuple[float, FeedPosition]:
        """Where the writers are, or were a little while ago, and when that was."""
        with self._looking:
            now = time.monotonic()
            if now - self._looked >= LOOK_SECONDS:
                self._position = self._store.position()
                self._looked = now
            return self._looked, self._position
