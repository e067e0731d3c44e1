"""What the index is made of: growing columns of numbers, and tables of interned sets."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from roost.uuids import canonical_uuid

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Capacity is an exact integer of any size; in a column it is cut off here, far above all amounts.
CAPACITY_MAX = 2**62

# How many answers a table of sets caches.
ANSWERS_MAX = 64

_NOTHING: Mask = np.empty(0, dtype=np.bool_)


class Columns:
    """Columns of equal length that grow at the end, doubling their room.

    A column is an attribute; only the first `count` elements of it mean something.
    """

    def __init__(self, types: Mapping[str, type]) -> None:
        self._names = tuple(types)
        self._room = 16
        self.count = 0
        for name, element in types.items():
            setattr(self, name, np.zeros(self._room, dtype=element))

    def extend(self, values: Mapping[str, Sequence[Any] | npt.NDArray[Any]]) -> None:
        added = len(values[self._names[0]])
        end = self.count + added
        if end > self._room:
            self._room = max(end, 2 * self._room)
            for name in self._names:
                grown = np.zeros(self._room, dtype=getattr(self, name).dtype)
                grown[: self.count] = getattr(self, name)[: self.count]
                setattr(self, name, grown)
        for name in self._names:
            getattr(self, name)[self.count : end] = values[name]
        self.count = end


class ClassColumn(Columns):
    """Every inventory of one resource class, in the order of the providers' rows."""

    row: Integers
    total: Integers
    reserved: Integers
    min_unit: Integers
    max_unit: Integers
    step_size: Integers
    allocation_ratio: npt.NDArray[np.float64]
    capacity: Integers
    used: Integers
    modified: npt.NDArray[np.float64]

    FIELDS = (
        "row",
        "total",
        "reserved",
        "min_unit",
        "max_unit",
        "step_size",
        "allocation_ratio",
        "capacity",
        "used",
        "modified",
    )

    def __init__(self) -> None:
        # What the tables hold fits into 32 bits; capacity and the sum of what is used may not.
        wide = {"allocation_ratio": float, "capacity": int, "used": int, "modified": float}
        super().__init__({name: wide.get(name, np.int32) for name in self.FIELDS})

    def position(self, row: int) -> int | None:
        """The position of the inventory of the provider in `row`."""
        found = int(np.searchsorted(self.row[: self.count], row))
        if found < self.count and self.row[found] == row:
            return found
        return None

    def span(self, first: int, end: int) -> slice:
        """The part of the column that belongs to the rows from `first` up to, not with, `end`."""
        low, high = np.searchsorted(self.row[: self.count], (first, end))
        return slice(int(low), int(high))


class RowColumns(Columns):
    """What the index knows of each row in numbers."""

    live: Mask
    generation: Integers
    parent: Integers  # row, -1 for a root
    root: Integers  # row
    last: Integers  # the last row of the provider's subtree
    traits: Integers  # number of a set in Index.trait_sets
    aggregates: Integers  # number of a set in Index.aggregate_sets
    tree_aggregates: Integers  # for a root: those of its whole tree
    modified: npt.NDArray[np.float64]

    def __init__(self) -> None:
        # Rows and numbers of sets fit into 32 bits, and there are many of them.
        small = ("parent", "root", "last", "traits", "aggregates", "tree_aggregates")
        super().__init__(
            {
                "live": bool,
                "generation": int,
                **dict.fromkeys(small, np.int32),
                "modified": float,
            }
        )


Member = TypeVar("Member")


class SetTable(Generic[Member]):
    """Sets that many rows have in common, each stored once and known by a number.

    A rule on sets (such as "has one of these traits") is evaluated once for each distinct set and
    then looked up for any number of rows at once.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[Member, ...], int] = {}
        self._answers: dict[frozenset[Member], Mask] = {}
        self.members: list[tuple[Member, ...]] = []

    def number(self, members: Iterable[Member]) -> int:
        key = tuple(members)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.members)
            self._add(key)
        return found

    def _add(self, key: tuple[Member, ...]) -> None:
        self.members.append(key)

    def holding_any(self, wanted: Iterable[Member]) -> Mask:
        """For each set of the table: whether it holds one of `wanted`.

        Clients ask for the same few sets again and again, so answers are cached; only sets that
        were added since then are compared.
        """
        key = frozenset(wanted)
        known = self._answers.pop(key, _NOTHING)
        if len(known) < len(self.members):
            new = self.members[len(known) :]
            more = np.fromiter(
                (not key.isdisjoint(members) for members in new), dtype=np.bool_, count=len(new)
            )
            known = np.concatenate([known, more])
        # Move it to the end: the first entry is the one used least recently.
        self._answers[key] = known
        if len(self._answers) > ANSWERS_MAX:
            del self._answers[next(iter(self._answers))]
        return known


class AggregateSets(SetTable[str]):
    """Sets of aggregates, as they are stored and as searches compare them.

    Sets that are stored in different spellings have different numbers. Their `members` are
    canonical, so every rule treats all spellings of a UUID alike.
    """

    def __init__(self) -> None:
        super().__init__()
        self.stored: list[tuple[str, ...]] = []

    def _add(self, key: tuple[str, ...]) -> None:
        canonical = tuple(dict.fromkeys(map(canonical_uuid, key)))
        self.stored.append(key)
        # Nearly all are canonical. Then there is only one tuple.
        self.members.append(key if canonical == key else canonical)


def bare(numbers: Integers) -> "array[int]":
    """The numbers for a loop in Python: each becomes an object only while the loop is at it."""
    return array("q", numbers.tobytes())


def ragged_range(starts: Integers, counts: Integers) -> Integers:
    """starts[0], starts[0] + 1, ... (counts[0] of them), starts[1], ..."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    numbers: Integers = np.arange(total) + np.repeat(starts - (ends - counts), counts)
    return numbers
