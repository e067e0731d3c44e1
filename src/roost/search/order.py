"""The order of trees that a client asks for, as a number for each tree: its rank.

Trees of the same rank are ordered by the UUID of their root.
"""

from collections.abc import Iterable
from typing import assert_never
from zlib import crc32

import numpy as np
import numpy.typing as npt

from roost.query import Order, OrderBy
from roost.search.budget import Budget
from roost.search.index.columns import Integers
from roost.search.index.index import Index
from roost.search.match import Slot

# How many trees are sorted at once; more are sorted in parts, which takes longer.
SORTED_AT_ONCE = 8192
# How many are looked at without asking the budget in between, and how many are a step of it.
TREES_AT_ONCE = 1024
TREES_PER_STEP = 16

Ranks = npt.NDArray[np.float64]


def in_order(index: Index, roots: Integers, ranks: Ranks, budget: Budget | None = None) -> Integers:
    """The positions in `roots`, sorted by rank and then by UUID."""
    budget = Budget() if budget is None else budget
    budget.pass_over_rows(len(roots))
    positions: Integers = np.argsort(ranks, kind="stable")
    # Where each rank begins, and the end.
    begins = np.flatnonzero(np.diff(ranks[positions], prepend=np.nan, append=np.nan))
    ties = np.flatnonzero(np.diff(begins) > 1)
    for first, end in zip(begins[ties].tolist(), begins[ties + 1].tolist(), strict=True):
        tied = positions[first:end]
        positions[first:end] = tied[_by_uuid(index, roots[tied], budget)]
    return positions


def _by_uuid(index: Index, rows: Integers, budget: Budget) -> Integers:
    """The places of the rows in the order of their UUIDs."""
    uuids = index.uuids
    if len(rows) <= SORTED_AT_ONCE:
        budget.step(1 + len(rows) // TREES_PER_STEP)
        keys = [uuids[row] for row in rows.tolist()]
        return np.array(sorted(range(len(keys)), key=keys.__getitem__))
    # In parts: a hundred thousand have some hundreds of beginnings of this length.
    parts: dict[str, list[int]] = {}
    for first in range(0, len(rows), TREES_AT_ONCE):
        budget.step(TREES_AT_ONCE // TREES_PER_STEP)
        for place, row in enumerate(rows[first : first + TREES_AT_ONCE].tolist(), first):
            parts.setdefault(uuids[row][:2], []).append(place)
    sorted_parts = []
    for beginning in sorted(parts):
        places = np.array(parts[beginning])
        budget.step(1 + len(places) // TREES_PER_STEP)
        keys = [uuids[row] for row in rows[places].tolist()]
        sorted_parts.append(places[sorted(range(len(keys)), key=keys.__getitem__)])
    return np.concatenate(sorted_parts)


def ranks_of(
    index: Index,
    order: Order,
    slots: Iterable[Slot],
    roots: Integers,
    budget: Budget | None = None,
) -> Ranks:
    """The rank of each tree, in the order that the client asks for."""
    budget = Budget() if budget is None else budget
    match order.by:
        case OrderBy.PACK:
            return _free_fractions(index, slots, budget)[roots]
        case OrderBy.SPREAD:
            return -_free_fractions(index, slots, budget)[roots]
        case OrderBy.RANDOM:
            return _pseudorandom(order.seed, _checksums(index, roots, budget))
        case OrderBy.ROOT:
            return np.zeros(len(roots))
    assert_never(order.by)


def _free_fractions(index: Index, slots: Iterable[Slot], budget: Budget) -> Ranks:
    """For each root the fraction of its tree that is free, of the class with the smallest.

    Only classes that the request asks for count, and only inventories of the tree itself.
    """
    rows = index.rows
    fractions: Ranks = np.full(rows.count, np.inf)
    for class_id in {class_id for slot in slots for class_id in slot.demands}:
        column = index.columns.get(class_id)
        if column is None:
            continue
        budget.pass_over_rows(rows.count)
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


def _checksums(index: Index, roots: Integers, budget: Budget) -> npt.NDArray[np.uint64]:
    """Of the UUID of each root."""
    numbers = np.empty(len(roots), dtype=np.uint64)
    for first in range(0, len(roots), TREES_AT_ONCE):
        some = roots[first : first + TREES_AT_ONCE].tolist()
        budget.step(1 + len(some) // TREES_PER_STEP)
        numbers[first : first + len(some)] = [crc32(index.uuids[root].encode()) for root in some]
    return numbers


def _pseudorandom(seed: int, checksums: npt.NDArray[np.uint64]) -> Ranks:
    """Numbers that are the same in every process: splitmix64 of a checksum of the UUID."""
    numbers = checksums + np.uint64(0)
    numbers += np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    # A floating-point number holds 48 bits exactly.
    return (numbers >> np.uint64(16)).astype(np.float64)
