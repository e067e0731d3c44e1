"""Which trees have an option for every slot, and which rows those are, range by range.

What is found of a tree is where its options begin, and how many there are. That is enough for the
first way of each tree, and most searches end there. If not, all options are put together.
"""

import math
from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

import numpy as np

from roost.query import CandidateQuery
from roost.search.budget import Budget
from roost.search.combine import WAYS_COUNTED
from roost.search.index.columns import Integers, Mask
from roost.search.index.index import Index
from roost.search.match import RootTest, Slot, same_as
from roost.search.options import Options
from roost.search.request_constraints import RequestConstraints
from roost.search.sharing import SharingByAggregates, SharingOptions

# Rows are examined in ranges that double: a small limit needs few rows, a full scan few ranges.
RANGE_MIN = 128
RANGE_MAX = 65536
# How many rows to examine first for each candidate wanted: a few trees.
ROWS_PER_CANDIDATE = 32
# The options of so few trees are searched for among those that were found.
TREES_FEW = 512


class TreesFound(NamedTuple):
    """What is found of some trees: for each slot, the options of their own."""

    roots: Integers
    ends: Integers  # for each tree the row after its last one
    local: list[Integers]  # for each slot: rows, ascending, of these trees and of others
    begins: list[Integers]  # for each slot: where in `local` the rows of each tree begin
    counts: list[Integers]  # for each slot: how many each tree has

    def those(self, some: Integers) -> "TreesFound":
        """The same of some of the trees, by their numbers."""
        return self._replace(
            roots=self.roots[some],
            ends=self.ends[some],
            begins=_those(self.begins, some),
            counts=_those(self.counts, some),
        )


def _those(columns: Sequence[Integers], some: Integers) -> list[Integers]:
    """Some numbers of each column. Slots that ask for the same still have one column in common."""
    by_id = {id(each): each for each in columns}
    taken = {key: each[some] for key, each in by_id.items()}
    return [taken[id(each)] for each in columns]


class TreeOptions:
    """The options of all trees, or of one, for the slots of a query."""

    def __init__(
        self,
        index: Index,
        query: CandidateQuery,
        slots: Sequence[Slot],
        constraints: RequestConstraints,
        budget: Budget,
        *,
        limit: int | None = None,
        root: int | None = None,
        begin: int = 0,
        random: Random | None = None,
    ) -> None:
        self.index = index
        self.slots = slots
        self.constraints = constraints
        self.budget = budget
        self.limit = limit
        self.root = root
        self.begin = begin  # a row; the ranges begin with its tree, and come to those before last
        self.random = random
        # Of the tree with the most ways so far: how many, and the options of each slot.
        self._ways_most = 0.0
        self.counts_most: Sequence[int] = ()
        self.root_test = RootTest(index, query, budget)
        self.sharing = index.sharing_rows()
        # Equal groups have the same options.
        self.same_as = same_as(query.groups, slots)
        self.shared: list[SharingOptions] = []
        for number, slot in enumerate(slots):
            first = self.same_as[number]
            if first < number:
                self.shared.append(self.shared[first])
            else:
                budget.pass_over_rows(len(self.sharing))
                self.shared.append(SharingOptions(index, slot, self.sharing))
        # Only a way in which everything is shared can be that of several trees.
        self.may_repeat = all(each.reach is not None for each in self.shared)

    def batches(self) -> Iterator[Options]:
        """The trees that can fill every slot on its own, some at a time, with all their options."""
        for trees in self.trees():
            yield self.options(trees)

    def trees(self) -> Iterator[TreesFound]:
        """The trees that can fill every slot on its own, a range of rows at a time."""
        for first, end in self._ranges():
            self.budget.examine_rows(end - first)
            # One test for a whole tree, before any column of numbers is read.
            roots = self.root_test.accepted(self._roots(first, end))
            # Each slot alone, as masks over columns.
            trees, able = self._with_options(roots, first, end)
            # A trait that one of several providers must have rules out no provider alone, but it
            # rules out a tree in which no option has it.
            for constraint in self.constraints.traits_among_providers:
                if len(able):
                    has_it = self._has_holder(constraint.holders, trees, first, end)
                    able = able[has_it[able]]
            for some in self._parts(able):
                yield trees.those(some)

    def _parts(self, trees: Integers) -> Iterator[Integers]:
        """First as many trees as are wanted, then the others: most often the first are enough."""
        if not len(trees):
            return
        first = len(trees)
        if self.limit is not None and 2 * self.limit < first:
            first = self.limit
        trees = self._drawn(trees, first)
        yield trees[:first]
        if first < len(trees):
            yield self._drawn(trees[first:], len(trees) - first)

    def _drawn(self, trees: Integers, count: int) -> Integers:
        """The trees, of which so many are drawn by chance and come first, if anything is random."""
        if self.random is None:
            return trees
        drawn = self.random.sample(range(len(trees)), count)
        others: Mask = np.ones(len(trees), dtype=np.bool_)
        others[drawn] = False
        return np.concatenate([trees[drawn], trees[others]])

    def _ranges(self) -> Iterator[tuple[int, int]]:
        """Ranges of rows that hold whole trees."""
        if self.root is not None:
            return iter([(self.root, int(self.index.rows.last[self.root]) + 1)])
        return self._ranges_in_order()

    def _ranges_in_order(self) -> Iterator[tuple[int, int]]:
        rows = self.index.rows
        most = RANGE_MAX
        if any(each.reach is not None for each in self.shared):
            # A tree may have all that share with it as options, besides its own.
            sharing_most = int(SharingByAggregates.of(self.index).count.max(initial=0))
            most = max(RANGE_MIN, RANGE_MAX // (1 + sharing_most))
        size = most if self.limit is None else self.limit * ROWS_PER_CANDIDATE
        size = min(max(size, RANGE_MIN), most)
        if self.random is not None:
            # It begins with one of equal parts, so that each tree comes as early as any other.
            parts = max(1, rows.count // size)
            size = -(-rows.count // parts)
            self.begin = size * self.random.randrange(parts)
        begin = int(rows.root[self.begin])
        for first, stop in ((begin, rows.count), (0, begin)):
            while first < stop:
                end = min(first + size, stop)
                end = int(rows.last[rows.root[end - 1]]) + 1
                yield first, end
                first, size = end, min(2 * size, most)

    def _roots(self, first: int, end: int) -> Integers:
        rows = self.index.rows
        is_root: Mask = rows.live[first:end] & (rows.parent[first:end] < 0)
        return is_root.nonzero()[0] + first

    def _with_options(self, roots: Integers, first: int, end: int) -> tuple[TreesFound, Integers]:
        """What is found of the trees, and the numbers of those that have an option for each slot.

        As soon as there is no such tree, the other slots are left out.
        """
        rows, ends = self.index.rows, self.index.rows.last[roots] + 1
        # As in the columns: with numbers of another type, numpy would convert all of a column.
        narrow: Integers = roots.astype(np.int32)
        trees = TreesFound(roots, ends, [], [], [])
        able: Mask = ends > 0
        for number, (slot, shared) in enumerate(zip(self.slots, self.shared, strict=True)):
            same = self.same_as[number]
            if same < number:
                for each in (trees.local, trees.begins, trees.counts):
                    each.append(each[same])
                continue
            found = slot.tried(self.index, slot.local(self.index, first, end, self.budget))
            begins, counts = _where(found, narrow, ends, first, end)
            serves = counts > 0
            if shared.reach is not None:
                serves |= shared.reach[rows.tree_aggregates[roots]]
            able &= serves
            if not np.count_nonzero(able):
                break
            trees.local.append(found)
            trees.begins.append(begins)
            trees.counts.append(counts)
        return trees, able.nonzero()[0]

    def _has_holder(self, holders: Mask, trees: TreesFound, first: int, end: int) -> Mask:
        """Which trees have a provider for the unsuffixed group that has a trait it must have."""
        rows, roots = self.index.rows, trees.roots
        holding = np.zeros(end - first, dtype=np.bool_)
        able = np.zeros(len(roots), dtype=np.bool_)
        for slot, shared, found in zip(self.slots, self.shared, trees.local, strict=True):
            if not slot.group.one_provider:
                holding[rows.root[found[holders[rows.traits[found]]]] - first] = True
                reach = shared.reach_with(holders)
                if reach is not None:
                    able |= reach[rows.tree_aggregates[roots]]
        return able | holding[roots - first]

    def first_ways(self, trees: TreesFound) -> Integers:
        """The first way of each tree, where they are simple: the first option of each slot.

        The options of a tree's own come before those that are shared with it.
        """
        ways: Integers = np.empty((len(trees.roots), len(self.slots)), dtype=np.int32)
        self.budget.try_choices(*ways.shape)
        for number, (found, shared) in enumerate(zip(trees.local, self.shared, strict=True)):
            begins = trees.begins[number]
            if shared.reach is None:
                ways[:, number] = found[begins]
                continue
            firsts = shared.firsts[self.index.rows.tree_aggregates[trees.roots]]
            if len(found):
                own = found.take(begins, mode="clip")
                firsts = np.where(trees.counts[number] > 0, own, firsts)
            ways[:, number] = firsts
        return ways

    def is_simple(self, trees: TreesFound) -> bool:
        """Whether `first_ways` are those of these trees: no rule is between the slots.

        Not so where a tree may have so many ways that they are found in another order.
        """
        ways_most = math.prod(len(found) + len(self.sharing) for found in trees.local)
        return not self.constraints.all and ways_most < WAYS_COUNTED

    def options(self, trees: TreesFound) -> Options:
        """All options of the trees."""
        flat: list[Integers] = []
        start: list[Integers] = []
        count: list[Integers] = []
        for number, shared in enumerate(self.shared):
            same = self.same_as[number]
            if same < number:
                for each in (flat, start, count):
                    each.append(each[same])
                continue
            found, begins, counts = trees.local[number], trees.begins[number], trees.counts[number]
            if shared.reach is not None:
                self.budget.pass_over_rows(len(trees.roots))
                found, begins, counts = shared.appended(found, begins, counts, trees.roots)
            flat.append(found)
            start.append(begins)
            count.append(counts)
        options = Options(trees.roots, flat, start, count, self.same_as)
        self.note_ways(options)
        return options

    def note_ways(self, options: Options) -> None:
        """Remember the options of the tree with the most ways."""
        hardest = int(np.argmax(options.ways))
        if options.ways[hardest] > self._ways_most:
            self._ways_most = float(options.ways[hardest])
            self.counts_most = [int(counts[hardest]) for counts in options.count]


def _where(
    found: Integers, roots: Integers, ends: Integers, first: int, end: int
) -> tuple[Integers, Integers]:
    """For each tree where its rows begin among those found in a range, and how many there are."""
    if len(roots) <= TREES_FEW:
        begins = found.searchsorted(roots)
        return begins, found.searchsorted(ends) - begins
    # How many were found before each row: quicker than to search for many trees.
    before = np.zeros(end - first + 1, dtype=np.int64)
    before[found - first + 1] = 1
    before = before.cumsum()
    begins = before[roots - first]
    return begins, before[ends - first] - begins
