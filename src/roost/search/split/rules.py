"""The constraints between the parts of a request whose amounts may be split."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from roost.query import CandidateQuery
from roost.search.index import Index
from roost.search.match import GroupMatcher
from roost.search.split.parts import Part, Pieces

# What fills the parts so far -> whether that may go on.
Judge = Callable[[Sequence[Pieces]], bool]


class SplitRules:
    """Each rule is asked once, when the last of the parts that it is about has been filled."""

    def __init__(
        self,
        index: Index,
        query: CandidateQuery,
        parts: Sequence[Part],
        matchers: Sequence[GroupMatcher],
        *,
        together: bool,
    ) -> None:
        self._index = index
        self._parts = parts
        self._rooms: dict[tuple[int, int], int] = {}
        self._judges: list[list[Judge]] = [[] for _ in parts]
        self._add_isolation(query)
        if together:
            self._add_room()
        for suffixes in query.same_subtree:
            self._add(self._share_subtree, self._numbers(suffixes))
        for rule in query.elsewhere:
            inside, outside = self._numbers(rule.inside), self._numbers(rule.outside)
            self._judges[max(inside + outside)].append(
                partial(self._are_elsewhere, inside, outside)
            )
        for matcher in matchers:
            for traits in matcher.required_together:
                self._add(partial(self._one_holds, traits), self._numbers({matcher.suffix}))

    def allow(self, way: Sequence[Pieces]) -> bool:
        """Whether nothing objects to what was added last."""
        return all(judge(way) for judge in self._judges[len(way) - 1])

    # -- which rules there are -----------------------------------------------------------------

    def _numbers(self, suffixes: frozenset[str] | set[str]) -> list[int]:
        """The parts of these groups."""
        return [n for n, part in enumerate(self._parts) if part.slot.group.suffix in suffixes]

    def _add(
        self, judge: Callable[[list[int], Sequence[Pieces]], bool], numbers: list[int]
    ) -> None:
        if numbers:
            self._judges[numbers[-1]].append(partial(judge, numbers))

    def _add_isolation(self, query: CandidateQuery) -> None:
        sets = list(query.isolated)
        if query.isolate:
            sets.append(frozenset(group.suffix for group in query.groups if group.one_provider))
        suffixes = [part.slot.group.suffix for part in self._parts]
        for number, suffix in enumerate(suffixes):
            others = [
                n
                for n, other in enumerate(suffixes[:number])
                if other != suffix and any({suffix, other} <= each for each in sets)
            ]
            if others:
                self._judges[number].append(partial(_differ, others, number))

    def _add_room(self) -> None:
        # Each piece on its own was made to fit, so that only what several ask for needs a look.
        asking: dict[int, list[int]] = {}
        for number, part in enumerate(self._parts):
            for class_id in part.slot.demands:
                earlier = asking.setdefault(class_id, [])
                if earlier:
                    judge = partial(self._has_room, class_id, tuple(earlier), number)
                    self._judges[number].append(judge)
                earlier.append(number)

    # -- judging -------------------------------------------------------------------------------

    def _has_room(
        self, class_id: int, earlier: tuple[int, ...], number: int, way: Sequence[Pieces]
    ) -> bool:
        taken = {piece.row: piece.resources[class_id] for piece in way[number]}
        for other in earlier:
            for piece in way[other]:
                if piece.row in taken:
                    taken[piece.row] += piece.resources[class_id]
        return all(amount <= self._room(row, class_id) for row, amount in taken.items())

    def _room(self, row: int, class_id: int) -> int:
        """How much one candidate may take in all of a class from a provider."""
        room = self._rooms.get((row, class_id))
        if room is None:
            stock = self._index.stock(class_id, row)
            assert stock is not None
            room = min(self._index.free(class_id, row), stock.max_unit)
            self._rooms[row, class_id] = room
        return room

    def _share_subtree(self, numbers: list[int], way: Sequence[Pieces]) -> bool:
        """The first of the providers is, or is above, each of the others."""
        rows = list(_rows(numbers, way))
        return max(rows) <= int(self._index.rows.last[min(rows)])

    def _are_elsewhere(self, inside: list[int], outside: list[int], way: Sequence[Pieces]) -> bool:
        top = min(_rows(inside, way))
        last = int(self._index.rows.last[top])
        return not any(top <= row <= last for row in _rows(outside, way))

    def _one_holds(self, traits: frozenset[int], numbers: list[int], way: Sequence[Pieces]) -> bool:
        return any(
            not traits.isdisjoint(self._index.row_traits(row)) for row in _rows(numbers, way)
        )


def _rows(numbers: list[int], way: Sequence[Pieces]) -> Iterator[int]:
    for number in numbers:
        for piece in way[number]:
            yield piece.row


def _differ(others: list[int], number: int, way: Sequence[Pieces]) -> bool:
    taken = set(_rows(others, way))
    return not any(piece.row in taken for piece in way[number])
