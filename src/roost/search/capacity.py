"""How many more of a request fit: it is claimed again and again on a what-if copy of the index.

A way that is found is claimed as often as it fits, then the next, until no way is found. Clients
could make all of these claims one after the other, and when the simulation is complete nothing fits
beside them. Another order might fit a few more where requests compete for several things at once.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace as evolve

from roost.model import Value
from roost.query import CandidateQuery
from roost.search.budget import Budget
from roost.search.find import Search
from roost.search.index.index import Index
from roost.search.split.answer import amounts_of
from roost.search.split.search import SplitSearch
from roost.search.what_if import class_ids, what_if_copy

# How many ways are tried before the simulation stops early.
STEPS_MAX = 200_000
# How many ways are tried between two checks of the deadline.
STEPS_PER_CHECK = 256
# Ways of one round: every tree has its turn before one has its second.
WAYS_PER_ROUND = 20_000
# The same where amounts may be split: those ways are found one by one.
SPLIT_WAYS_PER_ROUND = 512

# What one request takes: (row, class id) -> amount.
Amounts = Mapping[tuple[int, int], int]


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
    while complete is None:
        ways, are_all = find_ways(index, query, budget)
        complete = simulation.claim(ways)
        if not budget.is_left or (complete and not are_all):
            # The search may have missed ways, so that it found none proves nothing.
            complete = False
    return SimulatedClaims(
        count=simulation.count,
        by_root=simulation.by_root,
        claimed=simulation.claimed,
        complete=complete,
    )


def _find_ways(
    index: Index, query: CandidateQuery, budget: Budget
) -> tuple[Iterator[Amounts], bool]:
    """Ways of one round, and whether finding none proves that there are none."""
    search = Search(index, query, limit=WAYS_PER_ROUND, budget=budget)
    turns = itertools.takewhile(lambda _: budget.is_left, search.ways_in_turns())
    answer = search.answer(turns)
    return map(answer.amounts, answer.ways.tolist()), True


def _find_split_ways(
    index: Index, query: CandidateQuery, budget: Budget
) -> tuple[Iterator[Amounts], bool]:
    search = SplitSearch(index, query, budget=budget)
    found = search.find(SPLIT_WAYS_PER_ROUND)
    return map(amounts_of, found.split_ways), not search.gave_up


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
        self._class_ids = class_ids(index, query)
        self._limit = query.limit
        self._budget = budget
        self._steps = 0
        self._steps_max = steps_max
        self.count = 0
        self.by_root: Counter[int] = Counter()
        self.claimed: list[tuple[Amounts, int]] = []

    def claim(self, ways: Iterable[Amounts]) -> bool | None:
        """Claim each way as often as it fits.

        True: none of them fits. False: it is time to stop. None: go on with another round.
        """
        before = self.count
        # Reading single elements is much quicker from dictionaries than from arrays.
        free = {class_id: self._free(class_id) for class_id in self._class_ids}
        complete: bool | None = None
        for amounts in ways:
            if self._is_over():
                complete = False
                break
            times = min(
                free[class_id][row] // amount for (row, class_id), amount in amounts.items()
            )
            if self._limit is not None:
                times = min(times, self._limit - self.count)
            if times > 0:
                for (row, class_id), amount in amounts.items():
                    free[class_id][row] -= amount * times
                self._record(amounts, times)
        self._write_back(free)
        return True if complete is None and self.count == before else complete

    def _is_over(self) -> bool:
        if self._steps % STEPS_PER_CHECK == 0 and not self._budget.is_left:
            return True
        self._steps += 1
        return self._steps > self._steps_max or self.count == self._limit

    def _record(self, amounts: Amounts, times: int) -> None:
        self.count += times
        self.claimed.append((amounts, times))
        roots = self._index.rows.root
        for root in {int(roots[row]) for row, _ in amounts}:
            self.by_root[root] += times

    def _free(self, class_id: int) -> dict[int, int]:
        column = self._index.columns.get(class_id)
        if column is None:
            return {}
        filled = slice(0, column.count)
        free = column.capacity[filled] - column.used[filled]
        return dict(zip(column.row[filled].tolist(), free.tolist(), strict=True))

    def _write_back(self, free: Mapping[int, Mapping[int, int]]) -> None:
        for class_id, by_row in free.items():
            column = self._index.columns.get(class_id)
            if column is not None:
                left = np.fromiter(by_row.values(), dtype=np.int64, count=column.count)
                column.used[: column.count] = column.capacity[: column.count] - left
