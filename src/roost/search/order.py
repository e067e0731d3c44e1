"""Ways in an order of one's choice, a page at a time.

Trees are sorted, by a number and then by the UUID of their root, and take turns: the first way of
each, then the second of each, and so on. So the place of a way is (turn, number, UUID), which the
next page can begin after without counting: trees that come and go in between move no others.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from zlib import crc32

import numpy as np
import numpy.typing as npt

from roost.query import CandidateQuery, Cursor, Order
from roost.search import combine
from roost.search.combine import Combination
from roost.search.index.columns import Integers
from roost.search.index.index import Index
from roost.search.match import Slot
from roost.search.sharing import Lenders

Ranks = npt.NDArray[np.float64]

# Ways that are made and judged at once: few at first, since a page may want no more, then more.
WAYS_AT_FIRST = 256
WAYS_AT_ONCE = 16 * combine.WAYS_FEW


class Tree:
    """One tree that can perhaps serve, and the ways it has as far as they are known."""

    def __init__(self, batch: Combination, number: int) -> None:
        self.batch = batch
        self.number = number
        self.more: Iterator[Integers] = iter(())  # ways that are not known yet, as matrices
        self._known: list[Integers] = []
        self._starts: list[int] = []  # the number of the first way in each matrix
        self._count = 0

    @property
    def way_count(self) -> float:
        return float(self.batch.options.ways[self.number])

    def add(self, ways: Integers) -> None:
        self._known.append(ways)
        self._starts.append(self._count)
        self._count += len(ways)

    def way(self, turn: int) -> Integers | None:
        while self._count <= turn:
            ways = next(self.more, None)
            if ways is None:
                return None
            self.add(ways)
        place = bisect_right(self._starts, turn) - 1
        way: Integers = self._known[place][turn - self._starts[place]]
        return way


class Turns:
    """All ways of one search, in order."""

    def __init__(
        self,
        index: Index,
        query: CandidateQuery,
        order: Order,
        slots: list[Slot],
        lenders: list[Lenders],
        batches: Iterable[Combination],
    ) -> None:
        self._uuids = index.uuids
        self._after = query.after
        # Only a way that is borrowed as a whole can be that of several trees.
        self._repeats = all(each.reach is not None for each in lenders)
        self._sharing = index.sharing_rows()
        self._batches = list(batches)
        roots = np.concatenate([_NO_ROOTS, *(each.options.roots for each in self._batches)])
        ranks = ranks_of(index, order, slots, roots)
        places = in_order(index, roots, ranks)
        # Of each tree, in order; what else there is to know of one is found when its turn comes.
        self._numbers = places
        self._roots: list[int] = roots[places].tolist()
        self._ranks: list[float] = ranks[places].tolist()
        self._first_of_batch = np.cumsum([0, *(len(each.options.roots) for each in self._batches)])
        self._trees: dict[int, Tree] = {}
        self._ways_wanted = WAYS_AT_FIRST

    def ways(self) -> Iterator[tuple[Cursor, Integers]]:
        """From behind the place where the last page ended."""
        seen: set[tuple[int, ...]] = set()
        for position, way in self._ways():
            if self._repeats and np.isin(way, self._sharing).all():
                key = tuple(way.tolist())
                if key in seen:
                    continue
                seen.add(key)
            if self._after is None or position.key > self._after.key:
                yield position, way

    def _ways(self) -> Iterator[tuple[Cursor, Integers]]:
        after = self._after
        turn = skipped = 0
        if after is not None and not self._repeats:
            # Nothing before can matter, so it is not looked for.
            turn = after.turn
            skipped = bisect_right(range(len(self._roots)), (after.rank, after.root), key=self._key)
        alive: Iterable[int] = range(len(self._roots))
        while alive:
            still = []
            for place in alive:
                if place < skipped:
                    still.append(place)
                    continue
                way = self._tree(place).way(turn)
                if way is not None:
                    still.append(place)
                    rank, root = self._key(place)
                    yield Cursor(turn=turn, rank=rank, root=root), way
            alive, skipped = still, 0
            turn += 1

    def _key(self, place: int) -> tuple[float, str]:
        return self._ranks[place], self._uuids[self._roots[place]]

    # -- the ways of some trees ----------------------------------------------------------------

    def _tree(self, place: int) -> Tree:
        tree = self._trees.get(place)
        if tree is None:
            self._prepare(place)
            tree = self._trees[place]
        return tree

    def _prepare(self, first: int) -> None:
        """Find the ways of this tree, and with it of those that come next."""
        count = 0.0
        few: dict[int, list[Tree]] = {}
        for place in range(first, len(self._roots)):
            if place in self._trees:
                continue
            number = int(self._numbers[place])
            batch = int(np.searchsorted(self._first_of_batch, number, side="right")) - 1
            tree = Tree(self._batches[batch], number - int(self._first_of_batch[batch]))
            self._trees[place] = tree
            if tree.way_count > combine.WAYS_FEW:
                tree.more = tree.batch.ways_of_one(tree.number)
            else:
                few.setdefault(batch, []).append(tree)
            count += min(tree.way_count, combine.WAYS_FEW)
            if count >= self._ways_wanted:
                break
        self._ways_wanted = min(2 * self._ways_wanted, WAYS_AT_ONCE)
        for trees in few.values():
            found = trees[0].batch.ways_of_few([tree.number for tree in trees])
            for tree, known in zip(trees, found, strict=True):
                tree.add(known)


# ---------------------------------------------------------------------------------------------
# The order of trees

_NO_ROOTS: Integers = np.empty(0, dtype=np.int64)


def in_order(index: Index, roots: Integers, ranks: Ranks) -> Integers:
    """Where in `roots` each tree stands, by rank and then by UUID."""
    places: Integers = np.argsort(ranks, kind="stable")
    # Where a rank begins, and one more than there are.
    begins = np.flatnonzero(np.diff(ranks[places], prepend=np.nan, append=np.nan))
    shared = np.flatnonzero(np.diff(begins) > 1)
    rows = roots.tolist() if len(shared) else []
    for first, end in zip(begins[shared].tolist(), begins[shared + 1].tolist(), strict=True):
        tied = places[first:end].tolist()
        places[first:end] = sorted(tied, key=lambda place: index.uuids[rows[place]])
    return places


def ranks_of(index: Index, order: Order, slots: Iterable[Slot], roots: Integers) -> Ranks:
    """The number of each tree, in the order that is asked for."""
    match order.by:
        case "pack":
            return _shares_free(index, slots)[roots]
        case "spread":
            return -_shares_free(index, slots)[roots]
        case "random":
            return _scattered(order.seed, [index.uuids[root] for root in roots.tolist()])
    return np.zeros(len(roots))


def _shares_free(index: Index, slots: Iterable[Slot]) -> Ranks:
    """For each root the share of its tree that is free, of what the tree has least of.

    Only classes that are asked for count, and only what is the tree's own.
    """
    rows = index.rows
    shares: Ranks = np.full(rows.count, np.inf)
    for class_id in {class_id for slot in slots for class_id in slot.demands}:
        column = index.columns.get(class_id)
        if column is None:
            continue
        own = slice(0, column.count)
        roots = rows.root[column.row[own]]
        capacity = np.maximum(column.capacity[own], 0)
        free = np.maximum(capacity - column.used[own], 0)
        total = np.bincount(roots, weights=capacity, minlength=rows.count)
        left = np.bincount(roots, weights=free, minlength=rows.count)
        has = total > 0
        shares[has] = np.minimum(shares[has], left[has] / total[has])
    shares[np.isinf(shares)] = 0.0
    return shares


def _scattered(seed: int, uuids: Iterable[str]) -> Ranks:
    """Numbers that look random, and are the same in every process: splitmix64 of a checksum."""
    numbers = np.array([crc32(uuid.encode()) for uuid in uuids], dtype=np.uint64)
    numbers += np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    # As many bits as a floating-point number holds exactly.
    return (numbers >> np.uint64(16)).astype(np.float64)
