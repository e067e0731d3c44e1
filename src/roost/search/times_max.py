"""An upper bound of how often a request fits, from sums over columns and without a search.

It proves that so many do not fit where a search for them would have to try every combination.
"""

from collections.abc import Sequence

import numpy as np

from roost.query import CandidateQuery
from roost.search.budget import Budget
from roost.search.index.columns import CAPACITY_MAX, Integers
from roost.search.index.index import Index
from roost.search.match import RootTest
from roost.search.split.slots import SplitSlot, slots_of


def times_max(index: Index, query: CandidateQuery, budget: Budget) -> int | None:
    """The smallest of the bounds; None: the request takes nothing. Raises `GaveUp`."""
    accepted = np.zeros(index.rows.count, dtype=np.bool_)
    accepted[RootTest(index, query, budget).accepted(index.root_rows())] = True
    slots = [slot for slot in slots_of(index, query, budget) if slot.slot.demands]
    if not slots:
        return None
    rows = []
    for slot in slots:
        budget.examine_rows(index.rows.count)
        rows.append(slot.able_rows[accepted[index.rows.root[slot.able_rows]]])
    shared = [slot.slot.shared(index, index.sharing_rows()) for slot in slots]
    bounds = [
        _times_of_slot(index, slot, np.union1d(*some))
        for slot, *some in zip(slots, rows, shared, strict=True)
        if not slot.may_split
    ]
    if not any(map(len, shared)):
        bounds.append(_times_of_trees(index, slots, rows, budget))
    return min(bounds, default=None)


def _times_of_slot(index: Index, slot: SplitSlot, rows: Integers) -> int:
    """How often one slot fits, as if the others took nothing."""
    least = np.full(len(rows), CAPACITY_MAX)
    for class_id, amount in slot.slot.demands.items():
        least = np.minimum(least, _free(index, class_id, rows) // amount)
    return sum(least.tolist())


def _times_of_trees(
    index: Index, slots: Sequence[SplitSlot], rows: Sequence[Integers], budget: Budget
) -> int:
    """How often each tree has as much of each class as all slots ask for, added up."""
    least = np.full(index.rows.count, CAPACITY_MAX)
    for class_id in {class_id for slot in slots for class_id in slot.slot.demands}:
        budget.examine_rows(index.rows.count)
        asked, serving = 0, [np.empty(0, dtype=np.int64)]
        for slot, some in zip(slots, rows, strict=True):
            if class_id in slot.slot.demands:
                asked += slot.slot.demands[class_id]
                serving.append(some)
        able = np.unique(np.concatenate(serving))
        roots, free = index.rows.root[able], _free(index, class_id, able)
        total = np.zeros(index.rows.count, dtype=np.int64)
        np.add.at(total, roots, free)
        # Sums that are too large for their type bound nothing.
        exact = np.bincount(roots, weights=free, minlength=len(total)) < CAPACITY_MAX
        least[exact] = np.minimum(least[exact], total[exact] // min(asked, CAPACITY_MAX))
    return sum(least[index.root_rows()].tolist())


def _free(index: Index, class_id: int, rows: Integers) -> Integers:
    """For providers that have an inventory of the class."""
    if not len(rows):
        return np.zeros(0, dtype=np.int64)
    column = index.columns[class_id]
    positions = np.searchsorted(column.row[: column.count], rows)
    free: Integers = np.maximum(column.capacity[positions] - column.used[positions], 0)
    return free
