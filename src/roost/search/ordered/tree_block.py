"""The options of some trees, in any order: what `tree_options.py` does for a range of rows."""

from typing import NamedTuple

import numpy as np

from roost.search.index.columns import Integers, Mask, ragged_range
from roost.search.match import EMPTY, Slot, fits_mask
from roost.search.options import Options
from roost.search.tree_options import TreeOptions


class _Found(NamedTuple):
    """Rows of some trees, tree by tree."""

    rows: Integers
    trees: Integers  # for each row the number of its tree in the block

    def those(self, some: Mask | Integers) -> "_Found":
        return _Found(self.rows[some], self.trees[some])


class TreeBlock:
    """Some trees, in any order."""

    def __init__(self, search: TreeOptions, roots: Integers) -> None:
        self._search = search
        self._index = search.index
        self._roots = search.root_test.accepted(roots)
        self._accepted: Integers | None = None  # which these are; None: all
        if self._roots is not roots:
            self._accepted = np.flatnonzero(np.isin(roots, self._roots))
        self._ends = self._index.rows.last[self._roots] + 1
        self._row_count = int((self._ends - self._roots).sum())
        search.budget.examine_rows(self._row_count)
        # Which of the trees can fill every slot, once their options are known.
        self.able = EMPTY

    def options(self) -> Options | None:
        """The options of those of the trees that can fill every slot on its own, in their order."""
        search = self._search
        able = np.ones(len(self._roots), dtype=np.bool_)
        found: list[_Found] = []  # for each slot
        for number, (slot, shared) in enumerate(zip(search.slots, search.shared, strict=True)):
            if search.same_as[number] < number:
                found.append(found[search.same_as[number]])
                continue
            found.append(self._tried(slot))
            able &= self._serves(found[-1].trees, shared.reach)
            if not able.any():
                return None
        for constraint in search.constraints.traits_among_providers:
            able &= self._has_holder(constraint.holders, found)
        trees = able.nonzero()[0]
        self.able = trees if self._accepted is None else self._accepted[trees]
        return self._options(trees, found) if len(trees) else None

    def _tried(self, slot: Slot) -> _Found:
        """The rows that can fill the slot for their own tree, as far as they are tried for it."""
        found = self._fitting(slot)
        if slot.group.anywhere:
            # The first provider of each tree stands for all, as in `Slot.tried`.
            found = found.those(np.flatnonzero(np.diff(found.trees, prepend=-1)))
        return found

    def _fitting(self, slot: Slot) -> _Found:
        self._search.budget.pass_over_rows(self._row_count * len(slot.demands))
        (class_id, amount), *_ = [*slot.demands.items(), (None, 0)]
        if class_id is None:
            found = self._ranges(self._roots, self._ends)
            return found.those(slot.group.accepts(self._index, found.rows))
        column = self._index.columns.get(class_id)
        if column is None:
            return _Found(EMPTY, EMPTY)
        # The inventories of a tree are adjacent, too. With numbers of another type, numpy would
        # convert the whole column first.
        rows = column.row[: column.count]
        positions = self._ranges(
            rows.searchsorted(self._roots.astype(np.int32)),
            rows.searchsorted(self._ends.astype(np.int32)),
        )
        positions = positions.those(fits_mask(column, positions.rows, amount))
        found = _Found(column.row[positions.rows], positions.trees)
        # Few are left for the other rules, and for other classes.
        return found.those(slot.fits(self._index, found.rows, but=class_id))

    def _ranges(self, starts: Integers, ends: Integers) -> _Found:
        counts = ends - starts
        numbers = np.arange(len(counts))
        if (counts == 1).all():
            return _Found(starts, numbers)
        return _Found(ragged_range(starts, counts), np.repeat(numbers, counts))

    def _serves(self, trees: Integers, reach: Mask | None) -> Mask:
        """Which trees are among these, or are reached by a sharing provider."""
        serves = np.zeros(len(self._roots), dtype=np.bool_)
        serves[trees] = True
        if reach is not None:
            serves |= reach[self._index.rows.tree_aggregates[self._roots]]
        return serves

    def _has_holder(self, holders: Mask, found: list[_Found]) -> Mask:
        """Which trees have a provider for the unsuffixed group that has a trait it must have."""
        search, traits = self._search, self._index.rows.traits
        has_it = np.zeros(len(self._roots), dtype=np.bool_)
        for slot, shared, each in zip(search.slots, search.shared, found, strict=True):
            if not slot.group.one_provider:
                trees = each.trees[holders[traits[each.rows]]]
                has_it |= self._serves(trees, shared.reach_with(holders))
        return has_it

    def _options(self, trees: Integers, found: list[_Found]) -> Options:
        search, roots = self._search, self._roots[trees]
        flat: list[Integers] = []
        start: list[Integers] = []
        count: list[Integers] = []
        for number, (each, shared) in enumerate(zip(found, search.shared, strict=True)):
            first = search.same_as[number]
            if first < number:
                for columns in (flat, start, count):
                    columns.append(columns[first])
                continue
            rows, counts = each.rows, np.bincount(each.trees, minlength=len(self._roots))
            begins = (counts.cumsum() - counts)[trees]
            counts = counts[trees]
            if shared.reach is not None:
                rows, begins, counts = shared.appended(rows, begins, counts, roots)
            flat.append(rows)
            start.append(begins)
            count.append(counts)
        options = Options(roots, flat, start, count, search.same_as)
        search.note_ways(options)
        return options
