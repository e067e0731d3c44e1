"""Ways in an order of one's choice, a page at a time.

Trees are sorted, by a number and then by the UUID of their root, and take turns: the first way of
each, then the second of each, and so on. So the place of a way is (turn, number, UUID), which the
next page can begin after without counting: trees that come and go in between move no others.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from roost.query import CandidateQuery, Order, Position
from roost.search import combine
from roost.search.columns import Integers
from roost.search.combine import Combination
from roost.search.index import Index
from roost.search.lend import Lenders
from roost.search.match import Slot

Shares = npt.NDArray[np.float64]

# Ways that are made and judged at once.
WAYS_AT_ONCE = 16 * combine.WAYS_FEW


class Tree:
    """One tree that can perhaps serve, and the ways it has as far as they are known."""

    def __init__(self, rank: float, root: str, batch: Combination, number: int) -> None:
        self.rank = rank
        self.root = root
        self.batch = batch
        self.number = number
        self.known: Integers | None = None
        self.more: Iterator[Integers] | None = None  # None: there are none but the known ones

    @property
    def key(self) -> tuple[float, str]:
        return self.rank, self.root

    @property
    def way_count(self) -> float:
        return float(self.batch.options.ways[self.number])

    def way(self, turn: int) -> Integers | None:
        assert self.known is not None
        while len(self.known) <= turn and self.more is not None:
            block = next(self.more, None)
            if block is None:
                self.more = None
            else:
                self.known = np.concatenate([self.known, block])
        return self.known[turn] if turn < len(self.known) else None


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
        self._index = index
        self._slots = slots
        self._after = query.after
        # Only a way that is borrowed as a whole can be that of several trees.
        self._repeats = all(each.reach is not None for each in lenders)
        self._sharing = index.sharing_rows()
        ranks = ranks_of(index, order, slots)
        self._trees = sorted(
            (
                Tree(ranks(root), index.uuids[root], batch, number)
                for batch in batches
                for number, root in enumerate(batch.options.roots.tolist())
            ),
            key=lambda tree: tree.key,
        )

    def ways(self) -> Iterator[tuple[Position, Integers]]:
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

    def _ways(self) -> Iterator[tuple[Position, Integers]]:
        after = self._after
        turn = 0
        skipped: tuple[float, str] | None = None
        if after is not None and not self._repeats:
            # Nothing before can matter, so it is not looked for.
            turn = after.turn
            skipped = (after.rank, after.root)
        alive = list(range(len(self._trees)))
        while alive:
            still = []
            for place in alive:
                tree = self._trees[place]
                if skipped is not None and tree.key <= skipped:
                    still.append(place)
                    continue
                if tree.known is None:
                    self._prepare(place)
                way = tree.way(turn)
                if way is not None:
                    still.append(place)
                    yield Position(turn=turn, rank=tree.rank, root=tree.root), way
            alive, skipped = still, None
            turn += 1

    # -- the ways of some trees ----------------------------------------------------------------

    def _prepare(self, first: int) -> None:
        """Find the ways of this tree, and with it of those that come next."""
        count = 0.0
        few: dict[int, list[Tree]] = {}
        for place in range(first, len(self._trees)):
            tree = self._trees[place]
            if tree.known is not None:
                continue
            if tree.way_count > combine.WAYS_FEW:
                tree.known = np.empty((0, len(self._slots)), dtype=np.int64)
                tree.more = tree.batch.ways_of_one(tree.number)
            else:
                few.setdefault(id(tree.batch), []).append(tree)
            count += min(tree.way_count, combine.WAYS_FEW)
            if count >= WAYS_AT_ONCE:
                break
        for trees in few.values():
            found = trees[0].batch.ways_of_few([tree.number for tree in trees])
            for tree, known in zip(trees, found, strict=True):
                tree.known = known


# ---------------------------------------------------------------------------------------------
# The order of trees


def ranks_of(index: Index, order: Order, slots: Iterable[Slot]) -> Callable[[int], float]:
    """The number of a tree by its root, in the order that is asked for."""
    match order.by:
        case "pack" | "spread":
            sign = 1 if order.by == "pack" else -1
            shares = sign * _shares_free(index, slots)
            return lambda root: float(shares[root])
        case "random":
            return lambda root: _scattered(order.seed, index.uuids[root])
    return lambda root: 0.0


def _shares_free(index: Index, slots: Iterable[Slot]) -> Shares:
    """For each root the share of its tree that is free, of what the tree has least of.

    Only classes that are asked for count, and only what is the tree's own.
    """
    rows = index.rows
    shares = np.full(rows.count, np.inf)
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


def _scattered(seed: int, root: str) -> float:
    """A number that looks random, and is the same in every process."""
    digest = hashlib.blake2b(f"{seed} {root}".encode(), digest_size=6).digest()
    return float(int.from_bytes(digest))
