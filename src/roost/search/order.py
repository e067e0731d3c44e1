"""The order of trees that a client asks for, as a number for each tree: its rank.

Trees of the same rank are ordered by the UUID of their root.
"""

from collections.abc import Iterable
from typing import assert_never
from zlib import crc32

import numpy as np
import numpy.typing as npt

from roost.query import Order, OrderBy
from roost.search.index.columns import Integers
from roost.search.index.index import Index
from roost.search.match import Slot

Ranks = npt.NDArray[np.float64]


def in_order(index: Index, roots: Integers, ranks: Ranks) -> Integers:
    """The positions in `roots`, sorted by rank and then by UUID."""
    positions: Integers = np.argsort(ranks, kind="stable")
    # Where each rank begins, and the end.
    begins = np.flatnonzero(np.diff(ranks[positions], prepend=np.nan, append=np.nan))
    ties = np.flatnonzero(np.diff(begins) > 1)
    rows = roots.tolist() if len(ties) else []
    for first, end in zip(begins[ties].tolist(), begins[ties + 1].tolist(), strict=True):
        tied = positions[first:end].tolist()
        positions[first:end] = sorted(tied, key=lambda position: index.uuids[rows[position]])
    return positions


def ranks_of(index: Index, order: Order, slots: Iterable[Slot], roots: Integers) -> Ranks:
    """The rank of each tree, in the order that the client asks for."""
    match order.by:
        case OrderBy.PACK:
            return _free_fractions(index, slots)[roots]
        case OrderBy.SPREAD:
            return -_free_fractions(index, slots)[roots]
        case OrderBy.RANDOM:
            return _pseudorandom(order.seed, [index.uuids[root] for root in roots.tolist()])
        case OrderBy.ROOT:
            return np.zeros(len(roots))
    assert_never(order.by)


def _free_fractions(index: Index, slots: Iterable[Slot]) -> Ranks:
    """For each root the fraction of its tree that is free, of the class with the smallest.

    Only classes that the request asks for count, and only inventories of the tree itself.
    """
    rows = index.rows
    fractions: Ranks = np.full(rows.count, np.inf)
    for class_id in {class_id for slot in slots for class_id in slot.demands}:
        column = index.columns.get(class_id)
        if column is None:
            continue
        filled = slice(0, column.count)
        roots = rows.root[column.row[filled]]
        capacity = np.maximum(column.capacity[filled], 0)
        free = np.maximum(capacity - column.used[filled], 0)
        capacity_total = np.bincount(roots, weights=capacity, minlength=rows.count)
        free_total = np.bincount(roots, weights=free, minlength=rows.count)
        has = capacity_total > 0
        fractions[has] = np.minimum(fractions[has], free_total[has] / capacity_total[has])
    fractions[np.isinf(fractions)] = 0.0
    return fractions


def _pseudorandom(seed: int, uuids: Iterable[str]) -> Ranks:
    """Numbers that are the same in every process: splitmix64 of a checksum of the UUID."""
    numbers = np.array([crc32(uuid.encode()) for uuid in uuids], dtype=np.uint64)
    numbers += np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    # A floating-point number holds 48 bits exactly.
    return (numbers >> np.uint64(16)).astype(np.float64)
