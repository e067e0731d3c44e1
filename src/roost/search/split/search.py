"""The search for requests whose amounts may be split: tree by tree, the fewest pieces first.

It works one tree at a time and in plain Python, because few requests ask for it.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from roost.query import CandidateQuery, Cursor
from roost.search.budget import Budget, GaveUp
from roost.search.index.columns import Integers, Mask
from roost.search.index.index import Index
from roost.search.match import RootTest
from roost.search.ordered.order import trees_in_order
from roost.search.split.answer import SplitAnswer, SplitWay, amounts_of
from roost.search.split.pieces import SplitKind
from roost.search.split.request import SplitRequest
from roost.search.split.ways import TreeWays

# How many trees are passed over between two steps that the budget counts.
TREES_PER_STEP = 32


class SplitSearch:
    """One query with amounts that may be split, on one index."""

    def __init__(
        self,
        index: Index,
        query: CandidateQuery,
        *,
        root: int | None = None,
        together: bool = True,
        budget: Budget | None = None,
    ) -> None:
        """For all trees, or for the one with this root.

        Groups compete for what is free if `together`; if not, each is served on its own. The
        search gives up when its budget is used up; here already it may raise `GaveUp`.
        """
        self._index = index
        self._query = query
        self._root = root
        self._budget = Budget() if budget is None else budget
        self._request = SplitRequest(index, query, together=together, budget=self._budget)
        self._ranks: dict[int, float] = {}  # of the trees that may serve
        self._trees: dict[int, TreeWays] = {}  # those that may have more ways
        self._has_untried = False

    @property
    def gave_up(self) -> bool:
        """Whether something was not tried, so that ways may be missing."""
        return (
            self._budget.gave_up
            or self._has_untried
            or any(tree.has_untried for tree in self._trees.values())
        )

    @property
    def steps(self) -> int:
        """How many steps were made."""
        return self._request.steps

    def find(self, limit: int | None, count_max: int | None = None) -> SplitAnswer:
        """Every candidate, or one page of them; it stops when there are more than `count_max`."""
        ways: list[SplitWay] = []
        after, last, following = self._query.after, None, None
        try:
            for cursor, way in self._distinct():
                if after is not None and cursor.key <= after.key:
                    continue
                if limit is not None and len(ways) == limit:
                    following = last
                    break
                ways.append(way)
                last = cursor
                if count_max is not None and len(ways) > count_max:
                    break
        except GaveUp:
            # A page that ends early for lack of time can be continued.
            following = last
        answer = SplitAnswer(self._index, self._query, ways, count_max)
        answer.gave_up = self.gave_up
        if self._query.order is not None:
            answer.next = following
        return answer

    def has_way(self, roots: Integers) -> tuple[Mask, Mask]:
        """Which of these trees, whose roots meet the rules, have a candidate at all.

        And for which of them that was not found out. Raises `GaveUp`.
        """
        found = np.zeros(len(roots), dtype=np.bool_)
        unknown = np.zeros(len(roots), dtype=np.bool_)
        for number in np.flatnonzero(self._may_fill(roots)).tolist():
            self._budget.step()
            tree = TreeWays(self._request, int(roots[number]))
            found[number] = tree.has_way()
            unknown[number] = tree.has_untried and not found[number]
        return found, unknown

    # -- which trees ---------------------------------------------------------------------------

    def _roots(self) -> Integers:
        """The trees that may serve, in order."""
        index, query = self._index, self._query
        roots = index.root_rows() if self._root is None else np.array([self._root])
        roots = RootTest(index, query, self._budget).accepted(roots)
        roots = roots[self._may_fill(roots)]
        ranks = roots.astype(np.float64)
        if query.order is not None:
            slots = [each.slot for each in self._request.slots]
            trees = trees_in_order(index, query.order, slots, self._budget)
            numbers, ranks = trees.among(roots)
            roots = roots[numbers]
        self._ranks = dict(zip(roots.tolist(), ranks.tolist(), strict=True))
        return roots

    def _may_fill(self, roots: Integers) -> Mask:
        """Which trees may fill every slot on its own."""
        able = np.ones(len(roots), dtype=np.bool_)
        for slot in self._request.slots:
            # Its sizes are sorted here, for all later questions.
            self._budget.step()
            self._budget.examine_rows(self._index.rows.count)
            able &= slot.may_fill(roots)
        return able

    # -- which ways ----------------------------------------------------------------------------

    def _distinct(self) -> Iterator[tuple[Cursor, SplitWay]]:
        """Each candidate once: it may be wholly shared by several trees, or groups swap pieces."""
        seen = set()
        for cursor, way in self._in_turns():
            key = _key(way)
            if key not in seen:
                seen.add(key)
                yield cursor, way

    def _in_turns(self) -> Iterator[tuple[Cursor, SplitWay]]:
        """The ways of each kind, those with the fewest pieces first; trees take turns."""
        roots, pieces = self._roots(), 0
        least = self._extra_least(roots)
        for kind in SplitKind:
            for extra in range(self._request.extra_max + 1):
                # Trees that need more pieces are not even looked at.
                some = roots[least <= extra].tolist()
                for turn, root, way in _turns(self._waiting(some, kind, extra)):
                    rank, uuid = self._ranks[root], self._index.uuids[root]
                    yield Cursor(pieces=pieces, turn=turn, rank=rank, root=uuid), way
                pieces += 1
            roots = np.array(self._not_through(roots.tolist(), kind), dtype=np.int64)
            least = self._extra_least(roots)

    def _extra_least(self, roots: Integers) -> Integers:
        """How many pieces more than slots each of the trees needs at least."""
        least = np.zeros(len(roots), dtype=np.int64)
        for slot in self._request.slots:
            least += slot.extra_least(roots)
        return least

    def _waiting(
        self, roots: Iterable[int], kind: SplitKind, extra: int
    ) -> Iterator[tuple[int, Iterator[SplitWay]]]:
        """The trees that may have such ways. Nothing is done before the turn of a tree."""
        for number, root in enumerate(roots):
            tree = self._trees.get(root)
            if tree is None:
                self._budget.step()
                tree = self._trees[root] = TreeWays(self._request, root)
            elif number % TREES_PER_STEP == 0:
                self._budget.step()
            if extra in tree.extras(kind):
                yield root, tree.ways(kind, extra)

    def _not_through(self, roots: Iterable[int], kind: SplitKind) -> list[int]:
        """The trees that may have ways of the kinds after this one. The others are forgotten."""
        later = list(SplitKind)[list(SplitKind).index(kind) + 1 :]
        left = []
        for number, root in enumerate(roots):
            if number % TREES_PER_STEP == 0:
                self._budget.step()
            if later and self._trees[root].extras(later[0]):
                left.append(root)
            else:
                self._has_untried |= self._trees.pop(root).has_untried
        return left


def _turns(
    waiting: Iterable[tuple[int, Iterator[SplitWay]]],
) -> Iterator[tuple[int, int, SplitWay]]:
    """The first way of each tree, then the second of each, and so on: turn, root and way."""
    turn = 0
    while True:
        still = []
        for root, ways in waiting:
            way = next(ways, None)
            if way is not None:
                still.append((root, ways))
                yield turn, root, way
        if not still:
            return
        waiting, turn = still, turn + 1


def _key(way: SplitWay) -> object:
    serving = frozenset((piece.suffix, piece.row) for pieces in way for piece in pieces)
    return frozenset(amounts_of(way).items()), serving
