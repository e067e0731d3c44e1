"""Which trees have an option for every slot, and which rows those are, range by range."""

from collections.abc import Iterator, Sequence
from random import Random

import numpy as np

from roost.query import CandidateQuery
from roost.search.budget import Budget
from roost.search.index.columns import Integers, Mask
from roost.search.index.index import Index
from roost.search.match import RootTest, Slot, same_as
from roost.search.options import Options
from roost.search.request_constraints import RequestConstraints
from roost.search.sharing import SharingOptions

# Rows are examined in ranges that double: a small limit needs few rows, a full scan few ranges.
RANGE_MIN = 512
RANGE_MAX = 65536
# How many rows to examine first for each candidate wanted: a few trees.
ROWS_PER_CANDIDATE = 16
# The options of so few trees are searched for among those that were found.
TREES_FEW = 64


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
        """The trees that can fill every slot on its own, a range of rows at a time."""
        for first, end in self._ranges():
            self.budget.examine_rows(end - first)
            # One test for a whole tree, before any column of numbers is read.
            roots = self.root_test.accepted(self._roots(first, end))
            # Each slot alone, as masks over columns; each leaves fewer trees for the next.
            roots, local = self._trees_with_options(roots, first, end)
            # A trait that one of several providers must have rules out no provider alone, but it
            # rules out a tree in which no option has it.
            roots = self._trees_with_traits(roots, local, first, end)
            for some in self._parts(roots):
                yield self._options(some, local, first, end)

    def _parts(self, roots: Integers) -> Iterator[Integers]:
        """First as many trees as are wanted, then the others: most often the first are enough."""
        if self.random is not None:
            numbers = list(range(len(roots)))
            self.random.shuffle(numbers)
            roots = roots[numbers]
        wanted = len(roots) if self.limit is None else self.limit
        if 2 * wanted < len(roots):
            yield roots[:wanted]
            roots = roots[wanted:]
        if len(roots):
            yield roots

    def _ranges(self) -> Iterator[tuple[int, int]]:
        """Ranges of rows that hold whole trees."""
        rows, ranges = self.index.rows, []
        if self.root is not None:
            return iter([(self.root, int(rows.last[self.root]) + 1)])
        most = RANGE_MAX
        if any(each.reach is not None for each in self.shared):
            # Every tree may have all sharing providers as options, besides its own.
            most = max(RANGE_MIN, RANGE_MAX // (1 + len(self.sharing)))
        size = most if self.limit is None else self.limit * ROWS_PER_CANDIDATE
        size = min(max(size, RANGE_MIN), most)
        begin = int(rows.root[self.begin])
        for first, stop in ((begin, rows.count), (0, begin)):
            while first < stop:
                end = min(first + size, stop)
                end = int(rows.last[rows.root[end - 1]]) + 1
                ranges.append((first, end))
                first, size = end, min(2 * size, most)
        if self.random is not None:
            self.random.shuffle(ranges)
        return iter(ranges)

    def _roots(self, first: int, end: int) -> Integers:
        rows = self.index.rows
        roots: Integers = np.flatnonzero(rows.live[first:end] & (rows.parent[first:end] < 0))
        return roots + first

    def _trees_with_options(
        self, roots: Integers, first: int, end: int
    ) -> tuple[Integers, list[Integers]]:
        """The trees that have an option for each slot, and for each slot the rows of options.

        As soon as no tree is left the other slots are left out.
        """
        rows = self.index.rows
        local: list[Integers] = []
        for number, (slot, shared) in enumerate(zip(self.slots, self.shared, strict=True)):
            if not len(roots):
                break
            if self.same_as[number] < number:
                local.append(local[self.same_as[number]])
                continue
            found = slot.tried(self.index, slot.local(self.index, first, end, self.budget))
            local.append(found)
            served = np.zeros(end - first, dtype=np.bool_)
            served[rows.root[found] - first] = True
            able = served[roots - first]
            if shared.reach is not None:
                able |= shared.reach[rows.tree_aggregates[roots]]
            roots = roots[able]
        return roots, local

    def _trees_with_traits(
        self, roots: Integers, local: list[Integers], first: int, end: int
    ) -> Integers:
        """The trees with a provider for the unsuffixed group that has a trait it must have."""
        for constraint in self.constraints.traits_among_providers:
            if len(roots):
                able = self._has_holder(constraint.holders, roots, local, first, end)
                roots = roots[able]
        return roots

    def _has_holder(
        self, holders: Mask, roots: Integers, local: list[Integers], first: int, end: int
    ) -> Mask:
        rows = self.index.rows
        holding = np.zeros(end - first, dtype=np.bool_)
        able = np.zeros(len(roots), dtype=np.bool_)
        for slot, shared, found in zip(self.slots, self.shared, local, strict=True):
            if not slot.group.one_provider:
                holding[rows.root[found[holders[rows.traits[found]]]] - first] = True
                reach = shared.reach_with(holders)
                if reach is not None:
                    able |= reach[rows.tree_aggregates[roots]]
        return able | holding[roots - first]

    def _options(self, roots: Integers, local: list[Integers], first: int, end: int) -> Options:
        ends = self.index.rows.last[roots] + 1
        flat: list[Integers] = []
        start: list[Integers] = []
        count: list[Integers] = []
        for number, (found, shared) in enumerate(zip(local, self.shared, strict=True)):
            if self.same_as[number] < number:
                for each in (flat, start, count):
                    each.append(each[self.same_as[number]])
                continue
            self.budget.pass_over_rows(end - first)
            if len(roots) <= TREES_FEW:
                begins = found.searchsorted(roots)
                counts = found.searchsorted(ends) - begins
            else:
                # How many were found before each row: quicker than to search for many trees.
                before = np.zeros(end - first + 1, dtype=np.int64)
                before[found - first + 1] = 1
                before = before.cumsum()
                begins = before[roots - first]
                counts = before[ends - first] - begins
            if shared.reach is not None:
                found, begins, counts = shared.appended(found, begins, counts, roots)
            flat.append(found)
            start.append(begins)
            count.append(counts)
        options = Options(roots, flat, start, count, self.same_as)
        self.note_ways(options)
        return options

    def note_ways(self, options: Options) -> None:
        """Remember the options of the tree with the most ways."""
        hardest = int(np.argmax(options.ways))
        if options.ways[hardest] > self._ways_most:
            self._ways_most = float(options.ways[hardest])
            self.counts_most = [int(counts[hardest]) for counts in options.count]
