"""Searches in which amounts may be split: tree by tree, those with the fewest pieces first."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from roost.query import CandidateQuery, Cursor
from roost.search.index.columns import Integers, Mask
from roost.search.index.index import Index
from roost.search.match import RootTest
from roost.search.order import in_order, ranks_of
from roost.search.split.answer import SplitAnswer, Way, amounts_of
from roost.search.split.ways import SplitRequest, TreeWays

# A tree that can serve with the least splits does not serve with others.
Kind = Callable[[TreeWays, int], Iterator[Way]]
KINDS: tuple[Kind, ...] = (TreeWays.least, TreeWays.others)


class SplitSearch:
    """One query with amounts that may be split, on one index."""

    def __init__(
        self,
        index: Index,
        query: CandidateQuery,
        *,
        root: int | None = None,
        together: bool = True,
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> None:
        """On behalf of all trees or of one; groups compete for what there is if `together`."""
        self._index = index
        self._query = query
        self._root = root
        self._request = SplitRequest(index, query, together=together, may_go_on=may_go_on)
        self._ranks: dict[int, float] = {}  # of the trees that may serve
        self._trees: dict[int, TreeWays] = {}

    @property
    def is_cut(self) -> bool:
        """Whether it gave up somewhere, so that ways may be missing."""
        return self._request.is_cut

    @property
    def steps(self) -> int:
        """How many choices were tried."""
        return self._request.steps

    def find(self, limit: int | None) -> SplitAnswer:
        """Every candidate, or one page of them."""
        ways: list[Way] = []
        after, last, following = self._query.after, None, None
        for position, way in self._distinct():
            if after is not None and position.key <= after.key:
                continue
            if limit is not None and len(ways) == limit:
                following = last
                break
            ways.append(way)
            last = position
        answer = SplitAnswer(self._index, self._query, ways)
        if self._query.order is not None:
            answer.next = following
        return answer

    def having_a_way(self, roots: Integers) -> Mask:
        """Which of these trees, whose roots are as they should be, have a candidate at all."""
        found = np.zeros(len(roots), dtype=np.bool_)
        for number in np.flatnonzero(self._may_fill(roots)).tolist():
            tree = TreeWays(self._request, int(roots[number]))
            found[number] = any(
                True
                for kind in KINDS
                for extra in range(self._request.extra_max + 1)
                for _ in kind(tree, extra)
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
            ranks = ranks_of(index, query.order, [part.slot for part in self._request.parts], roots)
        self._ranks = dict(zip(roots.tolist(), ranks.tolist(), strict=True))
        found: list[int] = roots[in_order(index, roots, ranks)].tolist()
        return found

    def _may_fill(self, roots: Integers) -> Mask:
        """Which trees may fill every part on its own."""
        able = np.ones(len(roots), dtype=np.bool_)
        for part in self._request.parts:
            able &= part.may_fill(roots)
        return able

    # -- which ways ----------------------------------------------------------------------------

    def _distinct(self) -> Iterator[tuple[Cursor, Way]]:
        """Each candidate once: trees can borrow the same, and groups exchange their pieces."""
        seen = set()
        for position, way in self._in_turns():
            key = _key(way)
            if key not in seen:
                seen.add(key)
                yield position, way

    def _in_turns(self) -> Iterator[tuple[Cursor, Way]]:
        """Those of the least splits, then others, each with the fewest pieces first."""
        roots, pieces = self._roots(), 0
        served: set[int] = set()
        for kind in KINDS:
            roots = [root for root in roots if root not in served]
            for extra in range(self._request.extra_max + 1):
                waiting = {root: self._ways_of(root, kind, extra) for root in roots}
                for turn, root, way in _turns(waiting):
                    served.add(root)
                    rank, uuid = self._ranks[root], self._index.uuids[root]
                    yield Cursor(pieces=pieces, turn=turn, rank=rank, root=uuid), way
                pieces += 1

    def _ways_of(self, root: int, kind: Kind, extra: int) -> Iterator[Way]:
        # Not before its turn comes, which may be never.
        tree = self._trees.get(root)
        if tree is None:
            tree = self._trees[root] = TreeWays(self._request, root)
        yield from kind(tree, extra)


def _turns(waiting: Mapping[int, Iterator[Way]]) -> Iterator[tuple[int, int, Way]]:
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


def _key(way: Way) -> object:
    serving = frozenset((piece.suffix, piece.row) for pieces in way for piece in pieces)
    return frozenset(amounts_of(way).items()), serving
