"""The index of one process. Searches read snapshots of it, so that nobody waits for a search."""

from collections.abc import Callable, Mapping
from threading import Lock
from typing import TypeVar

from roost.changes import Changes
from roost.search.index.advance import advance, rows_touched
from roost.search.index.index import Index

# A change that touches more rows than this is applied beside the searches. That copies columns,
# and fewer rows are quicker to change in place while searches that begin wait for it.
ROWS_IN_PLACE_MAX = 128

Result = TypeVar("Result")


class SharedIndex:
    """One index, one thread at a time that changes it, and any number that read it."""

    def __init__(self) -> None:
        # Held for steps that are bounded: to take a snapshot, and to change a few rows in place.
        self._lock = Lock()
        self._live: Index | None = None
        # What searches that begin now read. None: the next one makes it.
        self._snapshot: Index | None = None

    @property
    def live(self) -> Index | None:
        """The index itself, for the thread that changes it; None before the first was loaded."""
        return self._live

    def snapshot(self) -> Index | None:
        """The index as it is now, which never changes; None before the first was loaded."""
        # Whoever has it keeps it alive, so a writer that forgets it from now on sees that it lives.
        snapshot = self._snapshot
        if snapshot is None:
            with self._lock:
                if self._snapshot is None and self._live is not None:
                    self._snapshot = self._live.snapshot()
                snapshot = self._snapshot
        return snapshot

    def read_now(self, read: Callable[[Index], Result]) -> Result | None:
        """What this small read gives, without a snapshot for it; None before the first index.

        It must keep nothing of the index. Whoever changes the index waits for it.
        """
        with self._lock:
            # If there is a snapshot, the index itself may be changing beside it.
            index = self._snapshot or self._live
            return None if index is None else read(index)

    def replace(self, index: Index) -> None:
        """Put another index in the place of this one."""
        with self._lock:
            self._live, self._snapshot = index, None

    def advance(self, changes: Changes, position: Mapping[int, int]) -> None:
        """Apply changes, which become visible all at once.

        If that fails, there is no index any more: half of a change must not be applied twice.
        """
        live = self._live
        assert live is not None
        try:
            self._advance(live, changes, position)
        except BaseException:
            self._live = self._snapshot = None
            raise

    def _advance(self, live: Index, changes: Changes, position: Mapping[int, int]) -> None:
        if rows_touched(live, changes) <= ROWS_IN_PLACE_MAX:
            with self._lock:
                # Without a reader the snapshot is gone now, and nothing needs to be copied.
                self._snapshot = None
                try:
                    _apply(live, changes, position)
                except BaseException:
                    # Before a search that waits for the lock takes half of the change.
                    self._live = None
                    raise
        else:
            # While there is a snapshot, searches that begin take it, and do not look at what is
            # half done.
            self.snapshot()
            _apply(live, changes, position)
            self._snapshot = live.snapshot()


def _apply(index: Index, changes: Changes, position: Mapping[int, int]) -> None:
    if changes:
        advance(index, changes)
    index.position = position
