"""Slots and the providers that can fill them -> ways to fill them all, many trees at a time.

Many ways are a matrix: a line for each way, with the row of a provider for each slot. If a tree has
few ways, all of them are made and checked at once. If it has very many, they are searched, one tree
at a time (`block_search.py`), unless a look at all trees shows that it has none (`bounds.py`).
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from roost.search.hard.block_search import TreeSearch, lines_max
from roost.search.hard.bounds import within_bounds
from roost.search.hard.feasibility import Feasibility
from roost.search.index.columns import Integers, Mask, ragged_range
from roost.search.options import Options
from roost.search.request_constraints import RequestConstraints

# A tree with at most this many ways has all of them made and checked; one with more is searched.
WAYS_FEW = 2048
# Where no rule is between slots, no tree is searched that has fewer ways than this.
WAYS_COUNTED = 2**62
# When a tree has more ways than this to make, a look at its bounds pays.
WAYS_BEFORE_BOUNDS = 64
# With more slots than this it pays for every tree, because each way is expensive.
SLOTS_FEW = 8


class Combination:
    """All ways of a batch of trees, made on demand."""

    def __init__(
        self,
        constraints: RequestConstraints,
        options: Options,
        feasibility: Feasibility,
        wanted: int | None = None,
    ) -> None:
        self.wanted = wanted  # how many ways are wanted at most
        self.constraints = constraints
        self.options = options
        self.budget = feasibility.budget
        self._feasibility = feasibility
        slots = range(len(constraints.slots))
        self._checks = [check for step in constraints.steps(slots) for check in step]
        self._lines_max = lines_max(len(slots))
        few = options.ways <= WAYS_FEW if self._checks else options.ways < WAYS_COUNTED
        self.easy = np.flatnonzero(few & (options.ways > 0))
        if len(slots) > SLOTS_FEW and self._checks:
            self.easy = self._within_bounds(self.easy)
        self.hard: list[int] = self._within_bounds(np.flatnonzero(~few)).tolist()

    def _within_bounds(self, trees: Integers) -> Integers:
        if not len(trees):
            return trees
        return within_bounds(self.constraints.bounds(), self.options, trees, self.budget)

    def in_turns(self, *, after_first: bool = False) -> Iterator[Iterator[Integers]]:
        """Turns, each of them as matrices of ways: every tree has its turn, and they get longer.

        Without the first turn if that is over.
        """
        searches = [self._search(tree) for tree in self.hard]
        number, length, alive = 0, 1, self.easy
        if after_first:
            number, length, alive = 1, 2, alive[self.options.ways[alive] > 1]
        while len(alive) or searches:
            yield self._turn(alive, number, length, searches)
            number += length
            length = min(2 * length, WAYS_FEW)
            alive = alive[self.options.ways[alive] > number]
            if number < WAYS_BEFORE_BOUNDS <= number + length:
                alive = self._within_bounds(alive)

    def _turn(
        self, alive: Integers, number: int, length: int, searches: list[Iterator[Integers]]
    ) -> Iterator[Integers]:
        for trees, numbers in self._lines(alive, number, length):
            yield self._matrix(trees, numbers)
        still = []
        for search in searches:
            matrix = next(search, None)
            if matrix is not None:
                still.append(search)
                yield matrix
        searches[:] = still

    def _lines(
        self, alive: Integers, number: int, length: int
    ) -> Iterator[tuple[Integers, Integers]]:
        """Way `number` of each tree, then the next of each; as many at once as is reasonable."""
        if length == 1:
            # Every tree that is alive has it.
            for first in range(0, len(alive), self._lines_max):
                trees = alive[first : first + self._lines_max]
                yield trees, np.full(len(trees), number)
            return
        count = length * len(alive)
        for first in range(0, count, self._lines_max):
            lines = np.arange(first, min(first + self._lines_max, count))
            turns, places = np.divmod(lines, len(alive))
            trees, numbers = alive[places], turns + number
            exists = numbers < self.options.ways[trees]
            yield trees[exists], numbers[exists]

    def tree_by_tree(self) -> Iterator[Integers]:
        """Matrices of ways: all of one tree, then all of the next."""
        for trees in self._trees_together(self._easy_within_bounds()):
            if len(trees) == 1:
                yield from self._ways_of_one(int(trees[0]))
            else:
                counts = self.options.ways[trees].astype(np.int64)
                owners = np.repeat(trees, counts)
                yield self._matrix(owners, ragged_range(np.zeros_like(counts), counts))
        for tree in self.hard:
            yield from self._search(tree)

    def _easy_within_bounds(self) -> Integers:
        """The trees with few ways, without those of which a look shows that they have none."""
        several = self.options.ways[self.easy] > WAYS_BEFORE_BOUNDS
        if not self._checks or not several.any():
            return self.easy
        kept = ~several
        kept[np.isin(self.easy, self._within_bounds(self.easy[several]))] = True
        return self.easy[kept]

    def _trees_together(self, trees: Integers) -> Iterator[Integers]:
        """Whole trees, as many as make a matrix of reasonable size, or one."""
        ends = np.cumsum(np.minimum(self.options.ways[trees], self._lines_max))
        first = before = 0
        while first < len(trees):
            end = int(np.searchsorted(ends, before + self._lines_max, side="right"))
            end = max(end, first + 1)
            yield trees[first:end]
            first, before = end, ends[end - 1]

    def first_ways(self) -> tuple[Mask, Integers]:
        """The first way of each tree with few ways, and whether it meets every constraint.

        For a tree with many ways it never does: these are searched in another order.
        """
        accepted, ways = self._accepted(self.easy, np.zeros(len(self.easy), dtype=np.int64))
        matrix = np.stack(ways, axis=1)
        count = len(self.options.ways)
        if len(self.easy) == count:
            return accepted, matrix
        all_accepted = np.zeros(count, dtype=np.bool_)
        all_accepted[self.easy] = accepted
        whole = np.zeros((count, matrix.shape[1]), dtype=matrix.dtype)
        whole[self.easy] = matrix
        return all_accepted, whole

    def ways_of_few(self, trees: Sequence[int]) -> list[Integers]:
        """For each of these trees, which have few ways, a matrix of all its ways."""
        found: list[Integers] = []
        for some in self._trees_together(np.asarray(trees)):
            counts = self.options.ways[some].astype(np.int64)
            owners = np.repeat(np.arange(len(some)), counts)
            accepted, ways = self._accepted(
                some[owners], ragged_range(np.zeros_like(counts), counts)
            )
            ends = np.bincount(owners[accepted], minlength=len(some)).cumsum().tolist()
            matrix = np.stack(ways, axis=1)[accepted]
            found += [matrix[first:end] for first, end in zip([0, *ends], ends, strict=False)]
        return found

    def ways_of_one(self, tree: int) -> Iterator[Integers]:
        """Matrices of the ways of a tree that may have very many."""
        if self._checks and self.options.ways[tree] > WAYS_FEW:
            # Not among the hard ones if its bounds show that it has none.
            return self._search(tree) if tree in self._hard_set else iter(())
        return self._ways_of_one(tree)

    @cached_property
    def _hard_set(self) -> frozenset[int]:
        return frozenset(self.hard)

    def _ways_of_one(self, tree: int) -> Iterator[Integers]:
        count = int(self.options.ways[tree])
        for first in range(0, count, self._lines_max):
            numbers = np.arange(first, min(first + self._lines_max, count))
            yield self._matrix(np.full(len(numbers), tree), numbers)

    def possible(self) -> Mask:
        """For each tree, whether it has a way at all."""
        found = np.zeros(len(self.options.ways), dtype=np.bool_)
        number, length, alive = 0, 1, self.easy
        while len(alive):
            for trees, numbers in self._lines(alive, number, length):
                accepted, _ = self._accepted(trees, numbers)
                found[trees[accepted]] = True
            number += length
            # Longer turns, but never more ways at once than make a matrix of reasonable size.
            length = max(1, min(2 * length, self._lines_max // len(alive)))
            alive = alive[~found[alive] & (self.options.ways[alive] > number)]
            if number - length < WAYS_BEFORE_BOUNDS <= number:
                alive = self._within_bounds(alive)
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
        self.budget.try_choices(len(numbers), len(ways))
        accepted = np.ones(len(numbers), dtype=np.bool_)
        for check in self._checks:
            if len(ways) > SLOTS_FEW:
                # It compares a slot with all those before it.
                self.budget.step(1 + len(check.slots) // 2)
            accepted &= check.mask(ways)
        return accepted, ways

    def _search(self, tree: int) -> Iterator[Integers]:
        """The ways of one tree that has very many."""
        self.budget.step()
        search = TreeSearch(
            self.constraints, self.options.of_tree(tree), self._feasibility, self.wanted
        )
        yield from search.ways()
