"""Tight packings: everybody is whole, but for as few consumers as possible that are left out.

Whoever is left out is torn: it gets what the others leave. One that is left out leaves room for all
others to be whole, so that the fewest are found quickly where they are few.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

from roost.agent.reshape.packing.bins import as_bins, as_runs
from roost.agent.reshape.packing.completion import Budget, GaveUp, complete
from roost.agent.reshape.packing.problem import Problem
from roost.agent.reshape.packing.solution import Runs
from roost.agent.reshape.packing.wholeness import Component

# Steps of the search if nobody is left out, and of all others together.
STEPS_MAX = 1_000_000
# Steps of one search in which somebody is left out. There are many, and most are easy.
STEPS_EACH = 20_000
# More packings with the same consumers left out are hardly better.
FOUND_MAX = 8


class Tight(NamedTuple):
    """A packing of those that are whole."""

    left_out: Mapping[int, int]  # flavour -> how many of its consumers
    runs: list[list[Runs]]  # by flavour and component
    free: list[int]  # by slot: what is left for those that are torn


class Tightening:
    """Searches with more and more consumers left out."""

    def __init__(
        self, problem: Problem, components: Sequence[tuple[Component, ...] | None]
    ) -> None:
        self._problem = problem
        self._components = components
        # Those that cannot be whole.
        self._hopeless = {
            number: len(problem.flavours[number].consumers)
            for number, each in enumerate(components)
            if each is None
        }
        self._left = STEPS_MAX
        self.steps = 0
        self.is_proven = True  # whether all searches so far have tried everything

    def find(self, extra: int) -> Iterator[Tight]:
        """Packings with so many left out, besides those that cannot be whole."""
        if as_bins(self._problem, self._components, self._hopeless) is None:
            self.is_proven = False
            return
        found = 0
        for chosen in self._choices(extra):
            if self._left <= 0 or found == FOUND_MAX:
                self.is_proven = False
                return
            budget = Budget(STEPS_EACH if extra else STEPS_MAX)
            left_out = dict(self._hopeless)
            for number in chosen:
                left_out[number] = left_out.get(number, 0) + 1
            try:
                runs = self._fill(left_out, budget)
            except GaveUp:
                self.is_proven = False
            else:
                if runs is not None:
                    found += 1
                    yield Tight(left_out, runs, self._free(runs))
            self.steps += budget.steps
            if extra:
                self._left -= budget.steps

    def _free(self, runs: list[list[Runs]]) -> list[int]:
        free = list(self._problem.free)
        for number, flavour in enumerate(self._problem.flavours):
            amounts = dict(flavour.amounts)
            for component, places in zip(self._components[number] or (), runs[number], strict=True):
                for slots, count in places.items():
                    for each, slot in zip(component.classes, slots, strict=True):
                        free[slot] -= count * amounts[each]
        return free

    def _choices(self, extra: int) -> Iterator[tuple[int, ...]]:
        """Flavours to leave out, the largest first: they leave most room."""
        flavours = self._problem.flavours
        numbers = [number for number in range(len(flavours)) if number not in self._hopeless]
        for chosen in combinations_with_replacement(numbers, extra):
            if all(chosen.count(each) <= len(flavours[each].consumers) for each in set(chosen)):
                yield chosen

    def _fill(self, left_out: Mapping[int, int], budget: Budget) -> list[list[Runs]] | None:
        # To set up the bins takes a look at each flavour and slot.
        budget.spend(len(self._problem.flavours) * len(self._problem.free))
        found = []
        for bins in as_bins(self._problem, self._components, left_out) or ():
            fillings = complete(bins, budget)
            if fillings is None:
                return None
            found.append((bins, fillings))
        return as_runs(self._problem, self._components, found)
