"""Snapshots of parts of the index that cost nothing until somebody writes.

A snapshot shares every array, list and dictionary with its original. The writer copies one of
them before it changes it in place, but only if a snapshot that shares it still lives. So a search
goes on with the cloud as it was, however long it takes, and a writer beside it copies what it
touches and no more. Without a search it writes in place.

Appending is not a change in place: a snapshot knows how many elements it has, and does not look
at what comes after them. One thread at a time may write or take a snapshot; reading a snapshot
takes no lock. Python's own lock makes each single look into a list or dictionary atomic.
"""

import copy
import weakref
from typing import Any, Self


class CopyOnWrite:
    """A part of the index whose attributes are shared with its snapshots."""

    def __init__(self) -> None:
        self.latest: Self | None = None  # the last snapshot, unless something changed since
        self._snapshots: list[tuple[int, weakref.ref[Self]]] = []  # those that may live, by number
        self._snapshot_number = 0  # of the last one
        # Attribute -> the number of the last snapshot before it was copied. Only later snapshots
        # share it.
        self._owned_since: dict[str, int] = {}

    def snapshot(self) -> Self:
        """This part as it is now; it never changes.

        What is taken out of it, such as an array, is good only as long as the snapshot itself.
        """
        if self.latest is None:
            made = type(self).__new__(type(self))
            made.__dict__.update(self.__dict__)
            self._snapshot_number += 1
            self._snapshots = [each for each in self._snapshots if each[1]() is not None]
            self._snapshots.append((self._snapshot_number, weakref.ref(made)))
            self.latest = made
        return self.latest

    def own(self, name: str) -> Any:
        """An attribute that may be changed in place: no snapshot shares it, or no longer."""
        # As `changed` says. Each claim does this several times, so nothing else is called.
        self.latest = None
        snapshots = self._snapshots
        while snapshots and snapshots[-1][1]() is None:
            snapshots.pop()
        value = getattr(self, name)
        # The newest snapshot that somebody still reads.
        if snapshots and snapshots[-1][0] > self._owned_since.get(name, 0):
            value = copy.copy(value)
            self.replace(name, value)
        return value

    def replace(self, name: str, value: Any) -> None:
        """Give an attribute a value that no snapshot has."""
        self.changed()
        setattr(self, name, value)
        self._owned_since[name] = self._snapshot_number

    def changed(self) -> None:
        """Say that this part differs from its last snapshot."""
        # If nobody reads that snapshot, it is gone with this reference.
        self.latest = None
