"""Sharing providers: who lends to which tree."""

import numpy as np

from roost.search.columns import Integers, Mask
from roost.search.index import Index
from roost.search.match import Slot


class Lenders:
    """The providers that can fill a slot for trees other than their own."""

    def __init__(self, index: Index, slot: Slot, sharing: Integers) -> None:
        self._index = index
        rows = slot.shared(index, sharing).tolist() if len(sharing) else []
        self._rows = frozenset(rows)
        self._known: dict[int, list[int]] = {}
        # For each set of aggregates: whether a tree with it can borrow; None if nobody lends.
        self.reach: Mask | None = None
        if rows:
            aggregates = {name for row in rows for name in index.row_aggregates(row)}
            self.reach = index.aggregate_sets.holding_any(aggregates)

    def added_to(
        self, local: Integers, start: Integers, count: Integers, roots: Integers
    ) -> tuple[Integers, Integers, Integers]:
        """The ragged lists of what trees have themselves, each followed by what it can borrow."""
        rows = self._index.rows
        numbers, trees_to_sets = np.unique(rows.tree_aggregates[roots], return_inverse=True)
        lists = [self._to(number) for number in numbers.tolist()]
        pieces: list[Integers] = []
        lent = np.zeros(len(roots), dtype=np.int64)
        for tree, (root, number) in enumerate(
            zip(roots.tolist(), trees_to_sets.tolist(), strict=True)
        ):
            borrowed = lists[number]
            # What stands in the tree itself is there already.
            inside = borrowed[(borrowed >= root) & (borrowed <= rows.last[root])]
            if len(inside):
                borrowed = np.setdiff1d(borrowed, inside, assume_unique=True)
            pieces += (local[start[tree] : start[tree] + count[tree]], borrowed)
            lent[tree] = len(borrowed)
        counts = count + lent
        ends = np.cumsum(counts)
        return np.concatenate(pieces), ends - counts, counts

    def _to(self, number: int) -> Integers:
        """The rows that lend to a tree with this set of aggregates."""
        names = self._index.aggregate_sets.members[number]
        lending = set().union(*(self._index.sharing.get(name, set()) for name in names))
        return np.array(sorted(self._rows.intersection(lending)), dtype=np.int64)
