"""How many more of a request fit: it is claimed again and again on a what-if copy of the index.

A way that is found is claimed as often as it fits, then the next, until no way is found. Clients
could make all of these claims one after the other, and when the simulation is complete nothing fits
beside them. Another order might fit a few more where requests compete for several things at once.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
from msgspec.structs import replace as evolve

from roost.model import Value
from roost.query import CandidateQuery
from roost.search.budget import Budget, GaveUp
from roost.search.find import Search
from roost.search.index.index import Index
from roost.search.split.answer import amounts_of
from roost.search.split.search import SplitSearch
from roost.search.what_if import what_if_copy

# How many ways are tried before the simulation stops early.
STEPS_MAX = 200_000
# Ways of one round: every tree has its turn before one has its second.
WAYS_PER_ROUND = 20_000
# The same where amounts may be split: those ways are found one by one.
SPLIT_WAYS_PER_ROUND = 512

# How many ways are claimed, of those that were found, when the budget is used up before any was.
WAYS_AT_LAST = 64
# How many rows of a column are read at once.
ROWS_AT_ONCE = 8192

# What one request takes: (row, class id) -> amount.
Amounts = Mapping[tuple[int, int], int]
# Ways that were found, from the first one each time.
EachWay = Callable[[], Iterator[Amounts]]


class SimulatedClaims(Value, frozen=True, kw_only=True):
    """What fits beside what is used already."""

    count: int
    by_root: Mapping[int, int]  # root row -> how many claims take something from its tree
    claimed: Sequence[tuple[Amounts, int]]  # what was claimed, and how often, in order
    complete: bool  # whether nothing fits beside it


def simulate_claims(
    index: Index,
    query: CandidateQuery,
    *,
    steps_max: int = STEPS_MAX,
    budget: Budget | None = None,
) -> SimulatedClaims:
    """Claim the request as often as it fits, or as often as its limit says."""
    index = what_if_copy(index, query)
    budget = Budget() if budget is None else budget
    simulation = _Simulation(index, query, budget, steps_max)
    query = evolve(query, limit=None)
    find_ways = _find_split_ways if query.may_split else _find_ways
    complete = None
    each_way: EachWay | None = None
    try:
        while complete is None:
            if not budget.is_left:
                raise GaveUp
            each_way, are_all = find_ways(index, query, budget)
            complete = simulation.claim(each_way())
            if complete and not are_all:
                # The search may have missed ways, so that it found none proves nothing.
                complete = False
    except GaveUp:
        complete = False
        if each_way is not None and not simulation.count:
            # That nothing is known to fit would be wrong.
            simulation.claim_at_last(islice(each_way(), WAYS_AT_LAST))
    return SimulatedClaims(
        count=simulation.count,
        by_root=simulation.by_root,
        claimed=simulation.claimed,
        complete=complete,
    )


def _find_ways(index: Index, query: CandidateQuery, budget: Budget) -> tuple[EachWay, bool]:
    """Ways of one round, and whether finding none proves that there are none."""
    search = Search(index, query, limit=WAYS_PER_ROUND, budget=budget)
    answer = search.answer(search.ways_in_turns())
    return lambda: map(answer.amounts, answer.ways.tolist()), not answer.gave_up


def _find_split_ways(index: Index, query: CandidateQuery, budget: Budget) -> tuple[EachWay, bool]:
    search = SplitSearch(index, query, budget=budget)
    found = search.find(SPLIT_WAYS_PER_ROUND)
    return lambda: map(amounts_of, found.split_ways), not found.gave_up


class _Simulation:
    """What has been claimed so far."""

    def __init__(
        self,
        index: Index,
        query: CandidateQuery,
        budget: Budget,
        steps_max: int,
    ) -> None:
        self._index = index
        self._limit = query.limit
        self._budget = budget
        self._steps_left = steps_max
        self._free_by_row: dict[int, dict[int, int]] = {}  # by class id
        self.count = 0
        self.by_root: Counter[int] = Counter()
        self.claimed: list[tuple[Amounts, int]] = []

    def claim(self, ways: Iterable[Amounts]) -> bool | None:
        """Claim each way as often as it fits. Raises `GaveUp` between two of them.

        True: none of them fits. False: it is time to stop. None: go on with another round.
        """
        before = self.count
        changed: dict[int, set[int]] = {}
        for amounts in ways:
            self._budget.step()
            self._steps_left -= 1
            if self._steps_left < 0 or self.count == self._limit:
                return False
            times = min(
                self._free(class_id)[row] // amount for (row, class_id), amount in amounts.items()
            )
            if self._limit is not None:
                times = min(times, self._limit - self.count)
            if times > 0:
                for (row, class_id), amount in amounts.items():
                    self._free_by_row[class_id][row] -= amount * times
                    changed.setdefault(class_id, set()).add(row)
                self._record(amounts, times)
        self._write_back(changed)
        return True if self.count == before else None

    def claim_at_last(self, ways: Iterable[Amounts]) -> None:
        """Claim a few ways although the budget is used up."""
        self._budget = Budget()
        self.claim(ways)

    def _record(self, amounts: Amounts, times: int) -> None:
        self.count += times
        self.claimed.append((amounts, times))
        roots = self._index.rows.root
        for root in {int(roots[row]) for row, _ in amounts}:
            self.by_root[root] += times

    def _free(self, class_id: int) -> dict[int, int]:
        """For each row what is free of a class: much quicker to read than a column."""
        if class_id not in self._free_by_row:
            column = self._index.columns[class_id]
            found: dict[int, int] = {}
            for first in range(0, column.count, ROWS_AT_ONCE):
                some = slice(first, min(first + ROWS_AT_ONCE, column.count))
                self._budget.step()
                free = (column.capacity[some] - column.used[some]).tolist()
                found.update(zip(column.row[some].tolist(), free, strict=True))
            self._free_by_row[class_id] = found
        return self._free_by_row[class_id]

    def _write_back(self, changed: Mapping[int, Iterable[int]]) -> None:
        """Let the next round of the search see what was claimed."""
        for class_id, some in changed.items():
            column, free = self._index.columns[class_id], self._free_by_row[class_id]
            rows = np.array(sorted(some), dtype=np.int64)
            left = np.array([free[row] for row in rows.tolist()], dtype=np.int64)
            positions = np.searchsorted(column.row[: column.count], rows)
            column.used[positions] = column.capacity[positions] - left
