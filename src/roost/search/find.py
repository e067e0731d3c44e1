"""The pipeline, top to bottom: one query on one index -> candidates.

1. *Slots*: each request group becomes slots, and each slot is filled by one provider (`match.py`).
2. *Roots*: what the root of a tree must be, since that is one test for a whole tree.
3. *Options*: which providers can fill each slot, of the tree itself or shared with it
   (`sharing.py`). A tree without an option for some slot is out before anything is combined.
4. *Combine*: ways to fill all slots of a tree, as far as the constraints between slots allow
   (`combine.py`, `constraints.py`). They are made lazily, because there may be millions of them.
5. *Order*: trees take turns, as they come or in an order that the client asks for (`order.py`,
   `pages.py`).
6. *Answer*: each candidate once, and the providers that it names (`answer.py`).

A request whose amounts may be split has a search of its own, one tree at a time (`split/`): it is
rare, and its ways do not fit into matrices.
"""

from collections.abc import Iterable, Iterator
from random import Random

import numpy as np

from roost.query import CandidateQuery, Cursor, Order
from roost.search.answer import Answer
from roost.search.budget import Budget, GaveUp
from roost.search.combine import Combination
from roost.search.feasibility import Feasibility
from roost.search.index.columns import Integers, Mask
from roost.search.index.index import Index
from roost.search.match import GroupMatcher, RootTest
from roost.search.options import Options
from roost.search.pages import OrderedWays
from roost.search.request_constraints import RequestConstraints
from roost.search.sharing import SharingOptions
from roost.search.split.search import SplitSearch

# Rows are examined in ranges that double: a small limit needs few rows, a full scan few ranges.
RANGE_MIN = 512
RANGE_MAX = 65536
# How many rows to examine first for each candidate wanted: a few trees.
ROWS_PER_CANDIDATE = 16


def find(
    index: Index,
    query: CandidateQuery,
    *,
    limit_max: int | None = None,
    depth_first: bool = False,
    random: Random | None = None,
    budget: Budget | None = None,
) -> Answer:
    """Where does this request fit?

    Names in the query must exist in the index. With a limit the trees take turns, so that one
    wide tree cannot fill the answer, unless `depth_first`. `random` shuffles what comes first.
    `limit_max` is the operator's limit, beside the query's own.
    """
    limit = min((each for each in (query.limit, limit_max) if each is not None), default=None)
    if query.may_split:
        return SplitSearch(index, query, budget=budget).find(limit)
    if query.order is not None:
        # Which tree comes first is only known when all have been examined, so the limit bounds
        # the page and not the search.
        return Search(index, query, budget=budget).answer_in_order(query.order, limit)
    search = Search(index, query, limit=limit, random=random, budget=budget)
    # Without a limit every way is in the answer, and turns would only cost time.
    turns = limit is not None and not depth_first
    return search.answer(search.ways_in_turns() if turns else search.ways_tree_by_tree())


def has_candidate(
    index: Index, query: CandidateQuery, *, root: int | None = None, budget: Budget | None = None
) -> bool | None:
    """Whether the query fits, anywhere or for the tree with this root.

    None: the search gave up before it found one.
    """
    if query.may_split:
        split_search = SplitSearch(index, query, root=root, budget=budget)
        found = split_search.find(1).count > 0
        return None if split_search.gave_up and not found else found
    search = Search(index, query, limit=1, root=root, budget=budget)
    answer = search.answer(search.ways_in_turns())
    return None if answer.gave_up and not answer.count else answer.count > 0


class Search:
    """One query without splits on one index, stage by stage."""

    def __init__(
        self,
        index: Index,
        query: CandidateQuery,
        *,
        limit: int | None = None,
        root: int | None = None,
        together: bool = True,
        random: Random | None = None,
        budget: Budget | None = None,
    ) -> None:
        """For all trees, or for the one with this root.

        Groups compete for what is free if `together`; if not, each is served on its own.
        """
        self.index = index
        self.query = query
        self.limit = limit
        self.root = root
        self.random = random
        self.budget = Budget() if budget is None else budget
        self.slots = [slot for group in query.groups for slot in GroupMatcher(index, group).slots]
        self.constraints = RequestConstraints(index, query, self.slots, together=together)
        self.feasibility = Feasibility(self.constraints, self.budget)
        self.root_test = RootTest(index, query)
        self.sharing = index.sharing_rows()
        self.shared = [SharingOptions(index, slot, self.sharing) for slot in self.slots]

    # -- from roots to combinations ------------------------------------------------------------

    def batches(self) -> Iterator[Combination]:
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
            # Combining is the expensive part: it comes last, and its ways are made on demand.
            if len(roots):
                options = self._options(roots, local, first, end)
                yield Combination(self.constraints, options, self.feasibility, self.limit)

    def _ranges(self) -> Iterator[tuple[int, int]]:
        """Ranges of rows that hold whole trees."""
        rows, first, ranges = self.index.rows, 0, []
        if self.root is not None:
            return iter([(self.root, int(rows.last[self.root]) + 1)])
        size = RANGE_MAX if self.limit is None else self.limit * ROWS_PER_CANDIDATE
        size = min(max(size, RANGE_MIN), RANGE_MAX)
        while first < rows.count:
            end = min(first + size, rows.count)
            end = int(rows.last[rows.root[end - 1]]) + 1
            ranges.append((first, end))
            first, size = end, min(2 * size, RANGE_MAX)
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
        for slot, shared in zip(self.slots, self.shared, strict=True):
            if not len(roots):
                break
            found = slot.tried(self.index, slot.local(self.index, first, end))
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
        if self.random is not None:
            numbers = list(range(len(roots)))
            self.random.shuffle(numbers)
            roots = roots[numbers]
        ends = self.index.rows.last[roots] + 1
        flat, start, count = [], [], []
        for found, shared in zip(local, self.shared, strict=True):
            # How many were found before each row: quicker than to search for every tree.
            before = np.zeros(end - first + 1, dtype=np.int64)
            before[found - first + 1] = 1
            before = np.cumsum(before)
            begins = before[roots - first]
            counts = before[ends - first] - begins
            if shared.reach is not None:
                found, begins, counts = shared.appended(found, begins, counts, roots)
            flat.append(found)
            start.append(begins)
            count.append(counts)
        return Options(roots, flat, start, count)

    # -- from combinations to the answer -------------------------------------------------------

    def ways_tree_by_tree(self) -> Iterator[Integers]:
        for batch in self.batches():
            yield from batch.tree_by_tree()

    def ways_in_turns(self) -> Iterator[Integers]:
        """A turn of every tree, then a longer one, and so on."""
        waiting: Iterable[Iterator[Iterator[Integers]]]
        waiting = (batch.in_turns() for batch in self.batches())
        while waiting:
            still = []
            for turns in waiting:
                turn = next(turns, None)
                if turn is not None:
                    yield from turn
                    still.append(turns)
            waiting = still

    def answer(self, ways: Iterator[Integers]) -> Answer:
        """The first ways, up to the limit."""
        answer = Answer(self.index, self.query, self.slots, self.sharing)
        try:
            for matrix in ways:
                answer.add(matrix)
                if self.limit is not None and answer.count >= self.limit:
                    answer.cut(self.limit)
                    break
        except GaveUp:
            answer.gave_up = True
        return answer

    def answer_in_order(self, order: Order, limit: int | None) -> Answer:
        """One page of all ways, in the order that the client asks for."""
        answer = Answer(self.index, self.query, self.slots, self.sharing)
        page: list[Integers] = []
        last: Cursor | None = None
        try:
            ordered = OrderedWays(
                self.index, self.query, order, self.slots, self.shared, self.batches()
            )
            for cursor, way in ordered.ways():
                if limit is not None and len(page) == limit:
                    answer.next = last
                    break
                page.append(way)
                last = cursor
        except GaveUp:
            answer.gave_up = True
            answer.next = last
        if page:
            answer.add(np.stack(page))
        return answer
