"""The constraints between the slots of a request: one list, each rule stated once.

Which of them a request has, and when each is checked, is in `request_constraints.py`.

A constraint compares the providers of several slots, so no slot can be checked for it alone. Each
has two forms. `mask` checks many ways at once and serves the plain search. `allows` checks one way
and serves the search in which amounts may be split, where several providers can fill one slot.
tests/property/test_constraints.py ties the two forms together.

Slots are filled one after the other, and `monotonic` says when a partial way may be given up. A
monotonic constraint, once broken, stays broken whatever is chosen later, so it is checked after
each of its slots. The others can still be mended by a later choice, so they are checked only when
the last of their slots is filled.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import iand, ior
from typing import ClassVar, NamedTuple, Self

import numpy as np

from roost.search.index.columns import Integers, Mask
from roost.search.index.index import Index

# Many ways at once: for each slot, by its number, a column with the row that fills it in each way.
Ways = Sequence[Integers] | Mapping[int, Integers]


class Piece(NamedTuple):
    """What one group takes from one provider to fill a slot."""

    suffix: str
    row: int
    resources: Mapping[int, int]  # class id -> amount; empty for a resourceless group


# What fills one slot: one piece, or several where the amount is split.
Pieces = tuple[Piece, ...]
# One way: for each slot, by its number, what fills it. Slots that are not filled yet are missing.
Way = Sequence[Pieces] | Mapping[int, Pieces]


class Constraint(ABC):
    """One rule between slots.

    `slots` are in the order in which they are filled. Where the rule is monotonic, the search has
    checked it for all slots before the last, so only the last one has to be compared with them.
    """

    monotonic: ClassVar[bool]

    def __init__(self, index: Index, slots: Sequence[int]) -> None:
        self._index = index
        self._set_slots(slots)

    def _set_slots(self, slots: Sequence[int]) -> None:
        self.slots = tuple(slots)
        self._earlier, self._newest = self.slots[:-1], self.slots[-1]

    def among(self, slots: Sequence[int]) -> Self:
        """The same rule between some of its slots, in this order."""
        # Made for each slot of every tree that is searched; `copy.copy` takes five times as long.
        some = object.__new__(type(self))
        some.__dict__.update(self.__dict__)
        some._set_slots(slots)
        return some

    @abstractmethod
    def mask(self, ways: Ways) -> Mask:
        """Which of the ways meet the rule."""

    @abstractmethod
    def allows(self, way: Way) -> bool:
        """Whether one way meets the rule."""


class DifferentProviders(Constraint):
    """No provider serves two of the groups: `group_policy=isolate`, and `isolate`.

    Monotonic: two slots that have a provider in common have it whatever fills the others.
    """

    monotonic = True

    def mask(self, ways: Ways) -> Mask:
        newest = ways[self._newest]
        return reduce(iand, (ways[number] != newest for number in self._earlier))

    def allows(self, way: Way) -> bool:
        taken = {piece.row for piece in way[self._newest]}
        return not any(row in taken for row in _rows(self._earlier, way))


class OneProviderPerTree(Constraint):
    """A tree serves with one provider only: clients before 1.29 do not know of nested providers.

    Monotonic: two providers of one tree are two whatever fills the other slots.
    """

    monotonic = True

    def mask(self, ways: Ways) -> Mask:
        newest, roots = ways[self._newest], self._index.rows.root
        newest_root = roots[newest]
        return reduce(
            iand,
            (
                (ways[number] == newest) | (roots[ways[number]] != newest_root)
                for number in self._earlier
            ),
        )

    def allows(self, way: Way) -> bool:
        roots = self._index.rows.root
        return all(
            row == piece.row or roots[row] != roots[piece.row]
            for piece in way[self._newest]
            for row in _rows(self.slots, way)
        )


class JointCapacity(Constraint):
    """What several slots take of a class from one provider, added up, fits into its room.

    Monotonic: slots that are filled later only add to the sum.
    """

    monotonic = True

    def __init__(self, room: "Room", slots: Sequence[int], amounts: Mapping[int, int]) -> None:
        super().__init__(room.index, slots)
        self.room = room
        self.amounts = amounts  # by the number of the slot

    def mask(self, ways: Ways) -> Mask:
        newest = ways[self._newest]
        room = self.room.of_rows(newest) - self.amounts[self._newest]
        for number in self._earlier:
            room -= (ways[number] == newest) * self.amounts[number]
        fits: Mask = room >= 0
        return fits

    def allows(self, way: Way) -> bool:
        class_id = self.room.class_id
        taken: dict[int, int] = {}
        for number in self.slots:
            for piece in way[number]:
                taken[piece.row] = taken.get(piece.row, 0) + piece.resources[class_id]
        return all(taken[piece.row] <= self.room.of_row(piece.row) for piece in way[self._newest])


class SameSubtree(Constraint):
    """One of the providers is, or is an ancestor of, each of the others: `same_subtree`.

    Not monotonic: a provider that is chosen later can be the ancestor. A partial way is hopeless
    only when no option of the remaining slots is one (`mask_possible`).
    """

    monotonic = False

    def mask(self, ways: Ways) -> Mask:
        # Ancestors have lower rows, so only the provider with the lowest can be the ancestor.
        low, high = _span([ways[number] for number in self.slots])
        same: Mask = self._index.rows.last[low] >= high
        return same

    def allows(self, way: Way) -> bool:
        rows = list(_rows(self.slots, way))
        return max(rows) <= int(self._index.rows.last[min(rows)])

    def mask_possible(self, ways: Ways, tops: Integers) -> Mask:
        """Which ways meet the rule so far, or can be mended by an option of a remaining slot.

        `tops` are those of the options that are not below another one, and at least one.
        """
        low, high = _span([ways[number] for number in self.slots])
        last = self._index.rows.last
        # An option that is above a provider is below, or is, the only top that can be.
        top = tops[np.maximum(np.searchsorted(tops, low, side="right") - 1, 0)]
        possible: Mask = (last[low] >= high) | ((top <= low) & (last[top] >= high))
        return possible

    def tops(self, rows: Integers) -> Integers:
        """Those of the rows that are not below another one, in order."""
        rows = np.unique(rows)
        # Subtrees are adjacent rows, and one holds the other or they have nothing in common.
        before = np.maximum.accumulate(self._index.rows.last[rows])
        tops: Integers = rows[np.concatenate([[True], rows[1:] > before[:-1]])]
        return tops


class OutsideSubtree(Constraint):
    """The provider of one slot is not in the subtree of the others: `same_subtree=_X,!_Y`.

    Monotonic: the others share a subtree, as `SameSubtree` checks, and one of their providers is
    its top. So to be outside of it is to be outside of the subtree of each of them.
    """

    monotonic = True

    def __init__(self, index: Index, inside: Sequence[int], outside: int) -> None:
        super().__init__(index, (*inside, outside))
        self.inside, self.outside = tuple(inside), outside

    def mask(self, ways: Ways) -> Mask:
        last, rows = self._index.rows.last, ways[self.outside]
        if self._newest != self.outside:
            tops = [ways[self._newest]]
        else:
            tops = [ways[number] for number in self._earlier]
        return reduce(iand, ((rows < top) | (rows > last[top]) for top in tops))

    def allows(self, way: Way) -> bool:
        last = self._index.rows.last
        tops = (self._newest,) if self._newest != self.outside else self._earlier
        return not any(
            top <= piece.row <= last[top] for top in _rows(tops, way) for piece in way[self.outside]
        )


class TraitAmongProviders(Constraint):
    """One of the providers of the unsuffixed group has one of the traits: `required`.

    Not monotonic: a provider that is chosen later can have it.
    """

    monotonic = False

    def __init__(self, index: Index, slots: Sequence[int], holders: Mask) -> None:
        super().__init__(index, slots)
        self.holders = holders  # for each set of traits: whether it holds one of them

    def mask(self, ways: Ways) -> Mask:
        traits = self._index.rows.traits
        return reduce(ior, (self.holders[traits[ways[number]]] for number in self.slots))

    def allows(self, way: Way) -> bool:
        traits = self._index.rows.traits
        return any(self.holders[traits[row]] for row in _rows(self.slots, way))


class Room:
    """How much one candidate may take in all of a class from a provider."""

    def __init__(self, index: Index, class_id: int) -> None:
        self.index = index
        self.class_id = class_id
        self._known: dict[int, int] = {}

    def of_rows(self, rows: Integers) -> Integers:
        """For providers that have an inventory of the class."""
        column = self.index.columns[self.class_id]
        positions = np.searchsorted(column.row[: column.count], rows)
        free = column.capacity[positions] - column.used[positions]
        room: Integers = np.minimum(free, column.max_unit[positions])
        return room

    def of_row(self, row: int) -> int:
        room = self._known.get(row)
        if room is None:
            room = self._known[row] = int(self.of_rows(np.array([row]))[0])
        return room


def _rows(slots: Iterable[int], way: Way) -> Iterator[int]:
    for number in slots:
        for piece in way[number]:
            yield piece.row


def _span(rows: Sequence[Integers]) -> tuple[Integers, Integers]:
    """The lowest and the highest row of each way."""
    low = high = rows[0]
    for more in rows[1:]:
        low, high = np.minimum(low, more), np.maximum(high, more)
    return low, high
