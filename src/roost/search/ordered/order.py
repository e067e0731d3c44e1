"""The order of trees that a client asks for, as a number for each tree: its rank.

Trees of the same rank are ordered by the UUID of their root.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from roost.query import Order, OrderBy
from roost.search.budget import Budget
from roost.search.index.columns import Integers
from roost.search.index.index import Index
from roost.search.index.sorted_trees import Key, Ranks
from roost.search.match import Slot
from roost.search.ordered.kept_order import Demands, KeptOrder, sorted_by_uuid

# How many of the shuffled trees are sorted first, and for how many ranks are computed at once.
SHUFFLED_FIRST = 64
SHUFFLED_AT_ONCE = 8192
# Ranks of shuffled trees are below this; a floating-point number holds 48 bits exactly.
SHUFFLED_RANKS = 2.0**48


class TreesInOrder(Protocol):
    """All trees of an index, in one order."""

    def after(self, key: Key | None, least: Demands) -> Iterator[tuple[Integers, Ranks]]:
        """The rows and ranks of the trees after this place, or of all, some at a time.

        Trees may be left out in which no provider has free what one must have `least`.
        """

    def among(self, roots: Integers) -> tuple[Integers, Ranks]:
        """The positions in `roots`, which are in any order, in this one; and their ranks."""

    @property
    def count(self) -> int:
        """How many of them are kept in this order."""

    def key_of(self, number: int) -> Key | None:
        """The place of the tree of that number, from 0; None if there are fewer that are kept."""


def trees_in_order(
    index: Index, order: Order, slots: Iterable[Slot], budget: Budget
) -> TreesInOrder:
    """All trees, in the order that the client asks for."""
    if order.by is OrderBy.RANDOM:
        return _ShuffledTrees(index, order.seed, budget)
    classes: frozenset[int] = frozenset()
    if order.by is not OrderBy.ROOT:
        classes = frozenset(class_id for slot in slots for class_id in slot.demands)
    return KeptOrder(index, order.by, classes, budget)


class _ShuffledTrees:
    """Trees in an order that depends on a seed, which is another one for most requests."""

    def __init__(self, index: Index, seed: int, budget: Budget) -> None:
        self._index = index
        self._seed = seed
        self._budget = budget

    def after(self, key: Key | None, least: Demands) -> Iterator[tuple[Integers, Ranks]]:
        roots = self._index.root_rows()
        ranks = self._ranks(roots)
        # Ranks are spread evenly, so a range of them has about as many trees as it is wide.
        low = -1.0 if key is None else max(-1.0, key[0])
        width = SHUFFLED_RANKS * SHUFFLED_FIRST / max(1, len(roots))
        while low < SHUFFLED_RANKS:
            self._budget.pass_over_rows(len(roots))
            some = np.flatnonzero((ranks >= low) & (ranks < low + width))
            low, width = low + width, 4 * width
            some = some[self._sorted(roots[some], ranks[some])]
            if key is not None:
                uuids = self._index.uuids
                before = [
                    (rank, uuids[root]) <= key
                    for rank, root in zip(ranks[some].tolist(), roots[some].tolist(), strict=True)
                ]
                some, key = some[~np.array(before, dtype=np.bool_)], None
            yield roots[some], ranks[some]

    def among(self, roots: Integers) -> tuple[Integers, Ranks]:
        ranks = self._ranks(roots)
        numbers = self._sorted(roots, ranks)
        return numbers, ranks[numbers]

    @property
    def count(self) -> int:
        # Nothing is sorted before it is needed.
        return 0

    def key_of(self, number: int) -> Key | None:
        return None

    def _ranks(self, roots: Integers) -> Ranks:
        self._budget.pass_over_rows(len(roots))
        return _pseudorandom(self._seed, self._index.rows.checksum[roots])

    def _sorted(self, roots: Integers, ranks: Ranks) -> Integers:
        """The positions in `roots`, sorted by rank and then by UUID."""
        self._budget.sort_trees(len(roots))
        positions: Integers = np.argsort(ranks, kind="stable")
        # Where each rank begins, and the end.
        begins = np.flatnonzero(np.diff(ranks[positions], prepend=np.nan, append=np.nan))
        ties = np.flatnonzero(np.diff(begins) > 1)
        for first, end in zip(begins[ties].tolist(), begins[ties + 1].tolist(), strict=True):
            tied = positions[first:end]
            positions[first:end] = tied[sorted_by_uuid(self._index, roots[tied], self._budget)]
        return positions


def _pseudorandom(seed: int, checksums: npt.NDArray[np.uint32]) -> Ranks:
    """Numbers that are the same in every process: splitmix64 of a checksum of the UUID."""
    ranks = np.empty(len(checksums))
    start = np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    # Some at a time and in place: what stays in the cache of the processor is quicker to compute.
    for first in range(0, len(checksums), SHUFFLED_AT_ONCE):
        some = slice(first, first + SHUFFLED_AT_ONCE)
        numbers = checksums[some].astype(np.uint64)
        numbers += start
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            numbers ^= numbers >> np.uint64(shift)
            numbers *= np.uint64(factor)
        numbers >>= np.uint64(16)
        ranks[some] = numbers
    return ranks
