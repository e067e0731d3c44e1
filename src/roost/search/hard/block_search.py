"""The ways of one tree that has very many, found depth first in blocks of partial ways.

Partial ways are extended slot by slot. A hopeless one is given up early: `Constraint.monotonic`
says when that is legal. If that is not enough, because no way is found for a while, the search
looks ahead (`feasibility.py`), and extends only what has a way.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from roost.search.budget import Budget
from roost.search.constraints import SameSubtree
from roost.search.hard.feasibility import Feasibility, TreeFeasibility
from roost.search.index.columns import Integers, Mask
from roost.search.request_constraints import RequestConstraints

# How many partial ways are extended at once, at first and at most.
BLOCK_FIRST = 16
BLOCK_LAST = 512
# How many numbers a matrix holds at most, if it can be helped: about a millisecond of work.
CELLS_MAX = 65536
# After this many blocks more than there are slots without a complete way, the search looks ahead.
PATIENCE = 8
# So many fruitless blocks are one turn; then other trees have theirs.
BLOCKS_PER_TURN = 64
# How many states a decision may examine for one partial way, and at first for a whole tree.
STATES_PER_WAY = 64
STATES_FIRST = 256
STATES_LAST = 2**24


def lines_max(width: int) -> int:
    """How many ways are made and checked at once at most."""
    return CELLS_MAX // max(8, width) + 1


class TreeSearch:
    """All ways of one tree."""

    def __init__(
        self,
        constraints: RequestConstraints,
        options: list[Integers],
        feasibility: Feasibility,
        wanted: int | None,
    ) -> None:
        self._constraints = constraints
        self._options = options
        self._feasibility = feasibility
        self._budget = feasibility.budget
        # A block larger than all ways that are wanted would be wasted.
        self._size_max = BLOCK_LAST if wanted is None else min(wanted, BLOCK_LAST)

    def ways(self) -> Iterator[Integers]:
        """Matrices of ways. An empty one is the end of a turn without a way."""
        if self._feasibility.pays_first:
            yield from self._ways_looking_ahead()
            return
        # Slots with the fewest options first: a dead end shows after few steps.
        order = sorted(range(len(self._options)), key=lambda number: len(self._options[number]))
        search = self._block_search(order, None)
        yield from search.ways(PATIENCE + len(order))
        if search.is_lost:
            yield from self._ways_looking_ahead()

    def _ways_looking_ahead(self) -> Iterator[Integers]:
        if self._feasibility.is_known_as_hopeless(self._options):
            return
        feasible = self._feasibility.of_tree(self._options)
        if feasible is None:
            yield from self._block_search(range(len(self._options)), None).ways()
            return
        states_max, possible = STATES_FIRST, None
        while possible is None and states_max <= STATES_LAST:
            possible = feasible.can_be_completed({}, states_max=states_max)
            states_max *= 2
            yield np.empty((0, len(self._options)), dtype=np.int64)
        if possible is not False:
            yield from self._block_search(feasible.order(), feasible).ways()
        else:
            self._feasibility.remember_as_hopeless(self._options)
        # Trees are often alike, so the next one may be hopeless too.
        self._feasibility.pays_first = possible is False

    def _block_search(
        self, order: Sequence[int], feasible: TreeFeasibility | None
    ) -> "_BlockSearch":
        return _BlockSearch(
            self._constraints, self._options, order, self._budget, self._size_max, feasible
        )


class _BlockSearch:
    """The ways of one tree; slots are filled in a given order."""

    def __init__(
        self,
        constraints: RequestConstraints,
        options: list[Integers],
        order: Sequence[int],
        budget: Budget,
        size_max: int,
        feasible: TreeFeasibility | None,
    ) -> None:
        self.is_lost = False  # whether it stopped because it found no way for too long
        self._size_max = max(size_max, BLOCK_FIRST)
        self._constraints = constraints
        self._options = [options[number] for number in order]  # in the order of filling
        self._order = order
        self._budget = budget
        self._feasible = feasible  # if the search looks ahead
        self._steps = constraints.steps(order)
        self._subtrees = self._partial_subtrees()

    def _partial_subtrees(self) -> list[list[tuple[SameSubtree, Integers]]]:
        """For each step the subtrees that are filled in part, with the highest options that remain.

        `same_subtree` is not monotonic, so this only gives up what no remaining option can mend.
        """
        steps: list[list[tuple[SameSubtree, Integers]]] = [[] for _ in self._order]
        for constraint in self._constraints.same_subtrees:
            depths = [d for d, number in enumerate(self._order) if number in constraint.slots]
            tops: Integers = np.empty(0, dtype=np.int64)
            for count in range(len(depths) - 1, 1, -1):
                options = self._options[depths[count]]
                self._budget.pass_over_rows(4 * (len(options) + len(tops)))
                tops = constraint.tops(np.concatenate([options, tops]))
                filled = constraint.among([self._order[d] for d in depths[:count]])
                steps[depths[count - 1]].append((filled, tops))
        return steps

    def ways(self, patience: float = float("inf")) -> Iterator[Integers]:
        """The ways, unless more blocks than `patience` come before the first."""
        # Back to the order of the slots.
        back = np.argsort(self._order)
        blocks = [np.empty((1, 0), dtype=np.int64)]
        # Where every partial way has a way, the first should come soon.
        size = BLOCK_FIRST if self._feasible is None else 1
        fruitless, has_found = 0, False
        while blocks:
            block = blocks.pop()
            depth = block.shape[1]
            if depth == len(self._order):
                fruitless, has_found = 0, True
                yield block[:, back]
                size = min(2 * size, self._size_max)
                continue
            if not has_found and fruitless > patience:
                self.is_lost = True
                return
            most = min(size, max(1, lines_max(depth + 1) // len(self._options[depth])))
            if len(block) > most:
                blocks.append(block[most:])
                block = block[:most]
            longer = self._extended(block)
            if len(longer):
                blocks.append(longer)
            fruitless += 1
            if self._feasible is None:
                size = min(2 * size, self._size_max)
            if fruitless % BLOCKS_PER_TURN == 0:
                yield np.empty((0, len(self._order)), dtype=np.int64)

    def _extended(self, block: Integers) -> Integers:
        depth = block.shape[1]
        options = self._options[depth]
        most = lines_max(depth + 1)
        if len(options) <= most:
            return self._extended_by(block, options)
        pieces = range(0, len(options), most)
        return np.concatenate([self._extended_by(block, options[n : n + most]) for n in pieces])

    def _extended_by(self, block: Integers, options: Integers) -> Integers:
        depth = block.shape[1]
        longer = np.empty((len(block) * len(options), depth + 1), dtype=np.int64)
        longer[:, :depth] = np.repeat(block, len(options), axis=0)
        longer[:, depth] = np.tile(options, len(block))
        longer = longer[self._mask(longer, depth)]
        if self._feasible is not None:
            longer = longer[[self._has_way(self._feasible, way) for way in longer.tolist()]]
        return longer

    def _mask(self, block: Integers, depth: int) -> Mask:
        """Which partial ways may be extended, now that the slot at this depth is filled."""
        self._budget.try_choices(len(block), depth + 1)
        ways = dict(zip(self._order, block.T, strict=False))
        accepted = np.ones(len(block), dtype=np.bool_)
        for check in self._steps[depth]:
            accepted &= check.mask(ways)
        for subtree, tops in self._subtrees[depth]:
            accepted &= subtree.mask_possible(ways, tops)
        return accepted

    def _has_way(self, feasible: TreeFeasibility, way: Sequence[int]) -> bool:
        filled = dict(zip(self._order, way, strict=False))
        return feasible.can_be_completed(filled, states_max=STATES_PER_WAY) is not False
