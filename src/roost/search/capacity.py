"""How many more of a request fit: the cloud is filled, on a copy of what is used.

A way that is found is taken as often as it fits, then the next, until nothing is found. What was
taken can all be claimed one after the other, and when the filling is complete nothing fits beside
it. Another order might fit a few more where requests compete for several things at once.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace as evolve

from roost.model import Value
from roost.query import CandidateQuery
from roost.search.combine import Work
from roost.search.find import Search
from roost.search.index.index import Index
from roost.search.split.answer import amounts_of
from roost.search.split.find import SplitSearch
from roost.search.what_if import class_ids, copied

# At most so many ways are looked at before the filling stops early.
STEPS_MAX = 200_000
# How often it is asked whether there is time to go on.
STEPS_BETWEEN_LOOKS = 256
# Ways of one round: every tree has its turn before one has its second.
WAYS_OF_ROUND = 20_000
# The same where amounts may be split, which are looked for one by one.
SPLIT_WAYS_OF_ROUND = 512

# What one request takes: (row, class id) -> amount.
Amounts = Mapping[tuple[int, int], int]


class Filling(Value, frozen=True, kw_only=True):
    """What fits beside what is there."""

    count: int
    by_root: Mapping[int, int]  # root row -> how many take something from its tree
    taken: Sequence[tuple[Amounts, int]]  # what was taken, and how often, in order
    complete: bool  # whether it was filled until nothing fits


def fill(
    index: Index,
    query: CandidateQuery,
    *,
    may_go_on: Callable[[], bool] = lambda: True,
    steps_max: int = STEPS_MAX,
    work: Work | None = None,
) -> Filling:
    """Take the request as often as it fits, or as often as its limit says."""
    view = copied(index, query)
    filler = _Filler(view, query, may_go_on, steps_max)
    query = evolve(query, limit=None)
    find_ways = _find_split_ways if query.may_split else _find_ways
    complete = None
    while complete is None:
        ways, are_all = find_ways(view, query, may_go_on, Work() if work is None else work)
        complete = filler.take(ways)
        if not may_go_on() or (complete and not are_all):
            # Ways may be missing, so that nothing was found says nothing.
            complete = False
    return Filling(
        count=filler.count, by_root=filler.by_root, taken=filler.taken, complete=complete
    )


def _find_ways(
    view: Index, query: CandidateQuery, may_go_on: Callable[[], bool], work: Work
) -> tuple[Iterator[Amounts], bool]:
    """Ways of one round, and whether there are none where none were found."""
    search = Search(view, query, WAYS_OF_ROUND, None, work)
    turns = itertools.takewhile(lambda _: may_go_on(), search.ways_in_turns())
    answer = search.answer(turns)
    return map(answer.amounts, answer.ways.tolist()), True


def _find_split_ways(
    view: Index, query: CandidateQuery, may_go_on: Callable[[], bool], _: Work
) -> tuple[Iterator[Amounts], bool]:
    search = SplitSearch(view, query, may_go_on=may_go_on)
    found = search.find(SPLIT_WAYS_OF_ROUND)
    return map(amounts_of, found.split_ways), not search.is_cut


class _Filler:
    """What has been taken so far."""

    def __init__(
        self,
        view: Index,
        query: CandidateQuery,
        may_go_on: Callable[[], bool],
        steps_max: int,
    ) -> None:
        self._view = view
        self._class_ids = class_ids(view, query)
        self._limit = query.limit
        self._may_go_on = may_go_on
        self._steps = 0
        self._steps_max = steps_max
        self.count = 0
        self.by_root: Counter[int] = Counter()
        self.taken: list[tuple[Amounts, int]] = []

    def take(self, ways: Iterable[Amounts]) -> bool | None:
        """Take each way as often as it fits.

        True: none does, so nothing more fits. False: it is time to stop. None: go on.
        """
        before = self.count
        # One element after the other is much quicker to reach in lists than in arrays.
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
                self._note(amounts, times)
        self._write_back(free)
        return True if complete is None and self.count == before else complete

    def _is_over(self) -> bool:
        if self._steps % STEPS_BETWEEN_LOOKS == 0 and not self._may_go_on():
            return True
        self._steps += 1
        return self._steps > self._steps_max or self.count == self._limit

    def _note(self, amounts: Amounts, times: int) -> None:
        self.count += times
        self.taken.append((amounts, times))
        roots = self._view.rows.root
        for root in {int(roots[row]) for row, _ in amounts}:
            self.by_root[root] += times

    def _free(self, class_id: int) -> dict[int, int]:
        column = self._view.columns.get(class_id)
        if column is None:
            return {}
        part = slice(0, column.count)
        free = column.capacity[part] - column.used[part]
        return dict(zip(column.row[part].tolist(), free.tolist(), strict=True))

    def _write_back(self, free: Mapping[int, Mapping[int, int]]) -> None:
        for class_id, by_row in free.items():
            column = self._view.columns.get(class_id)
            if column is not None:
                left = np.fromiter(by_row.values(), dtype=np.int64, count=column.count)
                column.used[: column.count] = column.capacity[: column.count] - left
