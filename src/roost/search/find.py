"""The pipeline, top to bottom: one query on one index -> candidates."""

from collections.abc import Iterable, Iterator
from random import Random

import numpy as np

from roost.query import CandidateQuery, Cursor, Order
from roost.search.answer import Answer
from roost.search.combine import Combination, Options, Work
from roost.search.constraints import Rules
from roost.search.index.columns import Integers, Mask
from roost.search.index.index import Index
from roost.search.match import GroupMatcher, RootTest
from roost.search.order import Turns
from roost.search.sharing import Lenders
from roost.search.split.find import SplitSearch

# Rows are examined in ranges that double: a small limit looks at few, a full scan pays little.
RANGE_MIN = 512
RANGE_MAX = 65536
# How many rows to look at first for each candidate wanted: a few trees.
ROWS_FOR_ONE = 16


def find(
    index: Index,
    query: CandidateQuery,
    *,
    limit_max: int | None = None,
    depth_first: bool = False,
    random: Random | None = None,
    work: Work | None = None,
) -> Answer:
    """Where does this request fit?

    Names in the query must exist in the index. With a limit the trees take turns, so that one
    wide tree cannot fill the answer, unless `depth_first`. `random` shuffles what comes first.
    `limit_max` is the operator's limit, beside the query's own.
    """
    limits = [limit for limit in (query.limit, limit_max) if limit is not None]
    limit = min(limits, default=None)
    if query.may_split:
        return SplitSearch(index, query).find(limit)
    if query.order is not None:
        # Which trees come first is only known when all have been looked at.
        search = Search(index, query, None, None, work or Work())
        return search.answer_in_order(query.order, limit)
    search = Search(index, query, limit, random, work or Work())
    # Where everything is asked for, whose turn it is does not matter.
    turns = bool(limits) and not depth_first
    ways = search.ways_in_turns() if turns else search.ways_tree_by_tree()
    return search.answer(ways)


class Search:
    """One query on one index, taken step by step."""

    def __init__(
        self,
        index: Index,
        query: CandidateQuery,
        limit: int | None,
        random: Random | None,
        work: Work,
    ) -> None:
        self.index = index
        self.query = query
        self.limit = limit
        self.random = random
        self.work = work
        groups = [GroupMatcher(index, group) for group in query.groups]
        self.rules = Rules(index, query, groups)
        self.root_test = RootTest(index, query)
        self.sharing = index.sharing_rows()
        self.lenders = [Lenders(index, slot, self.sharing) for slot in self.rules.slots]

    # -- which trees, and what can fill each slot there ----------------------------------------

    def batches(self) -> Iterator[Combination]:
        """The trees that can fill every slot on its own, a range of rows at a time."""
        rows = self.index.rows
        for first, end in self._ranges():
            self.work.rows_examined += end - first
            roots = np.flatnonzero(rows.live[first:end] & (rows.parent[first:end] < 0)) + first
            # Cheapest first: what the root must be, then what each slot needs.
            roots = self.root_test.accepted(roots)
            local: list[Integers] = []
            for slot, lenders in zip(self.rules.slots, self.lenders, strict=True):
                if not len(roots):
                    break
                found = slot.local(self.index, first, end)
                local.append(found)
                served = np.zeros(end - first, dtype=np.bool_)
                served[rows.root[found] - first] = True
                able = served[roots - first]
                if lenders.reach is not None:
                    able |= lenders.reach[rows.tree_aggregates[roots]]
                roots = roots[able]
            for holders in self.rules.required_together:
                if len(roots):
                    roots = roots[self._may_hold(holders, roots, local, first, end)]
            if len(roots):
                options = self._options(roots, local, first, end)
                yield Combination(self.rules, options, self.work, self.limit)

    def _may_hold(
        self, holders: Mask, roots: Integers, local: list[Integers], first: int, end: int
    ) -> Mask:
        """Which trees have, for the unsuffixed group, a provider with a trait it must have."""
        rows = self.index.rows
        holding = np.zeros(end - first, dtype=np.bool_)
        able = np.zeros(len(roots), dtype=np.bool_)
        for slot, lenders, found in zip(self.rules.slots, self.lenders, local, strict=True):
            if not slot.group.one_provider:
                holding[rows.root[found[holders[rows.traits[found]]]] - first] = True
                reach = lenders.reach_of(holders)
                if reach is not None:
                    able |= reach[rows.tree_aggregates[roots]]
        return able | holding[roots - first]

    def _ranges(self) -> Iterator[tuple[int, int]]:
        """Ranges of rows that hold whole trees."""
        rows, first, ranges = self.index.rows, 0, []
        size = RANGE_MAX if self.limit is None else self.limit * ROWS_FOR_ONE
        size = min(max(size, RANGE_MIN), RANGE_MAX)
        while first < rows.count:
            end = min(first + size, rows.count)
            end = int(rows.last[rows.root[end - 1]]) + 1
            ranges.append((first, end))
            first, size = end, min(2 * size, RANGE_MAX)
        if self.random is not None:
            self.random.shuffle(ranges)
        return iter(ranges)

    def _options(self, roots: Integers, local: list[Integers], first: int, end: int) -> Options:
        if self.random is not None:
            numbers = list(range(len(roots)))
            self.random.shuffle(numbers)
            roots = roots[numbers]
        ends = self.index.rows.last[roots] + 1
        flat, start, count = [], [], []
        for found, lenders in zip(local, self.lenders, strict=True):
            # How many were found before each row: quicker than to search for every tree.
            before = np.zeros(end - first + 1, dtype=np.int64)
            before[found - first + 1] = 1
            before = np.cumsum(before)
            begins = before[roots - first]
            counts = before[ends - first] - begins
            if lenders.reach is not None:
                found, begins, counts = lenders.added_to(found, begins, counts, roots)
            flat.append(found)
            start.append(begins)
            count.append(counts)
        return Options(roots, flat, start, count)

    # -- which ways ----------------------------------------------------------------------------

    def ways_tree_by_tree(self) -> Iterator[Integers]:
        for batch in self.batches():
            yield from batch.tree_by_tree()

    def ways_in_turns(self) -> Iterator[Integers]:
        """A turn of every tree, then a longer one, and so on."""
        waiting: Iterable[Iterator[Integers]] = (batch.in_turns() for batch in self.batches())
        while waiting:
            still = []
            for turns in waiting:
                ways = next(turns, None)
                if ways is not None:
                    yield ways
                    still.append(turns)
            waiting = still

    def answer_in_order(self, order: Order, limit: int | None) -> Answer:
        """One page of all ways."""
        slots = self.rules.slots
        answer = Answer(self.index, self.query, slots, self.sharing)
        turns = Turns(self.index, self.query, order, slots, self.lenders, self.batches())
        page: list[Integers] = []
        last: Cursor | None = None
        for position, way in turns.ways():
            if limit is not None and len(page) == limit:
                answer.next = last
                break
            page.append(way)
            last = position
        if page:
            answer.add(np.stack(page))
        return answer

    def answer(self, ways: Iterator[Integers]) -> Answer:
        answer = Answer(self.index, self.query, self.rules.slots, self.sharing)
        for matrix in ways:
            answer.add(matrix)
            if self.limit is not None and answer.count >= self.limit:
                answer.cut(self.limit)
                break
        return answer
