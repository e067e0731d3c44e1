"""Trees in an order, as values that never change: moving some of them gives another value.

The trees are in parts of about a hundred. Where a tree leaves a part or enters one, that part is
copied, and the other parts are shared between the old value and the new one. So to move a tree
takes about as long in a large cloud as in a small one, and whoever reads the old value is not
disturbed.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from math import isnan, nan

import numpy as np
import numpy.typing as npt

from roost.search.index.columns import Integers

Ranks = npt.NDArray[np.float64]
# What decides where a tree stands: its rank, then the UUID of its root.
Key = tuple[float, str]
# The row and UUID of a root, and its rank; None: the tree is gone.
Move = tuple[int, str, float | None]

# How many trees a part holds when it is made, and when it is cut in two or joined with another. If
# there are more, more is copied for each move, and a search looks at more trees without room.
PART_MADE = 96
PART_MAX = 128
PART_MIN = 32
# How many rows share a block of ranks.
BLOCK_BITS = 10
BLOCK_ROWS = 1 << BLOCK_BITS

_ABSENT = nan


class TreePart:
    """Trees that are adjacent in the order, as columns."""

    __slots__ = ("free_most", "ranks", "rows", "uuids")

    def __init__(self, ranks: "array[float]", uuids: list[str], rows: "array[int]") -> None:
        self.ranks = ranks
        self.uuids = uuids
        self.rows = rows
        # Class id -> the most that a provider of these trees has free, where a search found it out.
        # When one of the trees changes, the part gives way to another.
        self.free_most: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.uuids)

    def __getitem__(self, some: slice) -> "TreePart":
        return TreePart(self.ranks[some], self.uuids[some], self.rows[some])

    def __add__(self, other: "TreePart") -> "TreePart":
        return TreePart(self.ranks + other.ranks, self.uuids + other.uuids, self.rows + other.rows)

    def place(self, rank: float, uuid: str) -> int:
        """How many of its trees come before this one."""
        first = bisect_left(self.ranks, rank)
        end = bisect_right(self.ranks, rank, first)
        return bisect_left(self.uuids, uuid, first, end)

    def with_tree(self, rank: float, uuid: str, row: int) -> "TreePart":
        place, made = self.place(rank, uuid), self[:]
        made.ranks.insert(place, rank)
        made.uuids.insert(place, uuid)
        made.rows.insert(place, row)
        return made

    def without_tree(self, rank: float, uuid: str) -> "TreePart":
        place, made = self.place(rank, uuid), self[:]
        assert made.uuids[place] == uuid
        del made.ranks[place], made.uuids[place], made.rows[place]
        return made

    def arrays(self) -> tuple[Integers, Ranks]:
        return np.frombuffer(self.rows, dtype=np.int32), np.frombuffer(self.ranks, dtype=float)


def _first_key(part: TreePart) -> Key:
    return part.ranks[0], part.uuids[0]


class SortedTrees:
    """All trees by rank, and those of the same rank by the UUID of their root."""

    def __init__(self, parts: list[TreePart], blocks: list[Ranks], count: int) -> None:
        self._parts = parts
        # The rank of each row that is a root, to find the part that it is in.
        self._blocks = blocks
        self.count = count

    @classmethod
    def of(
        cls, rows: Integers, ranks: Ranks, uuids: Sequence[str], row_count: int
    ) -> "SortedTrees":
        """From the rows of all roots and their ranks, in order; `uuids` are those of all rows."""
        parts = [
            TreePart(
                array("d", ranks[first : first + PART_MADE].tobytes()),
                [uuids[row] for row in rows[first : first + PART_MADE].tolist()],
                array("i", rows[first : first + PART_MADE].astype(np.int32).tobytes()),
            )
            for first in range(0, len(rows), PART_MADE)
        ]
        by_row = np.full((row_count // BLOCK_ROWS + 1) * BLOCK_ROWS, _ABSENT)
        by_row[rows] = ranks
        return cls(parts, list(by_row.reshape(-1, BLOCK_ROWS)), len(rows))

    # -- reading -------------------------------------------------------------------------------

    def after(self, key: Key | None) -> Iterator[tuple[TreePart, int]]:
        """The parts after this place, or all; and how many trees of each come before it."""
        first = place = 0
        if key is not None:
            first = max(0, bisect_right(self._parts, key, key=_first_key) - 1)
            if first < len(self._parts):
                part = self._parts[first]
                place = part.place(*key)
                if place < len(part) and (part.ranks[place], part.uuids[place]) == key:
                    place += 1
        for part in self._parts[first:]:
            yield part, place
            place = 0

    def whole(self) -> tuple[Integers, Ranks]:
        """The rows and ranks of all trees."""
        if not self._parts:
            return np.empty(0, dtype=np.int32), np.empty(0)
        rows, ranks = zip(*(part.arrays() for part in self._parts), strict=True)
        return np.concatenate(rows), np.concatenate(ranks)

    def key_of(self, number: int) -> Key | None:
        """The place of the tree of that number, from 0; None if there are fewer."""
        for part in self._parts:
            if number < len(part):
                return part.ranks[number], part.uuids[number]
            number -= len(part)
        return None

    # -- moving --------------------------------------------------------------------------------

    def moved(self, moves: Iterable[Move]) -> "SortedTrees":
        """The same with some trees, each named once, in other places; or more of them, or fewer."""
        made = SortedTrees(list(self._parts), list(self._blocks), self.count)
        entering: list[tuple[float, str, int]] = []
        copied: set[int] = set()  # blocks
        for row, uuid, rank in moves:
            before = made._rank(row)
            if before == rank:
                if rank is not None:
                    made._renew(rank, uuid)
                continue
            made._set_rank(row, rank, copied)
            if before is not None:
                made._remove(before, uuid)
            if rank is not None:
                entering.append((rank, uuid, row))
        # Last, because a tree that was written again has two rows with the same UUID.
        for rank, uuid, row in entering:
            made._insert(rank, uuid, row)
        return made

    def has(self, row: int) -> bool:
        """Whether this row is the root of one of the trees."""
        return self._rank(row) is not None

    def _rank(self, row: int) -> float | None:
        number = row >> BLOCK_BITS
        if number >= len(self._blocks):
            return None
        rank = float(self._blocks[number][row & (BLOCK_ROWS - 1)])
        return None if isnan(rank) else rank

    def _set_rank(self, row: int, rank: float | None, copied: set[int]) -> None:
        number = row >> BLOCK_BITS
        while number >= len(self._blocks):
            self._blocks.append(np.full(BLOCK_ROWS, _ABSENT))
        if number not in copied:
            copied.add(number)
            self._blocks[number] = self._blocks[number].copy()
        self._blocks[number][row & (BLOCK_ROWS - 1)] = _ABSENT if rank is None else rank

    def _part(self, rank: float, uuid: str) -> int:
        """The number of the part in which this tree is, or would be."""
        return max(0, bisect_right(self._parts, (rank, uuid), key=_first_key) - 1)

    def _renew(self, rank: float, uuid: str) -> None:
        """Forget what is known of a part, because one of its trees changed where it stands."""
        number = self._part(rank, uuid)
        part = self._parts[number]
        self._parts[number] = TreePart(part.ranks, part.uuids, part.rows)

    def _insert(self, rank: float, uuid: str, row: int) -> None:
        self.count += 1
        if not self._parts:
            self._parts.append(TreePart(array("d", [rank]), [uuid], array("i", [row])))
            return
        number = self._part(rank, uuid)
        part = self._parts[number] = self._parts[number].with_tree(rank, uuid, row)
        if len(part) > PART_MAX:
            half = len(part) // 2
            self._parts[number : number + 1] = [part[:half], part[half:]]

    def _remove(self, rank: float, uuid: str) -> None:
        self.count -= 1
        number = self._part(rank, uuid)
        part = self._parts[number] = self._parts[number].without_tree(rank, uuid)
        if len(part) >= PART_MIN:
            return
        # A small part joins the one before it, so that there are never many of them.
        before = self._parts[number - 1 : number]
        if not len(part):
            del self._parts[number]
        elif before and len(before[0]) + len(part) <= PART_MAX:
            self._parts[number - 1 : number + 1] = [before[0] + part]
