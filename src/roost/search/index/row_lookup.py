"""The row of a provider by its id, UUID or name."""

from array import array
from collections.abc import Iterable, MutableSequence
from typing import Generic, TypeVar

from roost.search.index.copy_on_write import CopyOnWrite

Key = TypeVar("Key", int, str)


class RowLookup(CopyOnWrite, Generic[Key]):
    """A column of keys, and key -> row.

    A hash table with row numbers only, and a tenth of the size of a dictionary: the column has the
    key of each row. Nothing is ever deleted from it. A removed row loses its key in the column (it
    becomes "" or 0), and so is no longer found. Snapshots share the table, and so ignore the rows
    that were added after them.
    """

    def __init__(self, keys: MutableSequence[Key]) -> None:
        """`keys` is an empty list or array, which this object then owns."""
        super().__init__()
        self.keys: MutableSequence[Key] = keys  # of each row
        self.count = 0  # how many rows have been added
        self._make_room(16)

    def extend(self, keys: Iterable[Key]) -> None:
        """Add rows."""
        self.changed()
        self.keys.extend(keys)
        first, self.count = self.count, len(self.keys)
        # With half of the buckets free, a key is a step or two away from where it should be.
        if 2 * self.count > len(self._buckets):
            self._make_room(1 << (2 * self.count).bit_length())
            first = 0
        column, buckets, mask = self.keys, self._buckets, self._mask
        for row in range(first, self.count):
            key = column[row]
            if not key:
                continue
            bucket = hash((key,)) & mask
            while buckets[bucket] >= 0:
                bucket = (bucket + 1) & mask
            buckets[bucket] = row

    def get(self, key: Key | None) -> int | None:
        if not key:
            return None
        keys, buckets, mask, count = self.keys, self._buckets, self._mask, self.count
        # In a tuple, because a number is its own hash: numbers with a pattern would collide.
        bucket = hash((key,)) & mask
        while (row := buckets[bucket]) >= 0:
            if row < count and keys[row] == key:
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
