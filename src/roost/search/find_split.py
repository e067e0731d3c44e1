"""Searches in which amounts may be split: tree by tree, those with the fewest pieces first."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace as evolve

from roost.model import Candidate
from roost.query import CandidateQuery, Position, RequestGroup
from roost.search.answer import SEPARATOR, Answer, Layout
from roost.search.columns import Integers
from roost.search.index import Index
from roost.search.match import EMPTY, AggregateTest, GroupMatcher, Slot, trait_sets_accepted
from roost.search.order import ranks_of
from roost.search.split import PIECES_MAX, Offer, offer, splits

# Nobody looks ahead here, so many groups could be tried against each other for ever. Beyond so many
# choices a tree, and then the search, is left with what was found: always the same, so that pages
# go on as they began.
STEPS_OF_TREE_FREE = 100
STEPS_OF_TREE_MAX = 20_000
STEPS_MAX = 500_000


class Piece(NamedTuple):
    """What one group takes from one provider."""

    suffix: str
    row: int
    resources: Mapping[int, int]  # class id -> amount; empty for a resourceless group


# What fills one part of a request: one piece, or several of a split.
Pieces = tuple[Piece, ...]
Way = tuple[Pieces, ...]


class Part:
    """A part of the request that one provider serves, or several if it may be split."""

    def __init__(self, index: Index, slot: Slot, *, may_split: bool) -> None:
        self._index = index
        self.slot = slot
        self.may_split = may_split
        self._local = slot.local(index, 0, index.rows.count)
        self._shared = frozenset(slot.shared(index, index.sharing_rows()).tolist())

    def whole(self, root: int, lenders: Sequence[int]) -> list[Pieces]:
        """All of it from one provider, of the tree or of those who lend to it."""
        last = int(self._index.rows.last[root])
        low, high = np.searchsorted(self._local, (root, last + 1))
        rows = self._local[low:high].tolist()
        rows += [row for row in lenders if row in self._shared]
        return [(Piece(self.slot.group.suffix, row, self.slot.demands),) for row in rows]

    def split(self, root: int) -> list[Pieces]:
        """In two or more pieces, from providers of the tree itself."""
        ((class_id, amount),) = self.slot.demands.items()
        found = splits(self._offers(root, class_id), amount)
        suffix = self.slot.group.suffix
        return [
            tuple(Piece(suffix, row, {class_id: piece}) for row, piece in sorted(each.items()))
            for each in found
            if len(each) > 1
        ]

    def _offers(self, root: int, class_id: int) -> dict[int, Offer]:
        index = self._index
        rows = [row for row in index.tree_rows(root) if class_id in index.row_classes[row]]
        accepted = self.slot.group.accepts(index, np.array(rows, dtype=np.int64))
        offers = {}
        for row, fine in zip(rows, accepted.tolist(), strict=True):
            stock = index.stock(class_id, row)
            if not fine or stock is None:
                continue
            found = offer(
                free=_capacity(index, class_id, row) - stock.used,
                min_unit=stock.min_unit,
                max_unit=stock.max_unit,
                step_size=stock.step_size,
            )
            if found is not None:
                offers[row] = found
        return offers


def _capacity(index: Index, class_id: int, row: int) -> int:
    column = index.columns[class_id]
    return int(column.capacity[column.position(row)])


def parts_of(index: Index, query: CandidateQuery) -> tuple[list[Part], list[GroupMatcher]]:
    """The parts, and for each group the rules that its providers must meet together."""
    parts, matchers = [], []
    for group in query.groups:
        matcher = GroupMatcher(index, group)
        matchers.append(matcher)
        whole = {
            name: amount for name, amount in group.resources.items() if name not in group.can_split
        }
        for slot in _whole_slots(index, group, matcher, whole):
            parts.append(Part(index, slot, may_split=False))
        for name in group.resources:
            if name in group.can_split:
                demands = {index.classes.ids[name]: group.resources[name]}
                parts.append(Part(index, Slot(matcher, demands), may_split=True))
    return parts, matchers


def _whole_slots(
    index: Index, group: RequestGroup, matcher: GroupMatcher, whole: Mapping[str, int]
) -> list[Slot]:
    if not group.can_split:
        return matcher.slots
    if not whole:
        return []
    return [
        Slot(matcher, slot.demands)
        for slot in GroupMatcher(index, evolve(group, resources=whole)).slots
    ]


class SplitSearch:
    """One query with amounts that may be split, on one index."""

    def __init__(self, index: Index, query: CandidateQuery) -> None:
        self._index = index
        self._query = query
        self._parts, self._matchers = parts_of(index, query)
        self._rooms: dict[tuple[int, int], int] = {}
        self._steps_left = STEPS_MAX
        self.steps = 0  # choices tried

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

    # -- which trees ---------------------------------------------------------------------------

    def _roots(self) -> list[int]:
        """The trees that may serve, in order."""
        index, query = self._index, self._query
        rows = index.rows
        roots = np.flatnonzero(index.live_rows() & (rows.parent[: rows.count] < 0))
        if query.root_traits:
            roots = roots[trait_sets_accepted(index, query.root_traits)[rows.traits[roots]]]
        if query.root_aggregates:
            test = AggregateTest(index, query.root_aggregates)
            roots = roots[test.accepts(index, roots, spanning=False)]
        found: list[int] = roots.tolist()
        rank = self._rank
        return sorted(found, key=lambda root: (rank(root), index.uuids[root]))

    @cached_property
    def _rank(self) -> Callable[[int], float]:
        if self._query.order is None:
            return float
        return ranks_of(self._index, self._query.order, [part.slot for part in self._parts])

    def _lenders(self, root: int) -> list[int]:
        index = self._index
        names = index.aggregate_sets.members[int(index.rows.tree_aggregates[root])]
        rows = set().union(*(index.sharing.get(name, ()) for name in names))
        return sorted(rows.difference(index.tree_rows(root)))

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
        split_count = sum(part.may_split for part in self._parts)
        for extra in range(split_count * (PIECES_MAX - 1) + 1):
            waiting: dict[int, Iterator[Way]] = {}
            alive, turn = roots, 0
            while alive:
                still = []
                for root in alive:
                    if root not in trees:
                        trees[root] = _Tree(self._parts, root, self._lenders(root))
                    if root not in waiting:
                        waiting[root] = self._ways(trees[root], extra)
                    way = next(waiting[root], None)
                    if way is not None:
                        still.append(root)
                        yield self._position(extra, turn, root), way
                alive, turn = still, turn + 1

    def _position(self, extra: int, turn: int, root: int) -> Position:
        return Position(
            pieces=extra, turn=turn, rank=self._rank(root), root=self._index.uuids[root]
        )

    def _ways(self, tree: "_Tree", extra: int) -> Iterator[Way]:
        """The ways of a tree with exactly so many pieces more than parts."""
        if tree.is_hopeless(extra):
            return
        yield from self._extended(tree, extra, ())

    def _extended(self, tree: "_Tree", extra: int, way: Way) -> Iterator[Way]:
        number = len(way)
        if number == len(self._parts):
            if extra == 0 and self._is_right(way):
                yield way
            return
        for pieces in tree.options(number, extra):
            if not self._goes_on(tree):
                return
            longer = (*way, pieces)
            # Both are monotonic: once broken, no further choice mends them.
            if self._has_room(longer) and self._is_isolated(longer):
                yield from self._extended(tree, extra - len(pieces) + 1, longer)

    def _goes_on(self, tree: "_Tree") -> bool:
        tree.steps += 1
        self.steps += 1
        # What a tree can have in any case is no reason to stop.
        self._steps_left -= tree.steps > STEPS_OF_TREE_FREE
        return tree.steps <= STEPS_OF_TREE_MAX and self._steps_left > 0

    # -- the rules between parts ---------------------------------------------------------------

    def _has_room(self, way: Way) -> bool:
        if len(way) == 1:
            # Each piece on its own was made to fit.
            return True
        amounts = amounts_of(way)
        return all(
            amounts[piece.row, class_id] <= self._room(piece.row, class_id)
            for piece in way[-1]
            for class_id in piece.resources
        )

    def _room(self, row: int, class_id: int) -> int:
        """How much one candidate may take in all of a class from a provider."""
        room = self._rooms.get((row, class_id))
        if room is None:
            stock = self._index.stock(class_id, row)
            assert stock is not None
            free = _capacity(self._index, class_id, row) - stock.used
            room = self._rooms[row, class_id] = min(free, stock.max_unit)
        return room

    def _is_isolated(self, way: Way) -> bool:
        query = self._query
        sets = list(query.isolated)
        if query.isolate:
            sets.append(frozenset(group.suffix for group in query.groups if group.one_provider))
        return all(
            piece.suffix == other.suffix or piece.row != other.row
            for suffixes in sets
            for piece in way[-1]
            if piece.suffix in suffixes
            for pieces in way[:-1]
            for other in pieces
            if other.suffix in suffixes
        )

    def _is_right(self, way: Way) -> bool:
        """What only a whole way can tell."""
        serving: dict[str, set[int]] = {}
        for pieces in way:
            for piece in pieces:
                serving.setdefault(piece.suffix, set()).add(piece.row)

        def rows(suffixes: frozenset[str]) -> list[int]:
            return sorted(row for suffix in suffixes for row in serving.get(suffix, ()))

        last = self._index.rows.last
        for suffixes in self._query.same_subtree:
            together = rows(suffixes)
            if together and last[together[0]] < together[-1]:
                return False
        for rule in self._query.elsewhere:
            top = rows(rule.inside)[0]
            if any(top <= row <= last[top] for row in rows(rule.outside)):
                return False
        return all(
            any(not traits.isdisjoint(self._index.row_traits(row)) for row in serving[group.suffix])
            for group in self._matchers
            for traits in group.required_together
        )


class _Tree:
    """What can fill each part in one tree; splits are looked for when they are asked for."""

    def __init__(self, parts: Sequence[Part], root: int, lenders: Sequence[int]) -> None:
        self._parts = parts
        self._root = root
        self._whole = [part.whole(root, lenders) for part in parts]
        self._split: dict[int, list[Pieces]] = {}
        self.steps = 0  # choices tried

    def options(self, number: int, extra: int) -> Iterator[Pieces]:
        """With at most so many pieces more than one."""
        yield from self._whole[number]
        if extra and self._parts[number].may_split:
            if number not in self._split:
                self._split[number] = self._parts[number].split(self._root)
            for pieces in self._split[number]:
                if len(pieces) - 1 <= extra:
                    yield pieces

    def is_hopeless(self, extra: int) -> bool:
        return any(
            not whole and not (extra and part.may_split)
            for part, whole in zip(self._parts, self._whole, strict=True)
        )


def amounts_of(way: Way) -> dict[tuple[int, int], int]:
    """What a candidate takes: (row, class id) -> amount."""
    amounts: dict[tuple[int, int], int] = {}
    for pieces in way:
        for piece in pieces:
            for class_id, amount in piece.resources.items():
                key = piece.row, class_id
                amounts[key] = amounts.get(key, 0) + amount
    return amounts


def _key(way: Way) -> object:
    serving = frozenset((piece.suffix, piece.row) for pieces in way for piece in pieces)
    return frozenset(amounts_of(way).items()), serving


class SplitAnswer(Answer):
    """Like other answers, of candidates that differ in what they take."""

    def __init__(self, index: Index, query: CandidateQuery, ways: Sequence[Way]) -> None:
        super().__init__(index, query, (), EMPTY)
        self._ways = ways
        self.count = len(ways)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        return tuple(map(self._candidate_of, self._ways))

    def _candidate_of(self, way: Way) -> Candidate:
        uuids, names = self._index.uuids, self._index.classes.names
        allocations: dict[str, dict[str, int]] = {}
        for (row, class_id), amount in amounts_of(way).items():
            allocations.setdefault(uuids[row], {})[names[class_id]] = amount
        mappings: dict[str, dict[str, None]] = {}
        for pieces in way:
            for piece in pieces:
                mappings.setdefault(piece.suffix, {})[uuids[piece.row]] = None
        return Candidate(
            allocations=allocations,
            mappings={suffix: tuple(serving) for suffix, serving in mappings.items()},
        )

    def _serving(self) -> Integers:
        rows = {row for way in self._ways for row, _ in amounts_of(way)}
        return np.array(sorted(rows), dtype=np.int64)

    def write_candidates(self, layout: Layout) -> list[str]:
        return [SEPARATOR.join(map(layout.candidate, self.candidates))]
