"""The options of some trees, in any order: what `tree_options.py` does for a range of rows."""

from typing import NamedTuple

import numpy as np

from roost.search.index.columns import Integers, Mask, ragged_range
from roost.search.match import EMPTY, Slot, fits_mask
from roost.search.tree_options import TreeOptions, TreesFound


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

    def trees(self) -> TreesFound | None:
        """Those of the trees that can fill every slot on its own, in their order; None: no tree."""
        search = self._search
        able = np.ones(len(self._roots), dtype=np.bool_)
        slots: list[_Found] = []
        trees = TreesFound(self._roots, self._ends, [], [], [])
        for number, (slot, shared) in enumerate(zip(search.slots, search.shared, strict=True)):
            first = search.same_as[number]
            if first < number:
                slots.append(slots[first])
                for each in (trees.local, trees.begins, trees.counts):
                    each.append(each[first])
                continue
            found = self._tried(slot)
            counts = np.bincount(found.trees, minlength=len(self._roots))
            able &= self._serves(counts > 0, shared.reach)
            if not np.count_nonzero(able):
                return None
            slots.append(found)
            trees.local.append(found.rows)
            trees.begins.append(counts.cumsum() - counts)
            trees.counts.append(counts)
        for constraint in search.constraints.traits_among_providers:
            able &= self._has_holder(constraint.holders, slots)
        self.able = able.nonzero()[0]
        if not len(self.able):
            return None
        trees = trees if len(self.able) == len(self._roots) else trees.those(self.able)
        if self._accepted is not None:
            self.able = self._accepted[self.able]
        return trees

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
        if len(slot.demands) == 1 and not slot.group.has_rules:
            return found
        # Few are left for the other rules, and for other classes.
        return found.those(slot.fits(self._index, found.rows, but=class_id))

    def _ranges(self, starts: Integers, ends: Integers) -> _Found:
        counts = ends - starts
        numbers = np.arange(len(counts))
        if (counts == 1).all():
            return _Found(starts, numbers)
        return _Found(ragged_range(starts, counts), np.repeat(numbers, counts))

    def _serves(self, has_own: Mask, reach: Mask | None) -> Mask:
        """Which trees have an option of their own, or are reached by a sharing provider."""
        if reach is None:
            return has_own
        return has_own | reach[self._index.rows.tree_aggregates[self._roots]]

    def _has_holder(self, holders: Mask, slots: list[_Found]) -> Mask:
        """Which trees have a provider for the unsuffixed group that has a trait it must have."""
        search, traits = self._search, self._index.rows.traits
        has_it = np.zeros(len(self._roots), dtype=np.bool_)
        for slot, shared, found in zip(search.slots, search.shared, slots, strict=True):
            if not slot.group.one_provider:
                has_it[found.trees[holders[traits[found.rows]]]] = True
                has_it |= self._serves(has_it, shared.reach_with(holders))
        return has_it
