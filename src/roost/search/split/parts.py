"""A request whose amounts may be split -> parts, and who can fill each."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace as evolve

from roost.query import CandidateQuery, RequestGroup
from roost.search.index.columns import CAPACITY_MAX, Integers, Mask
from roost.search.index.index import Index
from roost.search.match import EMPTY, GroupMatcher, Slot
from roost.search.sharing import Lenders
from roost.search.split.pieces import PIECES_MAX, Offer, offer, splits


class Piece(NamedTuple):
    """What one group takes from one provider."""

    suffix: str
    row: int
    resources: Mapping[int, int]  # class id -> amount; empty for a resourceless group


# What fills one part of a request: one piece, or several of a split.
Pieces = tuple[Piece, ...]


class Part:
    """A part of the request that one provider serves, or several if it may be split."""

    def __init__(self, index: Index, slot: Slot, *, may_split: bool) -> None:
        self._index = index
        self.slot = slot
        self.may_split = may_split

    # -- one tree ------------------------------------------------------------------------------

    def whole(self, root: int, lenders: Sequence[int]) -> list[Pieces]:
        """All of it from one provider, of the tree or of those who lend to it."""
        rows = self._of_tree(self._local_list, root)
        rows += [row for row in lenders if row in self._shared]
        return [(Piece(self.slot.group.suffix, row, self.slot.demands),) for row in rows]

    def split(self, root: int) -> Iterator[Pieces]:
        """In two or more pieces, from providers of the tree itself."""
        ((class_id, amount),) = self.slot.demands.items()
        offers = {row: self._offers[row] for row in self._of_tree(self._giver_list, root)}
        return self._as_pieces(class_id, splits(offers, amount))

    def split_beside(self, root: int, room: Callable[[int], int]) -> Iterator[Pieces]:
        """The same where others take from the providers too, and with more of them than needed.

        `room` is what is left of each.
        """
        ((class_id, amount),) = self.slot.demands.items()
        offers = {}
        for row in self._of_tree(self._giver_list, root):
            low, _, step = self._offers[row]
            high = min(room(row), amount) // step * step
            if low <= high:
                offers[row] = Offer(low, high, step)
        return self._as_pieces(class_id, splits(offers, amount, minimal=False))

    def _as_pieces(self, class_id: int, found: Iterable[Mapping[int, int]]) -> Iterator[Pieces]:
        suffix = self.slot.group.suffix
        for each in found:
            if len(each) > 1:
                yield tuple(Piece(suffix, row, {class_id: n}) for row, n in sorted(each.items()))

    def pieces_max(self, root: int) -> int:
        """How many pieces it can have in a tree, at most."""
        if not self.may_split:
            return 1
        return max(1, min(PIECES_MAX, len(self._of_tree(self._giver_list, root))))

    def has_givers_above_others(self, root: int) -> bool:
        rows = self._of_tree(self._giver_list, root)
        last = self._index.rows.last
        return any(last[row] >= below for row, below in pairwise(rows))

    def rows_of(self, root: int, lenders: Sequence[int]) -> list[int]:
        """Who can give all of it to a tree, or a piece."""
        rows = set(self._of_tree(self._giver_list, root))
        return sorted(rows.union(row for row in lenders if row in self._shared))

    def _of_tree(self, rows: list[int], root: int) -> list[int]:
        """Those of the rows, which are in order, that stand in a tree."""
        first = bisect_left(rows, root)
        return rows[first : bisect_right(rows, int(self._index.rows.last[root]), first)]

    # -- many trees ----------------------------------------------------------------------------

    def can_fill(self, roots: Integers) -> Mask:
        """Which of the trees can fill the part."""
        able = self._can_fill_whole(roots)
        if self.may_split:
            for number in np.flatnonzero(self.may_fill(roots) & ~able).tolist():
                able[number] = any(True for _ in self.split(int(roots[number])))
        return able

    def may_fill(self, roots: Integers) -> Mask:
        """The same, but for splits that pieces and steps may make impossible."""
        able = self._can_fill_whole(roots)
        if self.may_split:
            ((_, amount),) = self.slot.demands.items()
            able |= self._given[roots] >= min(amount, CAPACITY_MAX)
        return able

    def _can_fill_whole(self, roots: Integers) -> Mask:
        rows = self._index.rows
        served = np.zeros(rows.count, dtype=np.bool_)
        served[rows.root[self._local]] = True
        able: Mask = served[roots]
        reach = self._lenders.reach
        if reach is not None:
            able |= reach[rows.tree_aggregates[roots]]
        return able

    @cached_property
    def givers(self) -> Integers:
        """The rows that can give all of it, or a piece, to their own tree."""
        return self._pieces.row if self.may_split else self._local

    @cached_property
    def _given(self) -> Integers:
        """For each root, how much all of its tree can give at most."""
        given = np.zeros(self._index.rows.count, dtype=np.int64)
        np.add.at(given, self._index.rows.root[self._pieces.row], self._pieces.high)
        return given

    @cached_property
    def _offers(self) -> dict[int, Offer]:
        columns = [column.tolist() for column in self._pieces]
        return {row: Offer(*rest) for row, *rest in zip(*columns, strict=True)}

    @cached_property
    def _pieces(self) -> "_PieceColumns":
        """`offer` for all rows at once: those that can give a piece, of what size."""
        ((class_id, amount),) = self.slot.demands.items()
        column = self._index.columns.get(class_id)
        if column is None:
            return _PieceColumns(EMPTY, EMPTY, EMPTY, EMPTY)
        part = slice(0, column.count)
        free = np.minimum(column.capacity[part] - column.used[part], min(amount, CAPACITY_MAX))
        step = column.step_size[part].astype(np.int64)
        high = np.minimum(free, column.max_unit[part]) // step * step
        low = -(-np.maximum(column.min_unit[part], 1) // step) * step
        rows = column.row[part].astype(np.int64)
        # Of an inventory that is gone the capacity is negative, and so nothing is free.
        gives = low <= high
        gives[gives] = self.slot.group.accepts(self._index, rows[gives])
        return _PieceColumns(rows[gives], low[gives], high[gives], step[gives])

    @cached_property
    def _local_list(self) -> list[int]:
        rows: list[int] = self._local.tolist()
        return rows

    @cached_property
    def _giver_list(self) -> list[int]:
        rows: list[int] = self.givers.tolist()
        return rows

    @cached_property
    def _local(self) -> Integers:
        return self.slot.local(self._index, 0, self._index.rows.count)

    @cached_property
    def _lenders(self) -> Lenders:
        return Lenders(self._index, self.slot, self._index.sharing_rows())

    @cached_property
    def _shared(self) -> frozenset[int]:
        return frozenset(self.slot.shared(self._index, self._index.sharing_rows()).tolist())


class _PieceColumns(NamedTuple):
    """Rows, and what each could take of an amount: an `Offer` in columns."""

    row: Integers
    low: Integers
    high: Integers
    step: Integers


def offer_of(index: Index, class_id: int, row: int) -> Offer | None:
    """What a provider could take of any amount of a class."""
    stock = index.inventory(class_id, row)
    if stock is None:
        return None
    return offer(
        free=index.free(class_id, row),
        min_unit=stock.min_unit,
        max_unit=stock.max_unit,
        step_size=stock.step_size,
    )


def parts_of(index: Index, query: CandidateQuery) -> tuple[list[Part], list[GroupMatcher]]:
    """The parts, and for each group the rules that its providers must meet together."""
    matchers = [GroupMatcher(index, group) for group in query.groups]
    parts = [
        part
        for group, matcher in zip(query.groups, matchers, strict=True)
        for part in parts_of_group(index, group, matcher)
    ]
    return parts, matchers


def parts_of_group(index: Index, group: RequestGroup, matcher: GroupMatcher) -> list[Part]:
    """Each class that may be split on its own, and what is left as in any other search."""
    if not group.can_split:
        return [Part(index, slot, may_split=False) for slot in matcher.slots]
    whole = {name: n for name, n in group.resources.items() if name not in group.can_split}
    parts = []
    if whole:
        slots = GroupMatcher(index, evolve(group, resources=whole)).slots
        parts += [Part(index, Slot(matcher, slot.demands), may_split=False) for slot in slots]
    for name in group.resources:
        if name in group.can_split:
            demands = {index.classes.ids[name]: group.resources[name]}
            parts.append(Part(index, Slot(matcher, demands), may_split=True))
    return parts
