"""The search for requests whose amounts may be split: tree by tree, the fewest pieces first.

It works one tree at a time and in plain Python, because few requests ask for it.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from roost.query import CandidateQuery, Cursor
from roost.search.budget import Budget
from roost.search.index.columns import Integers, Mask
from roost.search.index.index import Index
from roost.search.match import RootTest
from roost.search.order import in_order, ranks_of
from roost.search.split.answer import SplitAnswer, SplitWay, amounts_of
from roost.search.split.ways import SplitKind, SplitRequest, TreeWays


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
        search gives up when its budget is used up.
        """
        self._index = index
        self._query = query
        self._root = root
        self._request = SplitRequest(index, query, together=together, budget=budget)
        self._ranks: dict[int, float] = {}  # of the trees that may serve
        self._trees: dict[int, TreeWays] = {}

    @property
    def gave_up(self) -> bool:
        """Whether the search gave up somewhere, so that ways may be missing."""
        return self._request.gave_up

    @property
    def steps(self) -> int:
        """How many choices were tried."""
        return self._request.steps

    def find(self, limit: int | None) -> SplitAnswer:
        """Every candidate, or one page of them."""
        ways: list[SplitWay] = []
        after, last, following = self._query.after, None, None
        for cursor, way in self._distinct():
            if after is not None and cursor.key <= after.key:
                continue
            if limit is not None and len(ways) == limit:
                following = last
                break
            ways.append(way)
            last = cursor
        answer = SplitAnswer(self._index, self._query, ways)
        if self._query.order is not None:
            answer.next = following
        return answer

    def has_way(self, roots: Integers) -> Mask:
        """Which of these trees, whose roots meet the rules, have a candidate at all."""
        found = np.zeros(len(roots), dtype=np.bool_)
        for number in np.flatnonzero(self._may_fill(roots)).tolist():
            tree = TreeWays(self._request, int(roots[number]))
            found[number] = any(
                True
                for kind in SplitKind
                for extra in range(self._request.extra_max + 1)
                for _ in tree.ways(kind, extra)
            )
        return found

    # -- which trees ---------------------------------------------------------------------------

    def _roots(self) -> list[int]:
        """The trees that may serve, in order."""
        index, query = self._index, self._query
        roots = index.root_rows() if self._root is None else np.array([self._root])
        roots = RootTest(index, query).accepted(roots)
        roots = roots[self._may_fill(roots)]
        if query.order is None:
            ranks = roots.astype(np.float64)
        else:
            slots = [each.slot for each in self._request.slots]
            ranks = ranks_of(index, query.order, slots, roots)
        self._ranks = dict(zip(roots.tolist(), ranks.tolist(), strict=True))
        found: list[int] = roots[in_order(index, roots, ranks)].tolist()
        return found

    def _may_fill(self, roots: Integers) -> Mask:
        """Which trees may fill every slot on its own."""
        able = np.ones(len(roots), dtype=np.bool_)
        for slot in self._request.slots:
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
        served: set[int] = set()
        for kind in SplitKind:
            roots = [root for root in roots if root not in served]
            for extra in range(self._request.extra_max + 1):
                waiting = {root: self._ways_of(root, kind, extra) for root in roots}
                for turn, root, way in _turns(waiting):
                    served.add(root)
                    rank, uuid = self._ranks[root], self._index.uuids[root]
                    yield Cursor(pieces=pieces, turn=turn, rank=rank, root=uuid), way
                pieces += 1

    def _ways_of(self, root: int, kind: SplitKind, extra: int) -> Iterator[SplitWay]:
        # A generator, so that nothing is done before the tree's turn, which may never come.
        tree = self._trees.get(root)
        if tree is None:
            tree = self._trees[root] = TreeWays(self._request, root)
        yield from tree.ways(kind, extra)


def _turns(waiting: Mapping[int, Iterator[SplitWay]]) -> Iterator[tuple[int, int, SplitWay]]:
    """The first way of each tree, then the second of each, and so on: turn, root and way."""
    turn = 0
    while waiting:
        still = {}
        for root, ways in waiting.items():
            way = next(ways, None)
            if way is not None:
                still[root] = ways
                yield turn, root, way
        waiting, turn = still, turn + 1


def _key(way: SplitWay) -> object:
    serving = frozenset((piece.suffix, piece.row) for pieces in way for piece in pieces)
    return frozenset(amounts_of(way).items()), serving
