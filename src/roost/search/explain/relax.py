"""Which single rule, taken out or lowered, would let a request fit."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from roost.query import CandidateQuery
from roost.reasons import Relaxation, Rule, RuleKind
from roost.search.combine import Work
from roost.search.explain.rules import rules_of, with_amount, without
from roost.search.index.columns import CAPACITY_MAX
from roost.search.index.index import Index
from roost.search.what_if import has_candidate

# At most so many searches, as long as there is time for them; each costs what a search that finds
# nothing costs.
SEARCHES_MAX = 96
# So few amounts are all tried from the top; among more the largest is looked for by halving.
AMOUNTS_FEW = 16


class OutOfSearches(Exception):
    """All searches that an explanation may make have been made."""


class Relaxer:
    """Tries a query with one rule less at a time, on the whole cloud or one tree."""

    def __init__(
        self,
        index: Index,
        query: CandidateQuery,
        root: int | None,
        work: Work,
        may_go_on: Callable[[], bool],
    ) -> None:
        self._index = index
        self._query = query
        self._root = root
        self._work = work
        self._may_go_on = may_go_on
        self.searches = 0
        self.complete = True

    def relaxations(self) -> tuple[Relaxation, ...]:
        """Every one that gives a candidate, the smallest first."""
        found = []
        try:
            for rule in rules_of(self._query):
                relaxed = self._relaxed(rule)
                if relaxed is not None:
                    found.append(relaxed)
        except OutOfSearches:
            self.complete = False
        return tuple(sorted(found, key=lambda each: each.cost))

    def _relaxed(self, rule: Rule) -> Relaxation | None:
        if rule.kind == RuleKind.CAPACITY:
            # To have more is for the cloud, not for the request.
            return None
        if rule.kind == RuleKind.RESOURCES:
            return self._relaxed_resources(rule)
        return Relaxation(rule=rule) if self._fits(without(self._query, [rule])) else None

    def _relaxed_resources(self, rule: Rule) -> Relaxation | None:
        group = next(each for each in self._query.groups if each.suffix == rule.group)
        alone = len(group.resources) == 1
        # A group that can be served by several providers is none without a class.
        goes_without = (group.one_provider or not alone) and self._fits(
            without(self._query, [rule])
        )
        # What does not fit without the class does not fit with less of it, unless who gives it is
        # needed otherwise: for a trait that one of several must have, or to stand above the others.
        needed = bool(group.traits.required)
        if group.one_provider:
            needed = bool(group.can_split and self._query.same_subtree)
        if not goes_without and not needed and (group.one_provider or not alone):
            return None
        amount = self._lowered(rule)
        if amount is not None:
            return Relaxation(rule=rule, amount=amount)
        # Of a group that asks for one class alone nothing would be left.
        return Relaxation(rule=rule) if goes_without and not alone else None

    def _fits(self, query: CandidateQuery) -> bool:
        if self.searches >= SEARCHES_MAX or not self._may_go_on():
            raise OutOfSearches
        self.searches += 1
        found = has_candidate(self._index, query, self._root, self._work)
        self.complete &= found is not None
        return bool(found)

    # -- amounts -------------------------------------------------------------------------------

    def _lowered(self, rule: Rule) -> int | None:
        """The largest smaller amount with which the query fits."""
        amounts = self._amounts(rule)

        def fits(amount: int) -> bool:
            return self._fits(with_amount(self._query, rule, amount))

        if len(amounts) > AMOUNTS_FEW:
            return _largest_by_halving(amounts, fits)
        return next((amount for amount in reversed(amounts) if fits(amount)), None)

    def _amounts(self, rule: Rule) -> Sequence[int]:
        """The amounts that some provider gives at most, beside what other groups may take."""
        assert rule.amount is not None
        if any(rule.names[0] in group.can_split for group in self._query.groups):
            # Pieces can add up to anything, and leave anything.
            return range(1, rule.amount)
        column = self._index.columns.get(self._index.classes.ids[rule.names[0]])
        if column is None:
            return []
        part = slice(0, column.count)
        if self._root is not None and not len(self._index.sharing_rows()):
            part = column.span(self._root, int(self._index.rows.last[self._root]) + 1)
        room = np.minimum(column.capacity[part] - column.used[part], column.max_unit[part])
        step, least = column.step_size[part], column.min_unit[part]
        found: set[int] = set()
        for taken in self._taken_beside(rule):
            if taken > CAPACITY_MAX:
                continue
            free = np.minimum(room - taken, rule.amount - 1)
            amounts = free - free % step
            found.update(np.unique(amounts[(amounts > 0) & (amounts >= least)]).tolist())
        return sorted(found)

    def _taken_beside(self, rule: Rule) -> set[int]:
        """What other groups may take of the same class from the same provider."""
        others = [
            group.resources[rule.names[0]]
            for group in self._query.groups
            if group.suffix != rule.group and rule.names[0] in group.resources
        ]
        if len(others) > 8:
            return {0, sum(others)}
        return {
            sum(some) for count in range(len(others) + 1) for some in combinations(others, count)
        }


def _largest_by_halving(amounts: Sequence[int], fits: Callable[[int], bool]) -> int | None:
    """The largest amount that fits, where less fits wherever more does.

    Units can make that untrue; what is found fits nevertheless, though more might.
    """
    low, high, found = 0, len(amounts) - 1, None
    while low <= high:
        middle = (low + high) // 2
        if fits(amounts[middle]):
            found, low = amounts[middle], middle + 1
        else:
            high = middle - 1
    return found
