"""Sharing providers: who lends to which tree."""

import numpy as np

from roost.search.columns import Integers, Mask, ragged_range
from roost.search.index import Index
from roost.search.match import Slot


class Lenders:
    """The providers that can fill a slot for trees other than their own."""

    def __init__(self, index: Index, slot: Slot, sharing: Integers) -> None:
        self._index = index
        rows = slot.shared(index, sharing).tolist() if len(sharing) else []
        self._rows = frozenset(rows)
        # For each set of aggregates: whether a tree with it can borrow; None if nobody lends.
        self.reach: Mask | None = None
        if rows:
            aggregates = {name for row in rows for name in index.row_aggregates(row)}
            self.reach = index.aggregate_sets.holding_any(aggregates)

    def added_to(
        self, local: Integers, start: Integers, count: Integers, roots: Integers
    ) -> tuple[Integers, Integers, Integers]:
        """The ragged lists of what trees have themselves, each followed by what it can borrow."""
        numbers, set_of_tree = np.unique(
            self._index.rows.tree_aggregates[roots], return_inverse=True
        )
        lists = [self._to(number) for number in numbers.tolist()]
        sizes = np.array([len(rows) for rows in lists])
        lent = sizes[set_of_tree]
        borrowed = np.concatenate(lists)[
            ragged_range((np.cumsum(sizes) - sizes)[set_of_tree], lent)
        ]
        # What stands in the tree itself is there already.
        trees = np.repeat(np.arange(len(roots)), lent)
        outside = (borrowed < roots[trees]) | (borrowed > self._index.rows.last[roots][trees])
        if not outside.all():
            borrowed = borrowed[outside]
            lent = np.bincount(trees[outside], minlength=len(roots))
        counts = count + lent
        begins = np.cumsum(counts) - counts
        flat = np.empty(int(counts.sum()), dtype=np.int64)
        flat[ragged_range(begins, count)] = local[ragged_range(start, count)]
        flat[ragged_range(begins + count, lent)] = borrowed
        return flat, begins, counts

    def _to(self, number: int) -> Integers:
        """The rows that lend to a tree with this set of aggregates."""
        names = self._index.aggregate_sets.members[number]
        lending = set().union(*(self._index.sharing.get(name, ()) for name in names))
        return np.array(sorted(self._rows.intersection(lending)), dtype=np.int64)
