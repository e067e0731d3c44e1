"""The pipeline, top to bottom: one query on one index -> candidates.

1. *Slots*: each request group becomes slots, and each slot is filled by one provider (`match.py`).
2. *Roots*: what the root of a tree must be, since that is one test for a whole tree.
3. *Options*: which providers can fill each slot, of the tree itself or shared with it
   (`tree_options.py`, `sharing.py`). A tree without an option for some slot is out before anything
   is combined.
4. *Combine*: ways to fill all slots of a tree, as far as the constraints between slots allow
   (`combine.py`, `constraints.py`). They are made lazily, because there may be millions of them.
   Trees with very many are decided and searched with more care (`hard/`).
5. *Order*: trees take turns, as they come or in an order that the client asks for (`ordered/`).
6. *Answer*: each candidate once, and the providers that it names (`answer.py`).

All of it has a budget (`budget.py`). A search that uses it up gives what it has found by then.

A request whose amounts may be split has a search of its own, one tree at a time (`split/`): it is
rare, and its ways do not fit into matrices.
"""

from collections.abc import Callable, Iterable, Iterator
from random import Random

import numpy as np
from msgspec.structs import replace as evolve

from roost.query import CandidateQuery, Cursor, Order
from roost.search.answer import Answer
from roost.search.budget import Budget, GaveUp
from roost.search.combine import Combination
from roost.search.hard.feasibility import Feasibility
from roost.search.index.columns import Integers
from roost.search.index.index import Index
from roost.search.match import EMPTY, GroupMatcher
from roost.search.options import Options
from roost.search.ordered.order import trees_in_order
from roost.search.ordered.pages import OrderedWays
from roost.search.request_constraints import RequestConstraints
from roost.search.split.search import SplitSearch
from roost.search.tree_options import TreeOptions, TreesFound

# How many ways of a page are added to an answer at once.
PAGE_PART = 512
# How many ways are added to an answer at once if some may be shared.
SHARED_AT_ONCE = 512

# How many of so many trees are left out.
Skip = Callable[[int], int]


def find(
    index: Index,
    query: CandidateQuery,
    *,
    limit_max: int | None = None,
    count_max: int | None = None,
    depth_first: bool = False,
    begin: int = 0,
    skip: Skip | None = None,
    random: Random | None = None,
    budget: Budget | None = None,
) -> Answer:
    """Where does this request fit?

    Names in the query must exist in the index. With a limit the trees take turns, so that one
    wide tree cannot fill the answer, unless `depth_first`. `random` shuffles what comes first.
    Without an order, the tree with the row `begin` comes first, and those before it come last. With
    one that is kept, `skip` is told how many trees there are, and says how many of the first ones
    are left out.
    `limit_max` is the operator's limit, beside the query's own. A search that finds more than
    `count_max` stops, and its answer is too large.
    """
    limit = min((each for each in (query.limit, limit_max) if each is not None), default=None)
    try:
        if query.may_split:
            return SplitSearch(index, query, budget=budget).find(limit, count_max)
        return _find(
            index,
            query,
            limit,
            count_max=count_max,
            depth_first=depth_first,
            begin=begin,
            skip=skip,
            random=random,
            budget=budget,
        )
    except GaveUp:
        # Before there was anything to search: the rules alone took too long.
        answer = Answer(index, query, (), EMPTY)
        answer.gave_up = True
        return answer


def _find(
    index: Index,
    query: CandidateQuery,
    limit: int | None,
    *,
    count_max: int | None,
    depth_first: bool,
    begin: int,
    skip: Skip | None,
    random: Random | None,
    budget: Budget | None,
) -> Answer:
    if query.order is not None:
        # Which trees a page needs is only known when it is made, so the limit bounds the page and
        # not what is made of a tree.
        search = Search(index, query, count_max=count_max, budget=budget)
        return search.answer_in_order(query.order, limit, skip)
    search = Search(
        index,
        query,
        limit=limit,
        count_max=count_max,
        begin=begin,
        random=random,
        budget=budget,
    )
    # Without a limit every way is in the answer, and turns would only cost time.
    turns = limit is not None and not depth_first
    return search.answer(search.ways_in_turns() if turns else search.ways_tree_by_tree())


def find_in_tree(index: Index, query: CandidateQuery, root: int, budget: Budget) -> Answer:
    """One candidate for the tree with this root, if it has any. Not for amounts that may split."""
    try:
        search = Search(index, evolve(query, order=None), limit=1, root=root, budget=budget)
        return search.answer(search.ways_in_turns())
    except GaveUp:
        return Answer(index, query, (), EMPTY)


def has_candidate(
    index: Index, query: CandidateQuery, *, root: int | None = None, budget: Budget | None = None
) -> bool | None:
    """Whether the query fits, anywhere or for the tree with this root.

    None: the search gave up before it found one.
    """
    answer: Answer
    try:
        if query.may_split:
            answer = SplitSearch(index, query, root=root, budget=budget).find(1)
        else:
            search = Search(index, query, limit=1, root=root, budget=budget)
            answer = search.answer(search.ways_in_turns())
    except GaveUp:
        return None
    return None if answer.gave_up and not answer.count else answer.count > 0


class Search:
    """One query without splits on one index, stage by stage."""

    def __init__(
        self,
        index: Index,
        query: CandidateQuery,
        *,
        limit: int | None = None,
        count_max: int | None = None,
        root: int | None = None,
        together: bool = True,
        begin: int = 0,
        random: Random | None = None,
        budget: Budget | None = None,
    ) -> None:
        """For all trees, from `begin` on, or for the one with this root.

        Groups compete for what is free if `together`; if not, each is served on its own.
        """
        self.index = index
        self.query = query
        self.limit = limit
        self.count_max = count_max
        self.budget = Budget() if budget is None else budget
        self.slots = [
            slot
            for group in query.groups
            for slot in GroupMatcher(index, group, budget=self.budget).make_slots()
        ]
        self.constraints = RequestConstraints(
            index, query, self.slots, together=together, budget=self.budget
        )
        self.feasibility = Feasibility(self.constraints, self.budget)
        self.options = TreeOptions(
            index,
            query,
            self.slots,
            self.constraints,
            self.budget,
            limit=limit,
            root=root,
            begin=begin,
            random=random,
        )

    def batches(self) -> Iterator[Combination]:
        """The trees that can fill every slot on its own, a range of rows at a time."""
        for options in self.options.batches():
            yield self._combination(options)

    def _combination(self, options: Options) -> Combination:
        # Combining is the expensive part: it comes last, and its ways are made on demand.
        return Combination(self.constraints, options, self.feasibility, self.limit)

    def ways_tree_by_tree(self) -> Iterator[Integers]:
        for batch in self.batches():
            yield from batch.tree_by_tree()

    def ways_in_turns(self) -> Iterator[Integers]:
        """A turn of every tree, then a longer one, and so on."""
        waiting: Iterable[Iterator[Iterator[Integers]]]
        waiting = map(self._turns, self.options.trees())
        while waiting:
            still = []
            for turns in waiting:
                turn = next(turns, None)
                if turn is not None:
                    yield from turn
                    still.append(turns)
            waiting = still

    def _turns(self, trees: TreesFound) -> Iterator[Iterator[Integers]]:
        """The turns of some trees."""
        is_simple = self.options.is_simple(trees)
        if is_simple:
            # The first options are enough for the first turn, and mostly there is no other.
            yield iter([self.options.first_ways(trees)])
        yield from self._combination(self.options.options(trees)).in_turns(after_first=is_simple)

    def answer(self, ways: Iterator[Integers]) -> Answer:
        """The first ways, up to the limit."""
        answer = Answer(self.index, self.query, self.slots, self.options.sharing, self.count_max)
        try:
            for matrix in self._in_parts(ways):
                answer.add(matrix, may_repeat=self.options.may_repeat)
                if self.limit is not None and answer.count >= self.limit:
                    answer.cut(self.limit)
                    break
                if answer.is_too_large:
                    break
        except GaveUp:
            answer.gave_up = True
        answer.option_counts = self.options.counts_most
        return answer

    def _in_parts(self, ways: Iterator[Integers]) -> Iterator[Integers]:
        """Matrices that are quickly added to an answer: it must see which ways are shared."""
        for matrix in ways:
            if not self.options.may_repeat:
                yield matrix
                continue
            for first in range(0, len(matrix), SHARED_AT_ONCE):
                self.budget.step(SHARED_AT_ONCE // 8)
                yield matrix[first : first + SHARED_AT_ONCE]

    def answer_in_order(self, order: Order, limit: int | None, skip: Skip | None = None) -> Answer:
        """One page of all ways, in the order that the client asks for.

        Of the ways of the trees that are skipped, the first one is left out.
        """
        answer = Answer(self.index, self.query, self.slots, self.options.sharing, self.count_max)
        page: list[Integers] = []
        found = 0
        last: Cursor | None = None
        try:
            trees = trees_in_order(self.index, order, self.slots, self.budget)
            query = self.query
            skipped = 0 if skip is None else skip(trees.count)
            if skipped and (key := trees.key_of(skipped - 1)) is not None:
                query = evolve(query, after=Cursor(turn=0, rank=key[0], root=key[1]))
            ordered = OrderedWays(query, trees, self.options, self._combination, limit)
            for part in ordered.parts():
                taken = part.ways if limit is None else part.ways[: limit - found]
                if len(taken):
                    page.append(taken)
                    found += len(taken)
                    last = part.cursor(len(taken) - 1)
                if len(taken) < len(part.ways):
                    answer.next = last
                    break
                if found - answer.count >= PAGE_PART:
                    answer.add(np.concatenate(page), may_repeat=False)
                    page.clear()
                    if answer.is_too_large:
                        break
        except GaveUp:
            answer.gave_up = True
            # What follows is not lost: the next page begins after the last way that was found.
            answer.next = last
        if page:
            answer.add(np.concatenate(page), may_repeat=False)
        answer.option_counts = self.options.counts_most
        return answer
