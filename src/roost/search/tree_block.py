"""The options of some trees, in any order: what `tree_options.py` does for a range of rows."""

import numpy as np

from roost.search.index.columns import Integers, Mask, ragged_range
from roost.search.match import EMPTY
from roost.search.options import Options
from roost.search.tree_options import TreeOptions


class TreeBlock:
    """Some trees, and the rows of each."""

    def __init__(self, search: TreeOptions, roots: Integers) -> None:
        self._search = search
        self._index = search.index
        self._roots = search.root_test.accepted(roots)
        self._accepted: Integers | None = None  # which these are; None: all
        if self._roots is not roots:
            self._accepted = np.flatnonzero(np.isin(roots, self._roots))
        # Which of the trees can fill every slot, once their options are known.
        self.able = EMPTY
        sizes = self._index.rows.last[self._roots] - self._roots + 1
        self._rows = ragged_range(self._roots, sizes)
        self._tree = np.repeat(np.arange(len(self._roots)), sizes)  # for each row, its number
        search.budget.examine_rows(len(self._rows))

    def options(self) -> Options | None:
        """The options of those of the trees that can fill every slot on its own, in their order."""
        search, count = self._search, len(self._roots)
        if not count:
            return None
        able = np.ones(count, dtype=np.bool_)
        found: list[Integers] = []  # for each slot: positions in `_rows`
        for number, (slot, shared) in enumerate(zip(search.slots, search.shared, strict=True)):
            if search.same_as[number] < number:
                found.append(found[search.same_as[number]])
                continue
            search.budget.pass_over_rows(len(self._rows) * len(slot.demands))
            places = slot.fits(self._index, self._rows).nonzero()[0]
            if slot.group.anywhere:
                # The first provider of each tree stands for all, as in `Slot.tried`.
                places = places[np.flatnonzero(np.diff(self._tree[places], prepend=-1))]
            found.append(places)
            able &= self._serves(places, shared.reach)
            if not able.any():
                return None
        able &= self._has_traits(found)
        trees = able.nonzero()[0]
        self.able = trees if self._accepted is None else self._accepted[trees]
        return self._options(trees, found) if len(trees) else None

    def _serves(self, places: Integers, reach: Mask | None) -> Mask:
        """Which trees have one of these rows, or a sharing provider that reaches them."""
        serves = np.zeros(len(self._roots), dtype=np.bool_)
        serves[self._tree[places]] = True
        if reach is not None:
            serves |= reach[self._index.rows.tree_aggregates[self._roots]]
        return serves

    def _has_traits(self, found: list[Integers]) -> Mask:
        """Which trees have a provider for the unsuffixed group with each trait it must have."""
        search, traits = self._search, self._index.rows.traits
        able = np.ones(len(self._roots), dtype=np.bool_)
        for constraint in search.constraints.traits_among_providers:
            holders = constraint.holders
            has_it = np.zeros(len(self._roots), dtype=np.bool_)
            for slot, shared, places in zip(search.slots, search.shared, found, strict=True):
                if not slot.group.one_provider:
                    holding = places[holders[traits[self._rows[places]]]]
                    has_it |= self._serves(holding, shared.reach_with(holders))
            able &= has_it
        return able

    def _options(self, trees: Integers, found: list[Integers]) -> Options:
        search, roots = self._search, self._roots[trees]
        flat: list[Integers] = []
        start: list[Integers] = []
        count: list[Integers] = []
        for number, (places, shared) in enumerate(zip(found, search.shared, strict=True)):
            first = search.same_as[number]
            if first < number:
                for each in (flat, start, count):
                    each.append(each[first])
                continue
            rows = self._rows[places]
            counts = np.bincount(self._tree[places], minlength=len(self._roots))
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
