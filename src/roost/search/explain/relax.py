"""Which single rule, taken out or lowered, would let a request fit."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from roost.query import CandidateQuery
from roost.reasons import Relaxation, Rule, RuleKind
from roost.search.budget import Budget, GaveUp
from roost.search.explain.rules import decompose, with_amount, without
from roost.search.find import has_candidate
from roost.search.index.columns import CAPACITY_MAX
from roost.search.index.index import Index

# How many searches are made at most. Each costs as much as a search that finds nothing.
SEARCHES_MAX = 96
# Up to this many amounts are tried one by one from the largest; more are searched by bisection.
AMOUNTS_FEW = 16


class OutOfSearches(Exception):
    """An explanation has made all searches that it may make."""


class Relaxer:
    """Tries a query without one of its rules at a time, on the whole cloud or on one tree."""

    def __init__(
        self,
        index: Index,
        query: CandidateQuery,
        root: int | None,
        budget: Budget,
    ) -> None:
        self._index = index
        self._query = query
        self._root = root
        self._budget = budget
        self.searches = 0
        self.complete = True

    def relaxations(self) -> tuple[Relaxation, ...]:
        """Every one that gives a candidate, the smallest first."""
        found = []
        try:
            for rule in decompose(self._query):
                relaxed = self._relaxed(rule)
                if relaxed is not None:
                    found.append(relaxed)
        except (OutOfSearches, GaveUp):
            self.complete = False
        return tuple(sorted(found, key=lambda each: each.cost))

    def _relaxed(self, rule: Rule) -> Relaxation | None:
        if rule.kind == RuleKind.CAPACITY:
            # No rule of the request can be relaxed; the cloud would have to have more.
            return None
        if rule.kind == RuleKind.RESOURCES:
            return self._relaxed_resources(rule)
        return Relaxation(rule=rule) if self._fits(without(self._query, [rule])) else None

    def _relaxed_resources(self, rule: Rule) -> Relaxation | None:
        group = next(each for each in self._query.groups if each.suffix == rule.group)
        alone = len(group.resources) == 1
        # An unsuffixed group must ask for at least one class.
        fits_without = (group.one_provider or not alone) and self._fits(
            without(self._query, [rule])
        )
        # What does not fit without the class does not fit with less of it, unless the provider is
        # needed otherwise: for a trait that one of several must have, or as ancestor of the others.
        needed = bool(group.traits.required)
        if group.one_provider:
            needed = bool(group.can_split and self._query.same_subtree)
        if not fits_without and not needed and (group.one_provider or not alone):
            return None
        amount = self._lowered(rule)
        if amount is not None:
            return Relaxation(rule=rule, amount=amount)
        # A group that asks for one class alone would be empty.
        return Relaxation(rule=rule) if fits_without and not alone else None

    def _fits(self, query: CandidateQuery) -> bool:
        if self.searches >= SEARCHES_MAX or not self._budget.is_left:
            raise OutOfSearches
        self.searches += 1
        found = has_candidate(self._index, query, root=self._root, budget=self._budget)
        if found is None and self._budget.gave_up:
            # Not "no": a rule would be taken out where a smaller amount might do.
            raise OutOfSearches
        self.complete &= found is not None
        return bool(found)

    # -- amounts -------------------------------------------------------------------------------

    def _lowered(self, rule: Rule) -> int | None:
        """The largest smaller amount with which the query fits."""
        amounts = self._amounts(rule)

        def fits(amount: int) -> bool:
            return self._fits(with_amount(self._query, rule, amount))

        if len(amounts) > AMOUNTS_FEW:
            return _largest_by_bisection(amounts, fits)
        return next((amount for amount in reversed(amounts) if fits(amount)), None)

    def _amounts(self, rule: Rule) -> Sequence[int]:
        """The largest amounts that providers can serve, beside what other groups may take."""
        assert rule.amount is not None
        if any(rule.names[0] in group.can_split for group in self._query.groups):
            # Pieces can add up to any amount.
            return range(1, rule.amount)
        column = self._index.columns.get(self._index.classes.ids[rule.names[0]])
        if column is None:
            return []
        span = slice(0, column.count)
        if self._root is not None and not len(self._index.sharing_rows()):
            span = column.span(self._root, int(self._index.rows.last[self._root]) + 1)
        room = np.minimum(column.capacity[span] - column.used[span], column.max_unit[span])
        step, least = column.step_size[span], column.min_unit[span]
        found: set[int] = set()
        for taken in self._taken_beside(rule):
            if taken > CAPACITY_MAX:
                continue
            self._budget.examine_rows(len(room))
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


def _largest_by_bisection(amounts: Sequence[int], fits: Callable[[int], bool]) -> int | None:
    """The largest amount that fits, assuming that less fits wherever more does.

    Units can break that assumption. Then the amount found fits, but a larger one might too.
    """
    low, high, found = 0, len(amounts) - 1, None
    while low <= high:
        middle = (low + high) // 2
        if fits(amounts[middle]):
            found, low = amounts[middle], middle + 1
        else:
            high = middle - 1
    return found
