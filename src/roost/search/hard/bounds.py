"""Trees that cannot serve a request, seen before anything is combined, many trees at a time.

Nine groups that must differ need nine providers. Amounts that add up to more than the options have
room for cannot be packed, and neither can 21 amounts of 7 where the options hold 20 of them. These
bounds are necessary, not sufficient; `feasibility.py` decides.
"""

from collections.abc import Iterable

import numpy as np

from roost.search.budget import Budget
from roost.search.index.columns import Integers, Mask, ragged_range
from roost.search.options import Options
from roost.search.request_constraints import Bound

# How many trees are looked at together at most.
TREES_AT_ONCE = 1024


def within_bounds(
    bounds: Iterable[Bound], options: Options, trees: Integers, budget: Budget
) -> Integers:
    """Those of the trees that no bound rules out."""
    for bound in bounds:
        if not len(trees):
            break
        pieces = np.array_split(trees, -(-len(trees) // TREES_AT_ONCE))
        trees = np.concatenate([some[_meets(bound, options, some, budget)] for some in pieces])
    return trees


def _meets(bound: Bound, options: Options, trees: Integers, budget: Budget) -> Mask:
    owners, rows = _options_of_any(bound.slots, options, trees, budget)
    weights: Integers | None = None
    if bound.room is not None:
        room = np.maximum(bound.room.of_rows(rows), 0) // bound.unit
        # Sums are made in floating point, so no term may be larger than it must be.
        weights = np.minimum(room, bound.needed)
    sums = np.bincount(owners, weights=weights, minlength=len(trees))
    meets: Mask = sums >= bound.needed
    return meets


def _options_of_any(
    slots: Iterable[int], options: Options, trees: Integers, budget: Budget
) -> tuple[Integers, Integers]:
    """The rows that can fill one of the slots, each once, and the number of the tree of each."""
    # Slots of equal groups have the same options.
    distinct = {options.same_as[number]: None for number in slots}
    owners, rows = [], []
    for number in distinct:
        budget.step()
        counts = options.count[number][trees]
        budget.pass_over_rows(len(trees) + int(counts.sum()))
        owners.append(np.repeat(np.arange(len(trees)), counts))
        rows.append(options.flat[number][ragged_range(options.start[number][trees], counts)])
    if len(distinct) == 1:
        return owners[0], rows[0]
    highest = max(int(some.max(initial=0)) for some in rows) + 1
    keys = np.unique(np.concatenate(owners) * highest + np.concatenate(rows))
    return np.divmod(keys, highest)
