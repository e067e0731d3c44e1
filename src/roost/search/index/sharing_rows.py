"""Which rows share what they have with other trees, and through which aggregates."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from roost.search.index.columns import Integers
from roost.search.index.copy_on_write import CopyOnWrite


class SharingRows(CopyOnWrite):
    """The rows of the providers that share, by aggregate."""

    def __init__(self) -> None:
        super().__init__()
        self.by_aggregate: dict[str, frozenset[int]] = {}
        self.cache = SharingCache()

    def add(self, rows_by_aggregate: Mapping[str, Iterable[int]]) -> None:
        by_aggregate = self.own("by_aggregate")
        for aggregate, rows in rows_by_aggregate.items():
            by_aggregate[aggregate] = by_aggregate.get(aggregate, frozenset()).union(rows)
        self.cache = SharingCache()

    def remove(self, row: int, aggregates: Iterable[str]) -> None:
        by_aggregate = self.own("by_aggregate")
        for aggregate in aggregates:
            by_aggregate[aggregate] -= {row}
        self.cache = SharingCache()

    def all(self) -> Integers:
        """The rows of every provider that shares, in order."""
        rows = self.cache.rows
        if rows is None:
            numbers = sorted(frozenset().union(*self.by_aggregate.values()))
            rows = self.cache.rows = np.array(numbers, dtype=np.int64)
        return rows


class SharingCache:
    """What searches derive from the sharing rows.

    Snapshots share it as long as the same rows share. Several threads may compute the same at the
    same time; then the last one stays.
    """

    def __init__(self) -> None:
        self.rows: Integers | None = None  # None: not computed yet
        self.by_aggregates: object = None  # of `search/sharing.py`
        # Sharing rows as bytes -> for each set of aggregates the first of them that shares with it.
        self.firsts: dict[bytes, Integers] = {}
        # Class ids -> the rows that have inventories of all of them, and where in each column.
        self.holders: dict[tuple[int, ...], tuple[Integers, Sequence[Integers]]] = {}
