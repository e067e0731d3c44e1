"""Ways in the order that a client asks for, a page at a time.

Trees are sorted by rank and UUID (`order.py`) and take turns: the first way of each, then the
second of each, and so on. So the cursor of a way is (turn, rank, UUID), and the next page can begin
after it without counting: trees that come and go in between do not move the others.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from roost.query import CandidateQuery, Cursor, Order
from roost.search import combine
from roost.search.budget import Budget
from roost.search.combine import Combination
from roost.search.index.columns import Integers
from roost.search.index.index import Index
from roost.search.match import EMPTY, Slot
from roost.search.order import in_order, ranks_of
from roost.search.sharing import SharingOptions

# Ways that are made and checked at once: few at first, since a page may want no more, then more.
WAYS_AT_FIRST = 256
WAYS_AT_ONCE = combine.WAYS_FEW
# How many trees are a step of the budget when they take turns.
TREES_PER_STEP = 4


class _Tree:
    """One tree that can perhaps serve, and those of its ways that have been made."""

    # A page may need all trees of a cloud, and the garbage collector stops every thread while it
    # looks at them.
    __slots__ = ("_count", "_made", "_starts", "batch", "more", "number")

    def __init__(self, batch: Combination, number: int) -> None:
        self.batch = batch
        self.number = number
        # Ways that have not been made yet, as matrices; None: all have been made.
        self.more: Iterator[Integers] | None = None
        self._made: Sequence[Integers] = ()
        self._starts: Sequence[int] = ()  # the number of the first way in each matrix
        self._count = 0

    def search(self, more: Iterator[Integers]) -> None:
        """Make its ways one matrix at a time, when their turn comes."""
        self.more, self._made, self._starts = more, [], []

    @property
    def way_count(self) -> float:
        return float(self.batch.options.ways[self.number])

    def add(self, ways: Integers) -> None:
        if isinstance(self._made, list) and isinstance(self._starts, list):
            self._made.append(ways)
            self._starts.append(self._count)
        else:
            # The only ones, in tuples: the garbage collector does not look at these again.
            self._made, self._starts = (ways,), (0,)
        self._count += len(ways)

    def way(self, turn: int) -> Integers | None:
        while self._count <= turn:
            ways = None if self.more is None else next(self.more, None)
            if ways is None:
                return None
            self.add(ways)
        number = bisect_right(self._starts, turn) - 1
        way: Integers = self._made[number][turn - self._starts[number]]
        return way


class OrderedWays:
    """All ways of one search, in order."""

    def __init__(
        self,
        index: Index,
        query: CandidateQuery,
        order: Order,
        slots: list[Slot],
        shared: list[SharingOptions],
        batches: Iterable[Combination],
        budget: Budget,
    ) -> None:
        self._budget = budget
        self._uuids = index.uuids
        self._after = query.after
        # Only a way in which everything is shared can be that of several trees.
        self._repeats = all(each.reach is not None for each in shared)
        self._sharing = index.sharing_rows()
        self._batches = list(batches)
        roots = np.concatenate([EMPTY, *(each.options.roots for each in self._batches)])
        ranks = ranks_of(index, order, slots, roots, budget)
        # For each tree, in order; its ways are made when its turn comes.
        self._numbers = in_order(index, roots, ranks, budget)
        self._roots = roots[self._numbers]
        self._ranks = ranks[self._numbers]
        self._first_of_batch = np.cumsum([0, *(len(each.options.roots) for each in self._batches)])
        self._trees: dict[int, _Tree] = {}
        self._ways_wanted = WAYS_AT_FIRST

    def ways(self) -> Iterator[tuple[Cursor, Integers]]:
        """The ways after the cursor at which the last page ended."""
        seen: set[tuple[int, ...]] = set()
        for cursor, way in self._ways():
            if self._repeats and np.isin(way, self._sharing).all():
                key = tuple(way.tolist())
                if key in seen:
                    continue
                seen.add(key)
            if self._after is None or cursor.key > self._after.key:
                yield cursor, way

    def _ways(self) -> Iterator[tuple[Cursor, Integers]]:
        after = self._after
        turn = skipped = 0
        if after is not None and not self._repeats:
            # No way before the cursor can repeat one after it, so none of them is made.
            turn = after.turn
            skipped = bisect_right(range(len(self._roots)), (after.rank, after.root), key=self._key)
        alive: Iterable[int] = range(len(self._roots))
        while alive:
            still = []
            for number, position in enumerate(alive):
                if number % TREES_PER_STEP == 0:
                    self._budget.step()
                if position < skipped:
                    still.append(position)
                    continue
                way = self._tree(position).way(turn)
                if way is not None:
                    still.append(position)
                    rank, root = self._key(position)
                    yield Cursor(turn=turn, rank=rank, root=root), way
            alive, skipped = still, 0
            turn += 1

    def _key(self, position: int) -> tuple[float, str]:
        return float(self._ranks[position]), self._uuids[int(self._roots[position])]

    # -- the ways of some trees ----------------------------------------------------------------

    def _tree(self, position: int) -> _Tree:
        tree = self._trees.get(position)
        if tree is None:
            self._prepare(position)
            tree = self._trees[position]
        return tree

    def _prepare(self, first: int) -> None:
        """Make the ways of this tree, and with it those of the trees that come next."""
        count = 0.0
        few: dict[int, list[_Tree]] = {}
        for position in range(first, len(self._roots)):
            if position % TREES_PER_STEP == 0:
                self._budget.step()
            if position in self._trees:
                continue
            number = int(self._numbers[position])
            batch = int(np.searchsorted(self._first_of_batch, number, side="right")) - 1
            tree = _Tree(self._batches[batch], number - int(self._first_of_batch[batch]))
            self._trees[position] = tree
            if tree.way_count > combine.WAYS_FEW:
                tree.search(tree.batch.ways_of_one(tree.number))
            else:
                few.setdefault(batch, []).append(tree)
            count += min(tree.way_count, combine.WAYS_FEW)
            if count >= self._ways_wanted:
                break
        self._ways_wanted = min(2 * self._ways_wanted, WAYS_AT_ONCE)
        for trees in few.values():
            found = trees[0].batch.ways_of_few([tree.number for tree in trees])
            for tree, ways in zip(trees, found, strict=True):
                tree.add(ways)
