"""The constraints between the parts of a request whose amounts may be split."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations

from roost.query import CandidateQuery
from roost.search.index.index import Index
from roost.search.match import GroupMatcher
from roost.search.split.parts import Part, Pieces

# What fills each part, by its number.
Filled = Sequence[Pieces] | Mapping[int, Pieces]
# Whether what fills the parts so far may go on.
Judge = Callable[[Filled], bool]


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
        # What each rule is about, by the numbers of parts, and how it is judged.
        self._judges: list[tuple[frozenset[int], Judge]] = []
        self._add_isolation(query)
        if together:
            self._add_room()
        for suffixes in query.same_subtree:
            self._add(self._share_subtree, self._numbers(suffixes))
        for rule in query.elsewhere:
            inside, outside = self._numbers(rule.inside), self._numbers(rule.outside)
            judge = partial(self._are_elsewhere, inside, outside)
            self._judges.append((frozenset(inside + outside), judge))
        for matcher in matchers:
            for traits in matcher.required_together:
                self._add(partial(self._one_holds, traits), self._numbers({matcher.suffix}))
        self._in_order = self.judges(range(len(parts)))

    def allow(self, way: Sequence[Pieces]) -> bool:
        """Whether nothing objects to what was added last, part after part."""
        return all(judge(way) for judge in self._in_order[len(way) - 1])

    def judges(self, order: Sequence[int]) -> list[list[Judge]]:
        """What can be judged after each step, where parts are filled in this order."""
        steps: list[list[Judge]] = [[] for _ in order]
        places = {number: place for place, number in enumerate(order)}
        for numbers, judge in self._judges:
            steps[max(places[number] for number in numbers)].append(judge)
        return steps

    # -- which rules there are -----------------------------------------------------------------

    def _numbers(self, suffixes: frozenset[str] | set[str]) -> list[int]:
        """The parts of these groups."""
        return [n for n, part in enumerate(self._parts) if part.slot.group.suffix in suffixes]

    def _add(self, judge: Callable[[list[int], Filled], bool], numbers: list[int]) -> None:
        if numbers:
            self._judges.append((frozenset(numbers), partial(judge, numbers)))

    def _add_isolation(self, query: CandidateQuery) -> None:
        sets = list(query.isolated)
        if query.isolate:
            sets.append(frozenset(group.suffix for group in query.groups if group.one_provider))
        suffixes = [part.slot.group.suffix for part in self._parts]
        for (one, suffix), (other, beside) in combinations(enumerate(suffixes), 2):
            if suffix != beside and any({suffix, beside} <= each for each in sets):
                self._judges.append((frozenset({one, other}), partial(_differ, one, other)))

    def _add_room(self) -> None:
        # Each piece on its own was made to fit, so that only what several ask for needs a look.
        for class_id, asking in self.asking().items():
            for some in (asking[:count] for count in range(2, len(asking) + 1)):
                self._add(partial(self._has_room, class_id), some)

    def asking(self) -> dict[int, list[int]]:
        """The parts that ask for each class."""
        asking: dict[int, list[int]] = {}
        for number, part in enumerate(self._parts):
            for class_id in part.slot.demands:
                asking.setdefault(class_id, []).append(number)
        return asking

    # -- judging -------------------------------------------------------------------------------

    def _has_room(self, class_id: int, numbers: list[int], way: Filled) -> bool:
        taken: dict[int, int] = {}
        for number in numbers:
            for piece in way[number]:
                taken[piece.row] = taken.get(piece.row, 0) + piece.resources[class_id]
        return all(amount <= self.room(row, class_id) for row, amount in taken.items())

    def room(self, row: int, class_id: int) -> int:
        """How much one candidate may take in all of a class from a provider."""
        room = self._rooms.get((row, class_id))
        if room is None:
            stock = self._index.inventory(class_id, row)
            assert stock is not None
            room = min(self._index.free(class_id, row), stock.max_unit)
            self._rooms[row, class_id] = room
        return room

    def _share_subtree(self, numbers: list[int], way: Filled) -> bool:
        """The first of the providers is, or is above, each of the others."""
        rows = list(_rows(numbers, way))
        return max(rows) <= int(self._index.rows.last[min(rows)])

    def _are_elsewhere(self, inside: list[int], outside: list[int], way: Filled) -> bool:
        top = min(_rows(inside, way))
        last = int(self._index.rows.last[top])
        return not any(top <= row <= last for row in _rows(outside, way))

    def _one_holds(self, traits: frozenset[int], numbers: list[int], way: Filled) -> bool:
        return any(
            not traits.isdisjoint(self._index.row_traits(row)) for row in _rows(numbers, way)
        )


def _rows(numbers: list[int], way: Filled) -> Iterator[int]:
    for number in numbers:
        for piece in way[number]:
            yield piece.row


def _differ(one: int, other: int, way: Filled) -> bool:
    taken = {piece.row for piece in way[one]}
    return not any(piece.row in taken for piece in way[other])
