"""Ways in the order that a client asks for, a page at a time.

Trees are sorted by rank and UUID (`order.py`) and take turns: the first way of each, then the
second of each, and so on. So the cursor of a way is (turn, rank, UUID), and the next page can begin
after it without counting: trees that come and go in between do not move the others.

A page mostly ends in the first turn, after a few trees. So the first trees of the order are
examined a block at a time. All trees are examined at once as soon as that is less work: if few of
the first ones can serve, or a page needs the second turn.
"""

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from roost.query import CandidateQuery, Cursor
from roost.search import combine
from roost.search.budget import Budget
from roost.search.combine import Combination
from roost.search.index.columns import Integers
from roost.search.index.sorted_trees import Key, Ranks
from roost.search.match import EMPTY
from roost.search.options import Options
from roost.search.ordered.order import TreesInOrder
from roost.search.ordered.tree_block import TreeBlock
from roost.search.tree_options import TreeOptions

# Ways that are made and checked at once: few at first, since a page may want no more, then more.
WAYS_AT_FIRST = 256
WAYS_AT_ONCE = combine.WAYS_FEW
# How many trees are a step of the budget when they take turns.
TREES_PER_STEP = 4
# How many trees the first block has at least, and how much larger each is than the last one.
BLOCK_MIN = 16
BLOCK_GROWTH = 4
# How many trees are examined in blocks before it seems better to examine all.
BLOCKS_MAX = 1024
# All are examined at once if there are no more rows than these for each way that a page wants.
ROWS_PER_WAY = 8


class Part(NamedTuple):
    """Some ways that follow each other."""

    ways: Integers  # a row for each
    cursor: Callable[[int], Cursor]  # where the way of this number stands


def _single(cursor: Cursor, way: Integers) -> Part:
    return Part(way[np.newaxis], lambda _: cursor)


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


class _Trees:
    """Trees that can perhaps serve, in order; their ways are made when their turn comes."""

    def __init__(
        self,
        batches: Sequence[Combination],
        numbers: Integers,
        roots: Integers,
        ranks: Ranks,
        uuids: Sequence[str],
        made: dict[int, _Tree],
        ways_wanted: int,
        budget: Budget,
    ) -> None:
        """`numbers` count the trees of all batches; `made` is by root, for all that ask."""
        self._batches = batches
        self._numbers = numbers
        self._roots = roots
        self._ranks = ranks
        self._uuids = uuids
        self._made = made
        self._ways_wanted = ways_wanted
        self._budget = budget

    def __len__(self) -> int:
        return len(self._roots)

    def key(self, position: int) -> Key:
        return float(self._ranks[position]), self._uuids[int(self._roots[position])]

    def cursor(self, position: int, turn: int) -> Cursor:
        rank, root = self.key(position)
        return Cursor(turn=turn, rank=rank, root=root)

    def up_to(self, key: Key | None) -> int:
        """How many of the trees come before this place, with the one that is there."""
        return 0 if key is None else bisect_right(range(len(self)), key, key=self.key)

    def way(self, position: int, turn: int) -> Integers | None:
        root = int(self._roots[position])
        if root not in self._made:
            self._prepare(position)
        return self._made[root].way(turn)

    @cached_property
    def _first_of_batch(self) -> Integers:
        return np.cumsum([0, *(len(each.options.roots) for each in self._batches)])

    def _prepare(self, first: int) -> None:
        """Make the ways of this tree, and with it those of the trees that come next."""
        count = 0.0
        few: dict[int, list[_Tree]] = {}
        # Each of them has a way, if nothing else is in its way.
        some = slice(first, first + self._ways_wanted)
        numbers = self._numbers[some]
        batches = self._first_of_batch.searchsorted(numbers, side="right") - 1
        numbers = numbers - self._first_of_batch[batches]
        for position, (root, batch, number) in enumerate(
            zip(self._roots[some].tolist(), batches.tolist(), numbers.tolist(), strict=True)
        ):
            if position % TREES_PER_STEP == 0:
                self._budget.step()
            if root in self._made:
                continue
            tree = self._made[root] = _Tree(self._batches[batch], number)
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


class OrderedWays:
    """All ways of one search, in order."""

    def __init__(
        self,
        query: CandidateQuery,
        trees: TreesInOrder,
        options: TreeOptions,
        combination: Callable[[Options], Combination],
        limit: int | None,
    ) -> None:
        """A page has `limit` ways, or all."""
        self._index = options.index
        self._budget = options.budget
        self._after = query.after
        self._in_order = trees
        self._options = options
        self._combination = combination
        self._limit = limit
        # Only a way in which everything is shared can be that of several trees.
        self._repeats = all(each.reach is not None for each in options.shared)
        self._made: dict[int, _Tree] = {}
        self._with_ways: list[tuple[int, float]] = []  # root and rank of those examined in blocks

    def parts(self) -> Iterator[Part]:
        """The ways after the cursor at which the last page ended."""
        if self._after is None and not self._repeats:
            return self._parts()
        return self._those_that_count()

    def _those_that_count(self) -> Iterator[Part]:
        seen: set[tuple[int, ...]] = set()
        for part in self._parts():
            for number, way in enumerate(part.ways):
                if self._repeats and np.isin(way, self._options.sharing).all():
                    key = tuple(way.tolist())
                    if key in seen:
                        continue
                    seen.add(key)
                cursor = part.cursor(number)
                if self._after is None or cursor.key > self._after.key:
                    yield _single(cursor, way)

    def _parts(self) -> Iterator[Part]:
        turn, after = 0, None
        if self._after is not None and not self._repeats:
            # No way before the cursor can repeat one after it, so none of them is made.
            turn, after = self._after.turn, (self._after.rank, self._after.root)
        trees: _Trees | None = None
        if turn == 0 and self._is_short:
            begins_first = after is None
            after = yield from self._first_ways(after)
            if after is None:
                turn, trees = 1, self._those_with_ways() if begins_first else None
        if trees is None:
            trees = self._all()
        skipped = trees.up_to(after)
        alive: Iterable[int] = range(len(trees))
        while alive:
            still = []
            for number, position in enumerate(alive):
                if number % TREES_PER_STEP == 0:
                    self._budget.step()
                if position < skipped:
                    still.append(position)
                    continue
                way = trees.way(position, turn)
                if way is not None:
                    still.append(position)
                    yield _single(trees.cursor(position, turn), way)
            alive, skipped = still, 0
            turn += 1

    # -- which trees ---------------------------------------------------------------------------

    @property
    def _is_short(self) -> bool:
        """Whether a page wants so few ways that it is not worth while to examine all trees."""
        return self._limit is not None and self._limit * ROWS_PER_WAY < self._index.rows.count

    def _first_ways(self, after: Key | None) -> Generator[Part, None, Key | None]:
        """The first ways of the trees after this place, some trees at a time.

        It ends where it seems better to examine all trees, and returns that place; None: it did not
        leave out any.
        """
        wanted = 1 + (self._limit or 0)
        size = max(BLOCK_MIN, wanted + wanted // 4)
        left = max(BLOCKS_MAX, 2 * size)
        for roots, ranks in self._in_order.after(after, self._least()):
            while len(roots):
                if left <= 0:
                    return after
                some, some_ranks = roots[:size], ranks[:size]
                yield from self._first_ways_of(some.astype(np.int64), some_ranks)
                after = float(some_ranks[-1]), self._index.uuids[int(some[-1])]
                roots, ranks = roots[size:], ranks[size:]
                left -= len(some)
                size *= BLOCK_GROWTH
        return None

    def _first_ways_of(self, roots: Integers, ranks: Ranks) -> Iterator[Part]:
        self._budget.step()
        block = TreeBlock(self._options, roots)
        found = block.trees()
        if found is None:
            return
        ranks = ranks[block.able]
        if self._options.is_simple(found):
            places = list(zip(found.roots.tolist(), ranks.tolist(), strict=True))
            self._with_ways += places
            yield Part(self._options.first_ways(found), lambda number: self._first(*places[number]))
            return
        options = self._options.options(found)
        batch = self._combination(options)
        trees = self._trees([batch], np.arange(len(options.roots)), options.roots, ranks)
        accepted, ways = batch.first_ways()
        for position in range(len(trees)):
            way = ways[position] if accepted[position] else trees.way(position, 0)
            if way is not None:
                cursor = trees.cursor(position, 0)
                self._with_ways.append((int(options.roots[position]), cursor.rank))
                yield _single(cursor, way)

    def _first(self, root: int, rank: float) -> Cursor:
        """Where the first way of a tree stands."""
        return Cursor(turn=0, rank=rank, root=self._index.uuids[root])

    def _least(self) -> dict[int, int]:
        """What a provider of a tree must have free if the tree is to serve: class id -> amount."""
        least: dict[int, int] = {}
        for slot, shared in zip(self._options.slots, self._options.shared, strict=True):
            if shared.reach is None:
                for class_id, amount in slot.demands.items():
                    least[class_id] = max(amount, least.get(class_id, 0))
        return least

    def _those_with_ways(self) -> _Trees:
        """The trees that had a first way, if all were examined: no others have a second one."""
        roots = np.array([root for root, _ in self._with_ways], dtype=np.int64)
        ranks = np.array([rank for _, rank in self._with_ways])
        found = TreeBlock(self._options, roots).trees()
        batches = [] if found is None else [self._combination(self._options.options(found))]
        return self._trees(batches, np.arange(len(roots)), roots, ranks)

    def _all(self) -> _Trees:
        """All trees that can perhaps serve."""
        batches = [self._combination(options) for options in self._options.batches()]
        roots = np.concatenate([EMPTY, *(each.options.roots for each in batches)])
        numbers, ranks = self._in_order.among(roots)
        return self._trees(batches, numbers, roots[numbers], ranks)

    def _trees(
        self, batches: Sequence[Combination], numbers: Integers, roots: Integers, ranks: Ranks
    ) -> _Trees:
        wanted = WAYS_AT_FIRST if self._limit is None else min(self._limit + 1, WAYS_AT_FIRST)
        uuids = self._index.uuids
        return _Trees(batches, numbers, roots, ranks, uuids, self._made, wanted, self._budget)
