"""Which groups must have different providers, gathered from all rules that imply it.

A client may ask for the same with one `isolate` for all groups, or with one for each pair. Only the
first shows at a glance that nine groups need nine providers. So the pairs are gathered, and covered
by as few sets as a simple rule finds in which every two groups must differ.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations, product

from roost.query import CandidateQuery
from roost.search.budget import Budget

# How many pairs are a step of the budget.
PAIRS_PER_STEP = 16


class Isolation:
    """The pairs of suffixed groups that must have different providers."""

    def __init__(self, query: CandidateQuery, budget: Budget) -> None:
        self._budget = budget
        suffixes = [group.suffix for group in query.groups if group.suffix]
        self._others: dict[str, dict[str, None]] = {suffix: {} for suffix in suffixes}
        if query.isolate:
            self._add_pairs(combinations(suffixes, 2))
        for together in query.isolated:
            self._add_pairs(combinations([each for each in suffixes if each in together], 2))
        for rule in query.elsewhere:
            # What is outside of a provider's subtree is not that provider.
            inside = [each for each in suffixes if each in rule.inside]
            self._add_pairs(product(inside, [each for each in suffixes if each in rule.outside]))
        self.pair_count = sum(map(len, self._others.values())) // 2

    def _add_pairs(self, pairs: Iterable[tuple[str, str]]) -> None:
        for number, (one, other) in enumerate(pairs):
            if number % PAIRS_PER_STEP == 0:
                self._budget.step()
            # A search for explanations leaves groups out, and keeps the rules that name them.
            if one in self._others and other in self._others:
                self._others[one][other] = self._others[other][one] = None

    def must_differ(self, one: str, other: str) -> bool:
        return other in self._others.get(one, ())

    def sets(self) -> Iterator[frozenset[str]]:
        """Sets of groups that must all differ; every pair is in one of them."""
        # For each group: those with which it is in a set already.
        covered: dict[str, set[str]] = {suffix: set() for suffix in self._others}
        for one, others in self._others.items():
            for other in others:
                if other in covered[one]:
                    continue
                self._budget.step(1 + len(others) // PAIRS_PER_STEP)
                members = {one: None, other: None}
                for each in others:
                    if each not in members and members.keys() <= self._others[each].keys():
                        members[each] = None
                for each in members:
                    self._budget.step(1 + len(members) // (4 * PAIRS_PER_STEP))
                    covered[each].update(members)
                yield frozenset(members)
