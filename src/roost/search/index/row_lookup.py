"""The row of a provider by its id, UUID or name."""

from array import array
from collections.abc import Sequence
from typing import Generic, TypeVar

Key = TypeVar("Key", int, str)


class RowLookup(Generic[Key]):
    """Key -> row, for keys that a column of the index already holds.

    A hash table with row numbers only, and a tenth of the size of a dictionary: the column has the
    key of each row. Nothing is ever deleted from it. A removed row loses its key in the column (it
    becomes "" or 0), and so is no longer found.
    """

    def __init__(self, keys: Sequence[Key]) -> None:
        self._keys: Sequence[Key] = keys
        self._count = 0  # how many rows of the column have been added
        self._make_room(16)

    def add_new_rows(self) -> None:
        """Add the rows that were appended to the column."""
        # With half of the buckets free, a key is a step or two away from where it should be.
        if 2 * len(self._keys) > len(self._buckets):
            self._make_room(1 << (2 * len(self._keys)).bit_length())
        keys, buckets, mask = self._keys, self._buckets, self._mask
        for row in range(self._count, len(keys)):
            key = keys[row]
            if not key:
                continue
            bucket = hash((key,)) & mask
            while buckets[bucket] >= 0:
                bucket = (bucket + 1) & mask
            buckets[bucket] = row
        self._count = len(keys)

    def get(self, key: Key | None) -> int | None:
        if not key:
            return None
        keys, buckets, mask = self._keys, self._buckets, self._mask
        # In a tuple, because a number is its own hash: numbers with a pattern would collide.
        bucket = hash((key,)) & mask
        while (row := buckets[bucket]) >= 0:
            if keys[row] == key:
                return row
            bucket = (bucket + 1) & mask
        return None

    def __contains__(self, key: Key | None) -> bool:
        return self.get(key) is not None

    def __getitem__(self, key: Key | None) -> int:
        row = self.get(key)
        if row is None:
            raise KeyError(key)
        return row

    def _make_room(self, size: int) -> None:
        self._buckets = array("i", [-1]) * size
        self._mask = size - 1
        self._count = 0
