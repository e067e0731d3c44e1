"""Finding the row of a provider by something that names it."""

from array import array
from collections.abc import Sequence
from typing import Generic, TypeVar

Key = TypeVar("Key", int, str)


class RowTable(Generic[Key]):
    """Key -> row, for keys that a column of the index already holds.

    A hash table of nothing but row numbers, a tenth of what a dictionary takes: whether the key
    of a row is the one in question is looked up in the column. So nothing is ever taken out of
    it: a row that dies loses its key in the column (it becomes "" or 0), and is found no more.
    """

    def __init__(self, keys: Sequence[Key]) -> None:
        self._keys: Sequence[Key] = keys
        self._count = 0  # how many rows of the column are in
        self._make_room(16)

    def catch_up(self) -> None:
        """Take in the rows that were added to the column."""
        # With half of the slots free, a key is a step or two away from where it should be.
        if 2 * len(self._keys) > len(self._slots):
            self._make_room(1 << (2 * len(self._keys)).bit_length())
        keys, slots, mask = self._keys, self._slots, self._mask
        for row in range(self._count, len(keys)):
            key = keys[row]
            if not key:
                continue
            slot = hash((key,)) & mask
            while slots[slot] >= 0:
                slot = (slot + 1) & mask
            slots[slot] = row
        self._count = len(keys)

    def get(self, key: Key | None) -> int | None:
        if not key:
            return None
        keys, slots, mask = self._keys, self._slots, self._mask
        # A number by itself has itself for a hash; numbers with a pattern would crowd.
        slot = hash((key,)) & mask
        while (row := slots[slot]) >= 0:
            if keys[row] == key:
                return row
            slot = (slot + 1) & mask
        return None

    def __contains__(self, key: Key | None) -> bool:
        return self.get(key) is not None

    def __getitem__(self, key: Key | None) -> int:
        row = self.get(key)
        if row is None:
            raise KeyError(key)
        return row

    def _make_room(self, size: int) -> None:
        self._slots = array("i", [-1]) * size
        self._mask = size - 1
        self._count = 0
