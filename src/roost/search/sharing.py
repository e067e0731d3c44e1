"""Sharing providers: which of them serve which tree."""

from collections.abc import Iterable

import numpy as np

from roost.search.index.columns import Integers, Mask, ragged_range
from roost.search.index.index import Index
from roost.search.match import EMPTY, Slot

# How many sets of sharing providers have their reach cached.
FIRSTS_CACHED = 64


class SharingByAggregates:
    """For each set of aggregates: the rows that share through one of them, by provider id.

    Rows move as trees change and ids do not, so ordering by id gives all processes the same order.
    The index caches this as long as the same providers share. Where sets were added since, a longer
    one takes its place.
    """

    def __init__(self, rows: Integers, start: Integers, count: Integers) -> None:
        self.rows = rows
        self.start = start
        self.count = count

    @classmethod
    def of(cls, index: Index) -> "SharingByAggregates":
        cache = index.sharing.cache
        cached = cache.by_aggregates
        if not isinstance(cached, SharingByAggregates):
            cached = cls(EMPTY, EMPTY, EMPTY)
        if len(cached.count) < index.aggregate_sets.count:
            cached = cache.by_aggregates = cached._with_new_sets(index)
        return cached

    def _with_new_sets(self, index: Index) -> "SharingByAggregates":
        sets, sharing = index.aggregate_sets, index.sharing.by_aggregate
        lists = [
            _by_id(index, set().union(*(sharing.get(name, ()) for name in names)))
            for names in sets.members[len(self.count) : sets.count]
        ]
        counts = np.array([len(rows) for rows in lists], dtype=np.int64)
        added = np.array([row for rows in lists for row in rows], dtype=np.int64)
        return SharingByAggregates(
            rows=np.concatenate([self.rows, added]),
            start=np.concatenate([self.start, len(self.rows) + np.cumsum(counts) - counts]),
            count=np.concatenate([self.count, counts]),
        )


def _by_id(index: Index, rows: Iterable[int]) -> list[int]:
    return sorted(rows, key=lambda row: index.ids[row])


def sharing_with(index: Index, root: int) -> list[int]:
    """The rows that share with a tree and are not part of it, by provider id."""
    aggregates = index.aggregate_sets.members[int(index.rows.tree_aggregates[root])]
    sharing = {row for name in aggregates for row in index.sharing.by_aggregate.get(name, ())}
    return _by_id(index, sharing.difference(index.tree_rows(root)))


def _firsts(index: Index, rows: Integers) -> Integers:
    """For each set of aggregates the first of these rows that shares through one of them, or -1.

    The same few sharing providers have room again and again, so the index caches this as long as
    the same ones share.
    """
    cached, key = index.sharing.cache.firsts, rows.tobytes()
    firsts = cached.get(key, EMPTY)
    if len(firsts) < index.aggregate_sets.count:
        by_aggregates = SharingByAggregates.of(index)
        places = np.flatnonzero(np.isin(by_aggregates.rows, rows))
        sets = np.arange(len(by_aggregates.count)).repeat(by_aggregates.count)[places]
        firsts = np.full(len(by_aggregates.count), -1)
        # The first place of each set, as the sets ascend.
        sets, numbers = np.unique(sets, return_index=True)
        firsts[sets] = by_aggregates.rows[places[numbers]]
        if len(cached) >= FIRSTS_CACHED:
            cached.clear()
        cached[key] = firsts
    # A snapshot that is newer than this one may have added sets.
    return firsts[: index.aggregate_sets.count]


class SharingOptions:
    """The sharing providers that can fill a slot for trees other than their own."""

    def __init__(self, index: Index, slot: Slot, sharing: Integers) -> None:
        self._index = index
        self._sharing = sharing
        self._rows = slot.shared(index, sharing) if len(sharing) else sharing
        # For each set of aggregates: the first one, by id, that shares with a tree that has it; and
        # whether there is one. None where no provider can fill the slot.
        self.firsts = _firsts(index, self._rows) if len(self._rows) else EMPTY
        self.reach: Mask | None = self.firsts >= 0 if len(self._rows) else None

    def reach_with(self, trait_sets: Mask) -> Mask | None:
        """Like `reach`, for the providers whose traits are among these sets."""
        rows = self._rows[trait_sets[self._index.rows.traits[self._rows]]]
        return _firsts(self._index, rows) >= 0 if len(rows) else None

    def appended(
        self, local: Integers, start: Integers, count: Integers, roots: Integers
    ) -> tuple[Integers, Integers, Integers]:
        """The ragged lists of each tree's own options, each followed by the shared ones."""
        rows = self._index.rows
        by_aggregates = SharingByAggregates.of(self._index)
        sets = rows.tree_aggregates[roots]
        sharing_count = by_aggregates.count[sets]
        shared = by_aggregates.rows[ragged_range(by_aggregates.start[sets], sharing_count)]
        trees = np.repeat(np.arange(len(roots)), sharing_count)
        # A sharing provider need not have what the slot asks for, and one that is part of the
        # tree is among its own options already.
        wanted = (shared < roots[trees]) | (shared > rows.last[roots][trees])
        if len(self._rows) < len(self._sharing):
            # They are in order, which is quicker than `numpy.isin` for any rows.
            places = np.minimum(self._rows.searchsorted(shared), len(self._rows) - 1)
            wanted &= self._rows[places] == shared
        shared = shared[wanted]
        shared_count = np.bincount(trees[wanted], minlength=len(roots))
        counts = count + shared_count
        begins = np.cumsum(counts) - counts
        flat = np.empty(int(counts.sum()), dtype=np.int64)
        flat[ragged_range(begins, count)] = local[ragged_range(start, count)]
        flat[ragged_range(begins + count, shared_count)] = shared
        return flat, begins, counts
