"""What is equal in a tree: slots of one kind, and how the rows that can fill them are related.

Two slots are of one kind if exchanging them changes nothing: the same providers can fill them, they
take the same, and they have the same part in every rule. Sets of rows are integers with a bit for
each row, by its position among all options of the tree.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from roost.search.budget import Budget
from roost.search.constraints import OneProviderPerTree
from roost.search.index.columns import Integers, Mask
from roost.search.request_constraints import RequestConstraints


def bits_of(bits: int) -> Iterator[int]:
    """The positions of the bits that are set, from the lowest."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def bits_where(mask: Mask) -> int:
    """The positions where a mask is true, as bits."""
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


class RequestKinds:
    """The slots of a request, by the part that they have in its rules."""

    def __init__(self, constraints: RequestConstraints, budget: Budget) -> None:
        count = len(constraints.slots)
        self.differ: list[list[bool]] = []
        for one in range(count):
            budget.step(1 + count // 16)
            self.differ.append([constraints.must_differ(one, other) for other in range(count)])
        # Whether the second must be outside of the subtree of the first.
        self.keeps_out = [[False] * count for _ in range(count)]
        for rule in constraints.outside_subtrees:
            for inside in rule.inside:
                self.keeps_out[inside][rule.outside] = True
        self.one_per_tree = any(isinstance(each, OneProviderPerTree) for each in constraints.all)
        self.amounts = [
            tuple(joint.amounts.get(number, 0) for joint in constraints.joint_capacities)
            for number in range(count)
        ]
        self.subtrees_of = [
            tuple(n for n, each in enumerate(constraints.same_subtrees) if number in each.slots)
            for number in range(count)
        ]
        self.subtree_count = len(constraints.same_subtrees)
        self.holds_traits = [
            any(number in each.slots for each in constraints.traits_among_providers)
            for number in range(count)
        ]
        self.isolations = [each.slots for each in constraints.different_providers]
        self.kind_of = self._kinds(count, budget)

    def _kinds(self, count: int, budget: Budget) -> list[int]:
        """For each slot the first of its kind."""
        kinds: list[int] = []
        for number in range(count):
            budget.step(1 + count)
            firsts = (each for each in dict.fromkeys(kinds) if self._are_equal(each, number))
            kinds.append(next(firsts, number))
        return kinds

    def _are_equal(self, one: int, other: int) -> bool:
        if (self.amounts[one], self.subtrees_of[one], self.holds_traits[one]) != (
            self.amounts[other],
            self.subtrees_of[other],
            self.holds_traits[other],
        ) or self.keeps_out[one][other] != self.keeps_out[other][one]:
            return False
        return all(
            self.differ[one][each] == self.differ[other][each]
            and self.keeps_out[one][each] == self.keeps_out[other][each]
            and self.keeps_out[each][one] == self.keeps_out[each][other]
            for each in range(len(self.amounts))
            if each not in (one, other)
        )


class TreeRows:
    """The rows that can fill a slot of one tree."""

    def __init__(
        self,
        constraints: RequestConstraints,
        request: RequestKinds,
        options: Sequence[Integers],
        budget: Budget,
    ) -> None:
        index = constraints.index
        rows = _union(options, range(len(options)), budget)
        # Each row is looked at a few times here.
        budget.step(1 + len(rows) // 32)
        self.rows: list[int] = rows.tolist()
        self.place_of = {row: place for place, row in enumerate(self.rows)}
        # For each row the next one above it, or -1. Where no rule is about subtrees, none is.
        self.above = [-1] * len(self.rows)
        if constraints.same_subtrees or constraints.outside_subtrees:
            self.above = self._next_above(index.rows.last[rows].tolist())
        # For each row that has others below it: itself and those.
        self._below: dict[int, int] = {}
        for place, above in reversed(list(enumerate(self.above))):
            if above >= 0:
                self._below[above] = self.below_or_self(above) | self.below_or_self(place)
        # For each tree, where one serves with one row only: its rows.
        self._tree_of: list[int] = []
        self._rows_of_tree: dict[int, int] = {}
        if request.one_per_tree:
            self._tree_of = index.rows.root[rows].tolist()
            for place, tree in enumerate(self._tree_of):
                self._rows_of_tree[tree] = self._rows_of_tree.get(tree, 0) | 1 << place
        budget.step(1 + len(rows) // 32)
        self.rooms = [[0] * len(self.rows) for _ in constraints.joint_capacities]
        for room, joint in zip(self.rooms, constraints.joint_capacities, strict=True):
            asked = _union(options, joint.slots, budget)
            budget.step(1 + len(asked) // 64)
            for row, free in zip(asked.tolist(), joint.room.of_rows(asked).tolist(), strict=True):
                room[self.place_of[row]] = free
        # For each required trait of the unsuffixed group: the rows that have it.
        self.holders = [
            bits_where(each.holders[index.rows.traits[rows]])
            for each in constraints.traits_among_providers
        ]
        self.fixed = self._fixed()

    def _next_above(self, last: list[int]) -> list[int]:
        above, path = [], list[int]()
        for place, row in enumerate(self.rows):
            while path and last[path[-1]] < row:
                path.pop()
            above.append(path[-1] if path else -1)
            path.append(place)
        return above

    def _fixed(self) -> list[tuple[int, ...]]:
        """For each row what tells it apart for good."""
        trees = self._tree_of or [0] * len(self.rows)
        numbers = {tree: number for number, tree in enumerate(dict.fromkeys(trees))}
        return [
            (numbers[tree], *(holders >> place & 1 for holders in self.holders))
            for place, tree in enumerate(trees)
        ]

    def below_or_self(self, place: int) -> int:
        """The row, and all that are below it."""
        return self._below.get(place, 1 << place)

    def above_or_self(self, place: int) -> int:
        """The row, and all that are above it."""
        found = 0
        while place >= 0:
            found |= 1 << place
            place = self.above[place]
        return found

    def may_serve_beside(self, place: int) -> int:
        """The rows that may serve beside one where a tree serves with one row only."""
        return ~self._rows_of_tree[self._tree_of[place]] | 1 << place


def _union(options: Sequence[Integers], slots: Iterable[int], budget: Budget) -> Integers:
    """The rows that can fill one of the slots, in order."""
    # Slots of equal groups have the same options.
    distinct = {options[number].tobytes(): options[number] for number in slots}
    budget.pass_over_rows(4 * sum(map(len, distinct.values())))
    return np.unique(np.concatenate(list(distinct.values())))


class SlotKinds:
    """The kinds of the slots of one tree, and how they are related."""

    def __init__(
        self,
        request: RequestKinds,
        options: Sequence[Integers],
        rows: TreeRows,
        budget: Budget,
    ) -> None:
        self._rows = rows
        self._one_per_tree = request.one_per_tree
        kinds: dict[tuple[int, bytes], list[int]] = {}
        for number, own in enumerate(options):
            kinds.setdefault((request.kind_of[number], own.tobytes()), []).append(number)
        self.members = tuple(map(tuple, kinds.values()))  # the slots of each kind
        firsts = [members[0] for members in self.members]
        self.kind_of = {n: kind for kind, members in enumerate(self.members) for n in members}
        self.domains = [self._domain(options[first], budget) for first in firsts]
        self.amounts = [request.amounts[first] for first in firsts]
        self.subtrees_of = [request.subtrees_of[first] for first in firsts]
        self.holds_traits = [request.holds_traits[first] for first in firsts]
        self.members_of_subtree = [
            [kind for kind, own in enumerate(self.subtrees_of) if number in own]
            for number in range(request.subtree_count)
        ]
        # For each two kinds: whether slots of them must differ, and stay out of subtrees.
        self._differ: list[list[bool]] = []
        self._keeps_out: list[list[bool]] = []
        for one in self.members:
            budget.step(1 + len(self.members) // 16)
            pairs = [self._pair(one, other) for other in self.members]
            self._differ.append([request.differ[a][b] for a, b in pairs])
            self._keeps_out.append([request.keeps_out[a][b] for a, b in pairs])
        # For each set that must differ: its kinds, and whether slots of one kind must, too.
        self.isolations = [
            [
                (kind, self._differ[kind][kind])
                for kind in dict.fromkeys(self.kind_of[number] for number in slots)
            ]
            for slots in request.isolations
        ]
        # How much of the largest room a slot of each kind takes.
        largest = [max(1, *room) for room in rows.rooms]
        self.weights = [
            sum(amount / most for amount, most in zip(amounts, largest, strict=True))
            for amounts in self.amounts
        ]

    def _domain(self, own: Integers, budget: Budget) -> int:
        budget.pass_over_rows(4 * (len(self._rows.rows) + len(own)))
        return bits_where(np.isin(self._rows.rows, own))

    @staticmethod
    def _pair(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, int]:
        """A slot of one kind, and another slot of the other kind, if there is one."""
        return one[0], other[-1]

    def left_to(self, other: int, kind: int, place: int) -> int:
        """The rows that slots of a kind may have beside a slot of a kind with this row."""
        rows, bit = self._rows, 1 << place
        allowed = ~bit if self._differ[kind][other] else -1
        if self._keeps_out[kind][other]:
            allowed &= ~rows.below_or_self(place)
        if self._keeps_out[other][kind]:
            allowed &= ~rows.above_or_self(place)
        if self._one_per_tree:
            allowed &= rows.may_serve_beside(place)
        return allowed
