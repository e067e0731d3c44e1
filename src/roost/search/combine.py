"""Slots and the providers that can fill them -> ways to fill them all, many trees at a time.

Many ways are a matrix: a line for each way, with the row of a provider for each slot. If a tree has
few ways, all of them are made and checked at once. If it has very many, partial ways are extended
slot by slot, in blocks, depth first, so that the first ways come without making the rest. A
hopeless partial way is given up early: `Constraint.monotonic` says when that is legal, and
`lookahead.py` gives up those for which too few providers are left.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from roost.search.budget import Budget
from roost.search.constraints import SameSubtree
from roost.search.index.columns import Integers, Mask, ragged_range
from roost.search.lookahead import rest_is_possible
from roost.search.request_constraints import RequestConstraints

# A tree with at most this many ways has all of them made and checked; one with more is searched.
WAYS_FEW = 2048
# How many partial ways are extended at once, at first and at most.
BLOCK_FIRST = 16
BLOCK_LAST = 512
# After this many blocks for each slot without a complete way, the search looks ahead.
PATIENCE = 2


class Options:
    """For several trees: which rows can fill each slot, as ragged lists in flat arrays."""

    def __init__(
        self,
        roots: Integers,
        flat: list[Integers],
        start: list[Integers],
        count: list[Integers],
    ) -> None:
        self.roots = roots  # of each tree
        self.flat = flat  # for each slot: rows
        self.start = start  # for each slot: where in `flat` the rows of each tree begin
        self.count = count  # for each slot: how many each tree has
        # Counted in floating point: more ways than an integer can hold must not wrap around.
        self.ways = np.prod(np.array(count, dtype=np.float64), axis=0)

    def of_tree(self, tree: int) -> list[Integers]:
        return [
            flat[start[tree] : start[tree] + count[tree]]
            for flat, start, count in zip(self.flat, self.start, self.count, strict=True)
        ]

    def way(self, trees: Integers, numbers: Integers) -> list[Integers]:
        """Way `numbers[i]` of tree `trees[i]`, counting like an odometer, as columns."""
        columns = []
        for flat, start, count in zip(self.flat, self.start, self.count, strict=True):
            size = count[trees]
            numbers, digits = np.divmod(numbers, size)
            columns.append(flat[start[trees] + digits])
        return columns


class Combination:
    """All ways of a batch of trees, made on demand."""

    def __init__(
        self,
        constraints: RequestConstraints,
        options: Options,
        budget: Budget,
        wanted: int | None = None,
    ) -> None:
        self.wanted = wanted  # how many ways are wanted at most
        self.constraints = constraints
        self.options = options
        self.budget = budget
        steps = constraints.steps(range(len(constraints.slots)))
        self._checks = [check for step in steps for check in step]
        few = options.ways <= WAYS_FEW if self._checks else options.ways < 2**62
        self.easy = np.flatnonzero(few & (options.ways > 0))
        self.hard: list[int] = np.flatnonzero(~few).tolist()

    def in_turns(self) -> Iterator[Integers]:
        """Matrices of ways: every tree has its turn in each, and turns get longer."""
        ways = self.options.ways[self.easy].astype(np.int64)
        searches = [self._search(tree) for tree in self.hard]
        number, length = 0, 1
        alive = self.easy
        while len(alive) or searches:
            numbers = np.repeat(np.arange(number, number + length), len(alive))
            trees = np.tile(alive, length)
            exists = numbers < np.tile(ways, length)
            found = [self._matrix(trees[exists], numbers[exists])]
            still = []
            for search in searches:
                matrix = next(search, None)
                if matrix is not None:
                    found.append(matrix)
                    still.append(search)
            searches = still
            yield np.concatenate(found)
            number += length
            length = min(2 * length, WAYS_FEW)
            alive, ways = alive[ways > number], ways[ways > number]

    def tree_by_tree(self) -> Iterator[Integers]:
        """Matrices of ways: all of one tree, then all of the next."""
        ways = self.options.ways[self.easy].astype(np.int64)
        first = 0
        while first < len(ways):
            # Whole trees, as many as make a matrix of reasonable size.
            end = first + max(1, int(np.searchsorted(np.cumsum(ways[first:]), 16 * WAYS_FEW)))
            counts = ways[first:end]
            trees = np.repeat(self.easy[first:end], counts)
            yield self._matrix(trees, ragged_range(np.zeros_like(counts), counts))
            first = end
        for tree in self.hard:
            yield from self._search(tree)

    def ways_of_few(self, trees: Sequence[int]) -> list[Integers]:
        """For each of these trees, which have few ways, a matrix of all its ways."""
        numbers = np.asarray(trees)
        counts = self.options.ways[numbers].astype(np.int64)
        owners = np.repeat(np.arange(len(numbers)), counts)
        accepted, ways = self._accepted(
            numbers[owners], ragged_range(np.zeros_like(counts), counts)
        )
        ends = np.cumsum(np.bincount(owners[accepted], minlength=len(numbers)))
        return np.split(np.stack(ways, axis=1)[accepted], ends[:-1])

    def ways_of_one(self, tree: int) -> Iterator[Integers]:
        """Matrices of the ways of a tree that may have very many."""
        if tree in self.hard:
            yield from self._search(tree)
            return
        count = int(self.options.ways[tree])
        for first in range(0, count, BLOCK_LAST):
            numbers = np.arange(first, min(first + BLOCK_LAST, count))
            yield self._matrix(np.full(len(numbers), tree), numbers)

    def possible(self) -> Mask:
        """For each tree, whether it has a way at all."""
        found = np.zeros(len(self.options.ways), dtype=np.bool_)
        ways = self.options.ways[self.easy].astype(np.int64)
        number, length, alive = 0, 1, self.easy
        while len(alive):
            numbers = np.repeat(np.arange(number, number + length), len(alive))
            trees = np.tile(alive, length)
            exists = numbers < np.tile(ways, length)
            trees = trees[exists]
            accepted, _ = self._accepted(trees, numbers[exists])
            found[trees[accepted]] = True
            number += length
            # Longer turns, but never more ways at once than make a matrix of reasonable size.
            length = max(1, min(2 * length, 16 * WAYS_FEW // len(alive)))
            left = ~found[alive] & (ways > number)
            alive, ways = alive[left], ways[left]
        for tree in self.hard:
            found[tree] = any(len(matrix) for matrix in self._search(tree))
        return found

    def _matrix(self, trees: Integers, numbers: Integers) -> Integers:
        """Those of these ways that meet every constraint."""
        accepted, ways = self._accepted(trees, numbers)
        matrix = np.stack(ways, axis=1)
        return matrix if accepted.all() else matrix[accepted]

    def _accepted(self, trees: Integers, numbers: Integers) -> tuple[Mask, list[Integers]]:
        """Which of these ways meet every constraint, and the ways."""
        ways = self.options.way(trees, numbers)
        self.budget.try_choices(len(numbers))
        accepted = np.ones(len(numbers), dtype=np.bool_)
        for check in self._checks:
            accepted &= check.mask(ways)
        return accepted, ways

    def _search(self, tree: int) -> Iterator[Integers]:
        """The ways of one tree that has very many, found depth first in blocks of partial ways."""
        options = self.options.of_tree(tree)
        # Slots with the fewest options first: a dead end shows after few steps.
        order = sorted(range(len(options)), key=lambda number: len(options[number]))
        # A block larger than all ways that are wanted would be wasted.
        size_max = BLOCK_LAST if self.wanted is None else min(self.wanted, BLOCK_LAST)
        sorted_options = [options[number] for number in order]
        search = _BlockSearch(self.constraints, sorted_options, order, self.budget, size_max)
        back = np.argsort(order)
        for matrix in search.run():
            yield matrix[:, back]


class _BlockSearch:
    """The ways of one tree, found depth first; slots are filled in a given order."""

    def __init__(
        self,
        constraints: RequestConstraints,
        options: list[Integers],
        order: Sequence[int],
        budget: Budget,
        size_max: int,
    ) -> None:
        self.size_max = max(size_max, BLOCK_FIRST)
        self.constraints = constraints
        self.options = options  # for each slot, in the order of filling
        self.order = order
        self.budget = budget
        self.steps = constraints.steps(order)
        self._subtrees = self._partial_subtrees()

    def _partial_subtrees(self) -> list[list[tuple[SameSubtree, list[Integers]]]]:
        """For each step the subtrees that are filled in part, with the options that remain.

        `same_subtree` is not monotonic, so this only gives up what no remaining option can mend.
        """
        steps: list[list[tuple[SameSubtree, list[Integers]]]] = [[] for _ in self.order]
        for constraint in self.constraints.same_subtrees:
            depths = [d for d, number in enumerate(self.order) if number in constraint.slots]
            for count in range(2, len(depths)):
                filled = constraint.among([self.order[d] for d in depths[:count]])
                remaining = [self.options[d] for d in depths[count:]]
                steps[depths[count - 1]].append((filled, remaining))
        return steps

    def run(self) -> Iterator[Integers]:
        if not self._is_possible([]):
            return
        depth_last = len(self.order) - 1
        first = self.options[0][:, np.newaxis]
        blocks = [first[self._mask(first, 0)]]
        size, fruitless = BLOCK_FIRST, 0
        while blocks:
            block = blocks.pop()
            if len(block) > size:
                blocks.append(block[size:])
                block = block[:size]
            depth = block.shape[1] - 1
            if depth == depth_last:
                fruitless = 0
                yield block
                continue
            if fruitless > PATIENCE * len(self.order):
                block = block[[self._is_possible(way) for way in block.tolist()]]
            fruitless += 1
            size = min(2 * size, self.size_max)
            longer = self._extended(block)
            if len(longer):
                blocks.append(longer)

    def _extended(self, block: Integers) -> Integers:
        depth = block.shape[1]
        options = self.options[depth]
        longer = np.empty((len(block) * len(options), depth + 1), dtype=np.int64)
        longer[:, :depth] = np.repeat(block, len(options), axis=0)
        longer[:, depth] = np.tile(options, len(block))
        return longer[self._mask(longer, depth)]

    def _mask(self, block: Integers, depth: int) -> Mask:
        """Which partial ways may be extended, now that the slot at this depth is filled."""
        self.budget.try_choices(len(block))
        ways = dict(zip(self.order, block.T, strict=False))
        accepted = np.ones(len(block), dtype=np.bool_)
        for check in self.steps[depth]:
            accepted &= check.mask(ways)
        for subtree, remaining in self._subtrees[depth]:
            accepted &= subtree.mask_possible(ways, remaining)
        return accepted

    def _is_possible(self, way: Sequence[int]) -> bool:
        return rest_is_possible(self.constraints, self.order, self.options, way)
