"""Rows of the tables in, columns of whole trees in depth-first order out.

All providers of a cloud pass through here when a process starts, so nothing is done row by row that
can be done for all rows at once.
"""

from array import array
from collections.abc import Iterator, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from roost.changes import (
    AGGREGATE_TYPECODES,
    INVENTORY_TYPECODES,
    PROVIDER_TYPECODES,
    TRAIT_TYPECODES,
    USAGE_TYPECODES,
    Rows,
    TableColumns,
)
from roost.search.index.columns import CAPACITY_MAX, Integers, bare

Numbers = npt.NDArray[Any]


class TreeLayout:
    """Whole trees of providers, each provider known by its position in depth-first order."""

    def __init__(self, rows: Rows) -> None:
        ids, uuids, names, generation, _, parents, modified = _columns(
            rows.providers, PROVIDER_TYPECODES
        )
        # No provider has the id 0.
        parent_ids = np.array([parent or 0 for parent in parents], dtype=np.int64)
        order = np.asarray(_depth_first(bare(_Positions(np.asarray(ids)).of(parent_ids))))
        self.count = len(order)
        self.ids: Integers = np.asarray(ids)[order]
        self.uuids: list[str] = [uuids[position] for position in bare(order)]
        self.names: list[str] = [names[position] for position in bare(order)]
        self.generation: Integers = np.asarray(generation)[order]
        self.modified: Numbers = np.asarray(modified)[order]
        self._positions = _Positions(self.ids)
        self.parent = self._positions.of(parent_ids[order])  # -1 for a root
        # The rows of a tree are adjacent: the root of each position is the last root before it.
        numbers = np.arange(self.count)
        self.root: Integers = np.maximum.accumulate(np.where(self.parent < 0, numbers, 0))
        self.last = _last(bare(self.parent))
        self._rows = rows

    def checksums(self) -> npt.NDArray[np.uint32]:
        """For each position of a root the checksum of its UUID."""
        found = np.zeros(self.count, dtype=np.uint32)
        roots = np.flatnonzero(self.parent < 0)
        found[roots] = [crc32(self.uuids[root].encode()) for root in roots.tolist()]
        return found

    def trait_sets(self) -> Iterator[tuple[int, ...]]:
        """For each position its trait ids, ascending."""
        owners, traits = self._owned(self._rows.traits, TRAIT_TYPECODES)
        order = np.lexsort((traits, owners))
        return self._grouped(owners[order], bare(traits[order]))

    def aggregate_sets(self) -> Iterator[tuple[str, ...]]:
        """For each position its aggregates, in the order in which they came."""
        owners, aggregates = self._owned(self._rows.aggregates, AGGREGATE_TYPECODES)
        order = np.argsort(owners, kind="stable")
        return self._grouped(owners[order], aggregates[order].tolist())

    def inventories(self) -> "InventoryColumns":
        owners, classes, *numbers = self._owned(self._rows.inventories, INVENTORY_TYPECODES)
        return InventoryColumns(
            owners, classes, numbers, self._owned(self._rows.usages, USAGE_TYPECODES)
        )

    def class_sets(self, inventories: "InventoryColumns") -> Iterator[tuple[int, ...]]:
        """For each position the ids of the classes it has an inventory of, ascending."""
        order = np.argsort(inventories.owners, kind="stable")
        return self._grouped(inventories.owners[order], bare(inventories.classes[order]))

    def _owned(self, rows: Sequence[Any], kinds: str) -> list[Numbers]:
        """The columns of rows that begin with a provider's id, with its position instead.

        Rows of unknown providers are left out: nothing in the tables forbids them.
        """
        ids, *others = _columns(rows, kinds)
        positions = self._positions.of(ids)
        here = positions >= 0
        objects = {"-": object}
        return [
            positions[here],
            *(
                np.asarray(column, dtype=objects.get(kind))[here]
                for kind, column in zip(kinds[1:], others, strict=True)
            ),
        ]

    def _grouped(self, owners: Integers, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """For each position its values; `owners` ascend."""
        start = 0
        for end in bare(np.searchsorted(owners, np.arange(self.count), side="right")):
            yield tuple(values[start:end])
            start = end


class InventoryColumns:
    """Inventories of many providers, by class and then by position."""

    def __init__(
        self,
        owners: Integers,
        classes: Integers,
        numbers: Sequence[Numbers],
        usages: Sequence[Numbers],
    ) -> None:
        order = np.lexsort((owners, classes))
        self.owners, self.classes = owners[order], classes[order]
        total, reserved, min_unit, max_unit, step_size, ratio, modified = (
            column[order] for column in numbers
        )
        self._columns: dict[str, Numbers] = {
            "row": self.owners,
            "total": total,
            "reserved": reserved,
            "min_unit": min_unit,
            "max_unit": max_unit,
            "step_size": step_size,
            "allocation_ratio": ratio,
            "capacity": _capacity(total, reserved, ratio),
            "used": self._used(*usages),
            "modified": modified,
        }

    def by_class(self, first_row: int) -> Iterator[tuple[int, dict[str, Numbers]]]:
        """The columns of each class, for trees that begin in that row."""
        for class_id in np.unique(self.classes).tolist():
            part = slice(*np.searchsorted(self.classes, (class_id, class_id + 1)))
            columns = {name: column[part] for name, column in self._columns.items()}
            yield class_id, {**columns, "row": columns["row"] + first_row}

    def _used(self, owners: Integers, classes: Integers, amounts: Integers) -> Integers:
        """What is used of each; usage without an inventory is left out."""
        found = _Positions(_pair(self.classes, self.owners)).of(_pair(classes, owners))
        used = np.zeros(len(self.owners), dtype=np.int64)
        used[found[found >= 0]] = amounts[found >= 0]
        return used


class _Positions:
    """The positions of numbers in a column."""

    def __init__(self, column: Integers) -> None:
        self._order = np.argsort(column, kind="stable")
        self._sorted = column[self._order]

    def of(self, wanted: npt.ArrayLike) -> Integers:
        """The position of each; -1 for one that is missing."""
        numbers = np.asarray(wanted, dtype=np.int64)
        if not len(self._sorted):
            return np.full(len(numbers), -1)
        found = np.searchsorted(self._sorted, numbers)
        found[found == len(self._sorted)] = 0
        positions: Integers = np.where(self._sorted[found] == numbers, self._order[found], -1)
        return positions


def _pair(first: Integers, second: Integers) -> Integers:
    """Two columns of numbers below 2^31 as one."""
    pairs: Integers = (first << 32) | second
    return pairs


def _columns(rows: Sequence[Any], kinds: str) -> list[Any]:
    table = rows if isinstance(rows, TableColumns) else TableColumns(kinds, rows)
    return table.columns


# Stands for "no provider" among positions.
_NONE = -1


def _depth_first(parents: Sequence[int]) -> Sequence[int]:
    """The positions of providers in depth-first order, given the positions of their parents."""
    next_sibling = array("q", [_NONE]) * len(parents)
    first_child = array("q", [_NONE]) * (len(parents) + 1)  # the first root at -1
    for position in range(len(parents) - 1, -1, -1):
        next_sibling[position] = first_child[parents[position]]
        first_child[parents[position]] = position
    order = array("q")
    # Without recursion: a tree may be deeper than Python's stack.
    stack = [first_child[_NONE]]
    while stack:
        position = stack.pop()
        if position != _NONE:
            order.append(position)
            stack += (next_sibling[position], first_child[position])
    return order


def _last(parents: Sequence[int]) -> Integers:
    """The last position of each subtree, given the parents in depth-first order."""
    last = array("q", range(len(parents)))
    # Children before parents: the end of a subtree is passed up to the parent.
    for position in range(len(parents) - 1, -1, -1):
        parent = parents[position]
        if parent >= 0 and last[parent] < last[position]:
            last[parent] = last[position]
    return np.asarray(last)


def _capacity(total: Integers, reserved: Integers, ratio: Numbers) -> Integers:
    """`column_capacity` of many."""
    exact = (total - reserved) * ratio
    capacity: Integers = np.clip(exact, 0, CAPACITY_MAX).astype(np.int64)
    return capacity
