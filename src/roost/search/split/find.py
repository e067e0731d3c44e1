"""Searches in which amounts may be split: tree by tree, those with the fewest pieces first."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, permutations

import numpy as np

from roost.query import CandidateQuery, Position
from roost.search.columns import Integers, Mask
from roost.search.index import Index
from roost.search.lend import lenders_of
from roost.search.match import AggregateTest, trait_sets_accepted
from roost.search.order import in_order, ranks_of
from roost.search.split.answer import SplitAnswer, Way, amounts_of
from roost.search.split.parts import Part, Pieces, parts_of
from roost.search.split.pieces import PIECES_MAX
from roost.search.split.rules import Judge, SplitRules

# Nobody looks ahead here, so many groups could be tried against each other for ever. Beyond so many
# choices a tree, and then the search, is left with what was found: always the same, so that pages
# go on as they began.
STEPS_OF_TREE_FREE = 100
STEPS_OF_TREE_MAX = 20_000
STEPS_MAX = 500_000
# How often it is asked whether there is time to go on.
STEPS_BETWEEN_LOOKS = 256
# So many orders in which parts are split one after the other.
ORDERS_MAX = 24


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
        self._together = together
        self._may_go_on = may_go_on
        self._parts, matchers = parts_of(index, query)
        self._rules = SplitRules(index, query, self._parts, matchers, together=together)
        self._compete = together and any(
            len(asking) > 1 and any(self._parts[number].may_split for number in asking)
            for asking in self._rules.asking().values()
        )
        self._needs_traits = any(matcher.required_together for matcher in matchers)
        self._ranks: dict[int, float] = {}  # of the trees that may serve
        self._steps_left = STEPS_MAX
        self.steps = 0  # choices tried
        self.is_cut = False  # whether it gave up somewhere, so that ways may be missing

    def find(self, limit: int | None) -> "SplitAnswer":
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
            root = int(roots[number])
            tree = _Tree(self._parts, root, lenders_of(self._index, root))
            found[number] = any(
                True
                for find_ways in (self._ways, self._other_ways)
                for extra in range(self._extra_max + 1)
                for _ in find_ways(tree, extra)
            )
        return found

    # -- which trees ---------------------------------------------------------------------------

    def _roots(self) -> list[int]:
        """The trees that may serve, in order."""
        index, query = self._index, self._query
        rows = index.rows
        if self._root is not None:
            roots = np.array([self._root])
        else:
            roots = np.flatnonzero(index.live_rows() & (rows.parent[: rows.count] < 0))
        if query.root_traits:
            roots = roots[trait_sets_accepted(index, query.root_traits)[rows.traits[roots]]]
        if query.root_aggregates:
            test = AggregateTest(index, query.root_aggregates)
            roots = roots[test.accepts(index, roots, spanning=False)]
        roots = roots[self._may_fill(roots)]
        if query.order is None:
            ranks = roots.astype(np.float64)
        else:
            ranks = ranks_of(index, query.order, [part.slot for part in self._parts], roots)
        self._ranks = dict(zip(roots.tolist(), ranks.tolist(), strict=True))
        found: list[int] = roots[in_order(index, roots, ranks)].tolist()
        return found

    def _may_fill(self, roots: Integers) -> Mask:
        """Which trees may fill every part on its own."""
        able = np.ones(len(roots), dtype=np.bool_)
        for part in self._parts:
            able &= part.may_fill(roots)
        return able

    @property
    def _extra_max(self) -> int:
        """How many pieces more than parts there can be."""
        return sum(part.may_split for part in self._parts) * (PIECES_MAX - 1)

    # -- which ways ----------------------------------------------------------------------------

    def _distinct(self) -> Iterator[tuple[Position, Way]]:
        """Each candidate once: trees can borrow the same, and groups exchange their pieces."""
        seen = set()
        for position, way in self._in_turns():
            key = _key(way)
            if key not in seen:
                seen.add(key)
                yield position, way

    def _in_turns(self) -> Iterator[tuple[Position, Way]]:
        roots = self._roots()
        trees: dict[int, _Tree] = {}
        served: set[int] = set()
        for number, find_ways in enumerate((self._ways, self._other_ways)):
            # A tree that can serve in a better way does not serve in another.
            roots = [root for root in roots if root not in served]
            for extra in range(self._extra_max + 1):
                waiting: dict[int, Iterator[Way]] = {}
                alive, turn = roots, 0
                while alive:
                    still = []
                    for root in alive:
                        if root not in trees:
                            trees[root] = _Tree(self._parts, root, lenders_of(self._index, root))
                        if root not in waiting:
                            waiting[root] = find_ways(trees[root], extra)
                        way = next(waiting[root], None)
                        if way is not None:
                            still.append(root)
                            served.add(root)
                            place = number * (self._extra_max + 1) + extra
                            yield self._position(place, turn, root), way
                    alive, turn = still, turn + 1

    def _position(self, extra: int, turn: int, root: int) -> Position:
        return Position(
            pieces=extra, turn=turn, rank=self._ranks[root], root=self._index.uuids[root]
        )

    def _ways(self, tree: "_Tree", extra: int) -> Iterator[Way]:
        """The ways of a tree with exactly so many pieces more than parts."""
        if tree.is_hopeless(extra):
            return
        yield from self._extended(tree, extra, [])

    def _extended(self, tree: "_Tree", extra: int, way: list[Pieces]) -> Iterator[Way]:
        number = len(way)
        if number == len(self._parts):
            yield tuple(way)
            return
        for pieces in tree.options(number, extra):
            if not self._goes_on(tree):
                return
            left = extra - len(pieces) + 1
            if not tree.can_have(left, number + 1):
                continue
            way.append(pieces)
            if self._rules.allow(way):
                yield from self._extended(tree, left, way)
            way.pop()

    def _other_ways(self, tree: "_Tree", extra: int) -> Iterator[Way]:
        """Ways with splits that are none of an amount alone, exactly so many pieces more."""
        if not tree.can_have(extra) or not self._may_have_others(tree):
            return
        whole = [number for number, part in enumerate(self._parts) if not part.may_split]
        split = [number for number, part in enumerate(self._parts) if part.may_split]
        # What one leaves another can take: whose turn comes first makes a difference.
        orders = permutations(split) if self._compete else [split]
        for some in islice(orders, ORDERS_MAX):
            order = (*whole, *some)
            yield from self._filled(tree, extra, order, self._rules.judges(order), {})

    def _may_have_others(self, tree: "_Tree") -> bool:
        """Whether parts compete, or a provider more brings a trait or stands above the others."""
        return (
            self._compete
            or self._needs_traits
            or (bool(self._query.same_subtree) and tree.has_givers_above_others)
        )

    def _filled(
        self,
        tree: "_Tree",
        extra: int,
        order: Sequence[int],
        judges: Sequence[Sequence[Judge]],
        way: dict[int, Pieces],
    ) -> Iterator[Way]:
        if len(way) == len(order):
            if not extra:
                yield tuple(way[number] for number in sorted(order))
            return
        number = order[len(way)]
        for pieces in self._pieces_beside(tree, number, way):
            if not self._goes_on(tree):
                return
            if len(pieces) - 1 > extra:
                continue
            way[number] = pieces
            if all(judge(way) for judge in judges[len(way) - 1]):
                yield from self._filled(tree, extra - len(pieces) + 1, order, judges, way)
            del way[number]

    def _pieces_beside(
        self, tree: "_Tree", number: int, way: Mapping[int, Pieces]
    ) -> Iterator[Pieces]:
        """What fills a part, split as what others take leaves it."""
        yield from tree.options(number, 0)
        part = self._parts[number]
        if not part.may_split:
            return
        ((class_id, _),) = part.slot.demands.items()
        taken = amounts_of(tuple(way.values())) if self._together else {}

        def room(row: int) -> int:
            return self._rules.room(row, class_id) - taken.get((row, class_id), 0)

        yield from part.split_beside(tree.root, room)

    def _goes_on(self, tree: "_Tree") -> bool:
        tree.steps += 1
        self.steps += 1
        # What a tree can have in any case is no reason to stop.
        self._steps_left -= tree.steps > STEPS_OF_TREE_FREE
        if self.steps % STEPS_BETWEEN_LOOKS == 0 and not self._may_go_on():
            self._steps_left = 0
        goes_on = tree.steps <= STEPS_OF_TREE_MAX and self._steps_left > 0
        self.is_cut |= not goes_on
        return goes_on


class _Tree:
    """What can fill each part in one tree; splits are looked for when they are asked for."""

    def __init__(self, parts: Sequence[Part], root: int, lenders: Sequence[int]) -> None:
        self.root = root
        self._options = [_PartOptions(part, root, lenders) for part in parts]
        # How many pieces more than one the parts from each on may have, at most.
        most = [options.extra_max for options in self._options]
        self._extra_left = [sum(most[number:]) for number in range(len(most) + 1)]
        self.steps = 0  # choices tried

    @property
    def has_givers_above_others(self) -> bool:
        return any(options.has_givers_above_others for options in self._options)

    def can_have(self, extra: int, number: int = 0) -> bool:
        """Whether the parts from this one on may have so many pieces more than one each."""
        return extra <= self._extra_left[number]

    def is_hopeless(self, extra: int) -> bool:
        return not self.can_have(extra) or any(
            not options.whole and not (extra and options.extra_max) for options in self._options
        )

    def options(self, number: int, extra: int) -> Iterator[Pieces]:
        """What fills a part with at most so many pieces more than one."""
        return self._options[number].up_to(extra)


class _PartOptions:
    """What can fill one part in one tree, those with the fewest pieces first."""

    def __init__(self, part: Part, root: int, lenders: Sequence[int]) -> None:
        self._part = part
        self._root = root
        self.whole = part.whole(root, lenders)
        self.extra_max = part.pieces_max(root) - 1
        self._more = part.split(root) if self.extra_max else iter(())
        self._split: list[Pieces] = []  # as far as they were asked for
        self._ahead: Pieces | None = None

    @property
    def has_givers_above_others(self) -> bool:
        return self._part.may_split and self._part.has_givers_above_others(self._root)

    def up_to(self, extra: int) -> Iterator[Pieces]:
        yield from self.whole
        number = 0
        while extra and (number < len(self._split) or self._read(extra)):
            if len(self._split[number]) - 1 > extra:
                return
            yield self._split[number]
            number += 1

    def _read(self, extra: int) -> bool:
        """Whether there is one split more of that size."""
        if self._ahead is None:
            self._ahead = next(self._more, None)
        if self._ahead is None or len(self._ahead) - 1 > extra:
            return False
        self._split.append(self._ahead)
        self._ahead = None
        return True


def _key(way: Way) -> object:
    serving = frozenset((piece.suffix, piece.row) for pieces in way for piece in pieces)
    return frozenset(amounts_of(way).items()), serving
