"""The slots of a request whose amounts may be split, and the providers that can fill each."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace as evolve

from roost.query import CandidateQuery, RequestGroup
from roost.search.budget import Budget
from roost.search.constraints import Piece, Pieces
from roost.search.index.columns import CAPACITY_MAX, Integers, Mask
from roost.search.index.index import Index
from roost.search.match import EMPTY, GroupMatcher, Slot
from roost.search.sharing import SharingOptions
from roost.search.split.pieces import PIECES_MAX, Offers, PieceSizes, piece_sizes, splits
from roost.search.split.steps import OutOfSteps, StepCount

# How many steps are made to find out whether the units of one tree allow a split at all.
STEPS_OF_SLOT_MAX = 10_000
# How many providers of a tree, those that can serve most, are tried for pieces.
OFFERS_MAX = 4096


class SplitSlot:
    """A slot that one provider fills, or several providers of one tree if it may be split."""

    def __init__(self, index: Index, slot: Slot, *, may_split: bool) -> None:
        self._index = index
        self.slot = slot
        self.may_split = may_split

    # -- one tree ------------------------------------------------------------------------------

    def whole_rows(self, root: int, sharing: Sequence[int]) -> list[int]:
        """The providers that fill it alone: of the tree, or sharing with the tree."""
        rows = self._of_tree(self._tried_list, root)
        return rows + [row for row in sharing if row in self._shared]

    def piece(self, row: int) -> Pieces:
        """What fills it if one provider does."""
        return (Piece(self.slot.group.suffix, row, self.slot.demands),)

    def pieces(self, split: Mapping[int, int]) -> Pieces:
        """What fills it if several providers do: row -> size of the piece."""
        ((class_id, _),) = self.slot.demands.items()
        suffix = self.slot.group.suffix
        return tuple(Piece(suffix, row, {class_id: size}) for row, size in sorted(split.items()))

    def offers(self, root: int) -> Offers:
        """What the providers of the tree can serve, in pieces."""
        if not self.may_split:
            return Offers({})
        found = self._sizes
        rows = self._able_list
        first = bisect_left(rows, root)
        end = bisect_right(rows, int(self._index.rows.last[root]), first)
        if end - first <= OFFERS_MAX:
            some = range(first, end)
            low, high, step = self._size_lists
            return Offers({rows[n]: PieceSizes(low[n], high[n], step[n]) for n in some})
        # The sort is stable, so that those with equal offers stay in order.
        largest = first + np.argsort(-found.high[first:end], kind="stable")[:OFFERS_MAX]
        columns = [column[largest].tolist() for column in found]
        sizes = {row: PieceSizes(*rest) for row, *rest in zip(*columns, strict=True)}
        return Offers(sizes, has_more=True)

    def has_nested_providers(self, root: int) -> bool:
        """Whether one of the providers that can serve a piece is an ancestor of another."""
        rows = self._of_tree(self._able_list, root)
        last = self._index.rows.last
        return any(last[row] >= below for row, below in pairwise(rows))

    def rows_of(self, root: int, sharing: Sequence[int]) -> list[int]:
        """The providers that can fill it for a tree, or serve a piece."""
        rows = self._of_tree(self._able_list, root)
        shared = [row for row in sharing if row in self._shared]
        return sorted({*rows, *shared}) if shared else rows

    def _of_tree(self, rows: list[int], root: int) -> list[int]:
        """Those of the rows, which are in order, that belong to a tree."""
        first = bisect_left(rows, root)
        return rows[first : bisect_right(rows, int(self._index.rows.last[root]), first)]

    # -- many trees ----------------------------------------------------------------------------

    def can_fill(self, roots: Integers, budget: Budget) -> tuple[Mask, Mask]:
        """Which of the trees can fill the slot, and for which that was not found out."""
        able = self._can_fill_whole(roots)
        unknown = np.zeros(len(roots), dtype=np.bool_)
        if self.may_split:
            ((_, amount),) = self.slot.demands.items()
            for number in np.flatnonzero(self.may_fill(roots) & ~able).tolist():
                steps = StepCount(budget, STEPS_OF_SLOT_MAX)
                try:
                    steps.add()
                    offers = self.offers(int(roots[number]))
                    found = next(splits(offers, amount, on_step=steps.add), None)
                    able[number] = found is not None
                except OutOfSteps:
                    unknown[number] = True
        return able, unknown

    def may_fill(self, roots: Integers) -> Mask:
        """A quick upper bound of `can_fill`: units may make a split impossible."""
        able = self._can_fill_whole(roots)
        if self.may_split:
            ((_, amount),) = self.slot.demands.items()
            # Amounts beyond what any column holds are compared as if they were at that bound.
            able |= self._served[-1][roots] >= min(amount, CAPACITY_MAX)
        return able

    def extra_least(self, roots: Integers) -> Integers:
        """How many pieces more than one each of the trees needs at least."""
        needed = np.zeros(len(roots), dtype=np.int64)
        if self.may_split:
            ((_, amount),) = self.slot.demands.items()
            for served in self._served[:-1]:
                needed += served[roots] < min(amount, CAPACITY_MAX)
            needed = np.maximum(needed, 1)
            needed[self._can_fill_whole(roots)] = 0
        return needed

    def _can_fill_whole(self, roots: Integers) -> Mask:
        rows = self._index.rows
        served = np.zeros(rows.count, dtype=np.bool_)
        served[rows.root[self._local]] = True
        able: Mask = served[roots]
        reach = self._sharing_options.reach
        if reach is not None:
            able |= reach[rows.tree_aggregates[roots]]
        return able

    @cached_property
    def able_rows(self) -> Integers:
        """The rows that can fill it, or serve a piece, for their own tree."""
        return self._sizes.row if self.may_split else self._local

    @cached_property
    def _served(self) -> list[Integers]:
        """For each root what the largest piece of its tree serves, the two largest, and so on."""
        rows, high = self._sizes.row, self._sizes.high
        roots = self._index.rows.root[rows]
        order = np.lexsort((-high, roots))
        roots, high = roots[order], high[order]
        # The number of each within its tree, the largest first.
        begins = np.flatnonzero(np.diff(roots, prepend=-1))
        number = np.arange(len(roots)) - np.repeat(begins, np.diff(begins, append=len(roots)))
        served = np.zeros((PIECES_MAX, self._index.rows.count), dtype=np.int64)
        for count in range(PIECES_MAX):
            served[count:, roots[number == count]] += high[number == count]
        return list(served)

    @cached_property
    def _size_lists(self) -> tuple[list[int], list[int], list[int]]:
        """The sizes of `able_rows`: single elements are read much quicker from lists."""
        return self._sizes.low.tolist(), self._sizes.high.tolist(), self._sizes.step.tolist()

    @cached_property
    def _sizes(self) -> "_SizeColumns":
        """`piece_sizes` for all rows at once, without those that can serve no piece."""
        ((class_id, amount),) = self.slot.demands.items()
        column = self._index.columns.get(class_id)
        if column is None:
            return _SizeColumns(EMPTY, EMPTY, EMPTY, EMPTY)
        filled = slice(0, column.count)
        free = np.minimum(column.capacity[filled] - column.used[filled], min(amount, CAPACITY_MAX))
        step = column.step_size[filled].astype(np.int64)
        high = np.minimum(free, column.max_unit[filled]) // step * step
        low = -(-np.maximum(column.min_unit[filled], 1) // step) * step
        rows = column.row[filled].astype(np.int64)
        # The inventory of a removed row has a negative capacity, so nothing of it is free.
        able = low <= high
        able[able] = self.slot.group.accepts(self._index, rows[able])
        return _SizeColumns(rows[able], low[able], high[able], step[able])

    @cached_property
    def _tried_list(self) -> list[int]:
        rows: list[int] = self.slot.tried(self._index, self._local).tolist()
        return rows

    @cached_property
    def _able_list(self) -> list[int]:
        rows: list[int] = self.able_rows.tolist()
        return rows

    @cached_property
    def _local(self) -> Integers:
        return self.slot.local(self._index, 0, self._index.rows.count)

    @cached_property
    def _sharing_options(self) -> SharingOptions:
        return SharingOptions(self._index, self.slot, self._index.sharing_rows())

    @cached_property
    def _shared(self) -> frozenset[int]:
        return frozenset(self.slot.shared(self._index, self._index.sharing_rows()).tolist())


class _SizeColumns(NamedTuple):
    """Rows, and the `PieceSizes` of each in columns."""

    row: Integers
    low: Integers
    high: Integers
    step: Integers


def piece_sizes_of(index: Index, class_id: int, row: int) -> PieceSizes | None:
    """The sizes of a piece, of any amount of a class, that a provider can serve."""
    inventory = index.inventory(class_id, row)
    if inventory is None:
        return None
    return piece_sizes(
        free=index.free(class_id, row),
        min_unit=inventory.min_unit,
        max_unit=inventory.max_unit,
        step_size=inventory.step_size,
    )


def slots_of(index: Index, query: CandidateQuery, budget: Budget) -> list[SplitSlot]:
    return [slot for group in query.groups for slot in slots_of_group(index, group, budget)]


def slots_of_group(index: Index, group: RequestGroup, budget: Budget) -> list[SplitSlot]:
    """A slot for each class that may be split, and for the rest as in any other search."""
    budget.step(1 + len(group.resources))
    matcher = GroupMatcher(index, group, budget=budget)
    if not group.can_split:
        return [SplitSlot(index, slot, may_split=False) for slot in matcher.make_slots()]
    whole = {name: n for name, n in group.resources.items() if name not in group.can_split}
    found = []
    if whole:
        slots = GroupMatcher(index, evolve(group, resources=whole), budget=budget).make_slots()
        found += [SplitSlot(index, Slot(matcher, slot.demands), may_split=False) for slot in slots]
    for name in group.resources:
        if name in group.can_split:
            demands = {index.classes.ids[name]: group.resources[name]}
            found.append(SplitSlot(index, Slot(matcher, demands), may_split=True))
    return found
