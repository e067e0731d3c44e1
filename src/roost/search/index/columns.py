"""What the index is made of: growing columns of numbers, and tables of interned sets."""

from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from math import lcm
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from roost.model import INTEGER_MAX
from roost.search.index.copy_on_write import CopyOnWrite
from roost.uuids import canonical_uuid

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Capacity is an exact integer of any size; in a column it is cut off here, far above all amounts.
CAPACITY_MAX = 2**62

# How many answers a table of sets caches.
ANSWERS_MAX = 64

_NOTHING: Mask = np.empty(0, dtype=np.bool_)


class Columns(CopyOnWrite):
    """Columns of equal length that grow at the end, doubling their room.

    A column is an attribute; only the first `count` elements of it mean something. Snapshots share
    the room behind them too, and have a `count` of their own.
    """

    def __init__(self, types: Mapping[str, type]) -> None:
        super().__init__()
        self._names = tuple(types)
        self._room = 16
        self.count = 0
        for name, element in types.items():
            setattr(self, name, np.zeros(self._room, dtype=element))

    def extend(self, values: Mapping[str, Sequence[Any] | npt.NDArray[Any]]) -> None:
        self.changed()
        added = len(values[self._names[0]])
        end = self.count + added
        if end > self._room:
            self._room = max(end, 2 * self._room)
            for name in self._names:
                grown = np.zeros(self._room, dtype=getattr(self, name).dtype)
                grown[: self.count] = getattr(self, name)[: self.count]
                self.replace(name, grown)
        for name in self._names:
            getattr(self, name)[self.count : end] = values[name]
        self.count = end


class UnitLimits(NamedTuple):
    """An amount within these limits is within the units of every inventory of a class.

    Most inventories of a class have similar units, and then a search compares nothing but what is
    free. One that is gone, or has other units now, still counts here. That costs time, no more.
    """

    min_unit: int = 0  # the highest
    max_unit: int = INTEGER_MAX  # the lowest
    step_size: int = 1  # a common multiple of all

    def allow(self, amount: int) -> bool:
        """Whether an amount is within the units of every inventory."""
        return self.min_unit <= amount <= self.max_unit and amount % self.step_size == 0

    def include(self, min_unit: int, max_unit: int, step_size: int) -> bool:
        """Whether an inventory with these units makes no difference."""
        return (
            min_unit <= self.min_unit
            and max_unit >= self.max_unit
            and step_size > 0
            and self.step_size % step_size == 0
        )

    def also(self, values: Mapping[str, Any]) -> "UnitLimits":
        """The limits with those of more inventories."""
        steps = np.unique(values["step_size"]).tolist()
        # No amount is a multiple of more than the highest amount. A step of 0 is none.
        step_size = lcm(self.step_size, *steps) if 0 not in steps else INTEGER_MAX + 1
        return UnitLimits(
            max(self.min_unit, int(np.max(values["min_unit"]))),
            min(self.max_unit, int(np.min(values["max_unit"]))),
            min(step_size, INTEGER_MAX + 1),
        )


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
        self.units = UnitLimits()

    def extend(self, values: Mapping[str, Sequence[Any] | npt.NDArray[Any]]) -> None:
        super().extend(values)
        self.units = self.units.also(values)

    def update(self, row: int, values: Mapping[str, Any]) -> None:
        """Replace what is known of the inventory that the provider in `row` has."""
        position = self.position(row)
        # Most reports of a compute node change nothing, or little.
        for name, value in values.items():
            if getattr(self, name).item(position) != value:
                self.own(name)[position] = value
        units = values["min_unit"], values["max_unit"], values["step_size"]
        if not self.units.include(*units):
            self.units = self.units.also(values)

    def position(self, row: int) -> int | None:
        """The position of the inventory of the provider in `row`."""
        rows = memoryview(self.row)  # type: ignore[arg-type]
        # numpy takes longer to begin than this to find it.
        found = bisect_left(rows, row, 0, self.count)
        return found if found < self.count and rows[found] == row else None

    def positions(self, rows: Sequence[int]) -> tuple[Integers, Mask]:
        """The positions of the inventories of the providers in these rows, and which have one."""
        wanted = np.array(rows, dtype=self.row.dtype)
        if not self.count:
            return np.zeros(len(wanted), dtype=int), np.zeros(len(wanted), dtype=np.bool_)
        found = self.row[: self.count].searchsorted(wanted)
        found[found == self.count] = 0
        return found, self.row[found] == wanted

    def span(self, first: int, end: int) -> slice:
        """The part of the column that belongs to the rows from `first` up to, not with, `end`."""
        # As an array, because numpy makes one of each single number.
        ends: Integers = np.array((first, end), dtype=np.int32)
        low, high = self.row[: self.count].searchsorted(ends).tolist()
        return slice(low, high)


class RowColumns(Columns):
    """What the index knows of each row in numbers."""

    live: Mask
    generation: Integers
    parent: Integers  # row, -1 for a root
    root: Integers  # row
    last: Integers  # the last row of the provider's subtree
    traits: Integers  # number of a set in Index.trait_sets
    classes: Integers  # number of a set in Index.class_sets
    aggregates: Integers  # number of a set in Index.aggregate_sets
    tree_aggregates: Integers  # for a root: those of its whole tree
    # Stands for the row as it is now, and for a root for its tree. It is another one after each
    # change, and no other row ever has it.
    stamp: Integers
    checksum: npt.NDArray[np.uint32]  # for a root: of its UUID
    modified: npt.NDArray[np.float64]

    def __init__(self) -> None:
        # Rows and numbers of sets fit into 32 bits, and there are many of them.
        small = ("parent", "root", "last", "traits", "classes", "aggregates", "tree_aggregates")
        super().__init__(
            {
                "live": bool,
                "generation": int,
                **dict.fromkeys(small, np.int32),
                "stamp": int,
                "checksum": np.uint32,
                "modified": float,
            }
        )


Member = TypeVar("Member")


class SetTable(CopyOnWrite, Generic[Member]):
    """Sets that many rows have in common, each stored once and known by a number.

    A rule on sets (such as "has one of these traits") is evaluated once for each distinct set and
    then looked up for any number of rows at once. Sets are only added, so snapshots share the table
    and its cached answers. Each has a `count` of its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[tuple[Member, ...], int] = {}
        # The answer used least recently comes first. Threads that read change it at the same time,
        # and each of its methods is atomic.
        self._answers: OrderedDict[frozenset[Member], Mask] = OrderedDict()
        self.members: list[tuple[Member, ...]] = []
        self.count = 0

    def number(self, members: Iterable[Member]) -> int:
        key = tuple(members)
        found = self._numbers.get(key)
        if found is None:
            self.changed()
            found = self._numbers[key] = self.count
            self._add(key)
            self.count += 1
        return found

    def _add(self, key: tuple[Member, ...]) -> None:
        self.members.append(key)

    def holding_any(self, wanted: Iterable[Member]) -> Mask:
        """For each set of the table: whether it holds one of `wanted`.

        Clients ask for the same few sets again and again, so answers are cached; only sets that
        were added since then are compared.
        """
        key = frozenset(wanted)
        known = self._answers.get(key, _NOTHING)
        if len(known) < self.count:
            new = self.members[len(known) : self.count]
            more = np.fromiter(
                (not key.isdisjoint(members) for members in new), dtype=np.bool_, count=len(new)
            )
            known = np.concatenate([known, more])
            # Another thread may store a longer answer at the same time. Then one of them is lost,
            # and what it had more is compared again.
            self._answers[key] = known
        try:
            self._answers.move_to_end(key)
            if len(self._answers) > ANSWERS_MAX:
                self._answers.popitem(last=False)
        except KeyError:
            # Another thread has just removed it, or the last one.
            pass
        # A snapshot that is newer than this one may have added sets.
        return known[: self.count]


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
    ends: Integers = counts.cumsum()
    total = int(ends[-1]) if len(ends) else 0
    numbers: Integers = np.arange(total) + (starts - (ends - counts)).repeat(counts)
    return numbers
