"""The search for a packing, from a quick guess to the exact model."""

import math
from collections.abc import Mapping, Sequence
from itertools import chain, repeat

from roost.agent.reshape.packing.guess import Guess
from roost.agent.reshape.packing.integers import IntegerModel, TooLarge
from roost.agent.reshape.packing.problem import (
    Demand,
    DoesNotFit,
    Flavour,
    Offer,
    Packing,
    Problem,
)
from roost.agent.reshape.packing.remainder import NoPlace, place_remainder
from roost.agent.reshape.packing.solution import Runs, Score, Solution
from roost.agent.reshape.packing.tight import Tightening
from roost.agent.reshape.packing.units import Units
from roost.agent.reshape.packing.wholeness import Component, Wholeness

# Consumers that a quick search leaves out, before the exact model has to say who is torn.
EXTRA_MAX = 3
# Variables up to which the exact model decides how those are placed that are torn in any case.
POLISHED_MAX = 300


def pack(
    demands: Sequence[Demand],
    offers: Mapping[str, Mapping[str, Offer]],  # class -> provider -> offer
    branches: Mapping[str, str | None],  # provider -> the child of the root that it is or is below
) -> Packing:
    """Where everything goes: the fewest consumers torn, then the least moved, then balanced.

    Raises DoesNotFit if there is no room for everything.
    """
    problem = Problem(demands, offers, branches)
    _check_room(problem)
    wholeness = Wholeness(problem)
    components = [wholeness.components(flavour) for flavour in problem.flavours]
    search = Search(problem, components)
    solution = search.run()
    pieces = _by_consumer(problem, components, solution)
    torn = tuple(
        each.consumer for each in demands if not wholeness.is_whole(each, pieces[each.consumer])
    )
    is_proven = len(torn) <= search.torn_least and not wholeness.is_cut_short
    return Packing({each.consumer: pieces[each.consumer] for each in demands}, torn, is_proven)


def _check_room(problem: Problem) -> None:
    """What can be said without a search."""
    needed = [0] * len(problem.classes)
    for flavour in problem.flavours:
        for number, amount in flavour.amounts:
            needed[number] += amount * len(flavour.consumers)
    for number, amount in enumerate(needed):
        if amount > problem.free_of_class[number]:
            raise DoesNotFit(problem.classes[number], None, amount, problem.free_of_class[number])


class Search:
    """The best solution so far, and how good one can be at best."""

    def __init__(self, problem: Problem, components: list[tuple[Component, ...] | None]) -> None:
        self._problem = problem
        self._components = components
        self._best: Solution | None = None
        self._score = Score(0, 0, 0)
        self._no_place: NoPlace | None = None
        self.steps = 0  # of all searches but the solver
        self.nodes = 0  # of the solver
        # Those without any place that would keep them whole are torn in any case.
        self.torn_least = sum(
            len(flavour.consumers)
            for flavour, each in zip(problem.flavours, components, strict=True)
            if each is None
        )
        self._split_least = sum(
            len(flavour.consumers)
            for flavour in problem.flavours
            for number, amount in flavour.amounts
            if not any(
                problem.takes(flavour, slot, number, amount)
                for slot in problem.slots_of_class[number]
            )
        )
        self._moved_least = sum(
            max(0, held - problem.free[slot]) for slot, held in self._kept().items()
        )

    def _kept(self) -> dict[int, int]:
        kept: dict[int, int] = {}
        for flavour in self._problem.flavours:
            for slot, amount in flavour.kept.items():
                kept[slot] = kept.get(slot, 0) + amount * len(flavour.consumers)
        return kept

    def run(self) -> Solution:
        """Try one way after the other until the best possible is found, or all are tried."""
        self._guess(is_balanced=True)
        if not self._is_best():
            self._guess(is_balanced=False)
        if not self._has_fewest_torn():
            self._guess(is_balanced=True, ignores_current=True)
        if not self._has_fewest_torn():
            self._tighten()
        if not self._is_best() and not self.torn_least:
            self._solve_whole()
        if not self._is_best() and not self._is_whole():
            self._solve()
        if self._best is None:
            raise self._does_not_fit(is_certain=False)
        return self._best

    def _is_whole(self) -> bool:
        return self._best is not None and not self._score.torn

    def _has_fewest_torn(self) -> bool:
        return self._best is not None and self._score.torn <= self.torn_least

    def _is_best(self) -> bool:
        return self._best is not None and self._score <= (
            self.torn_least,
            self._split_least,
            self._moved_least,
        )

    def _offer(self, solution: Solution) -> None:
        score = solution.score(self._problem)
        if self._best is None or score < self._score:
            self._best, self._score = solution, score

    def _guess(self, *, is_balanced: bool, ignores_current: bool = False) -> None:
        guess = Guess(
            self._problem,
            self._components,
            is_balanced=is_balanced,
            ignores_current=ignores_current,
        )
        self.steps += guess.steps
        torn = [
            len(flavour.consumers) - whole
            for flavour, whole in zip(self._problem.flavours, guess.whole, strict=True)
        ]
        self._complete(guess.runs, torn, guess.free)

    def _complete(self, runs: list[list[Runs]], torn: list[int], free: list[int]) -> None:
        """Place those that are torn beside those that are whole."""
        try:
            remainder = place_remainder(self._problem, torn, free)
        except NoPlace as error:
            self._no_place = error
        else:
            self._offer(Solution(runs, remainder))

    def _tighten(self) -> None:
        """Leave out more and more consumers until all others can be whole."""
        tightening = Tightening(self._problem, self._components)
        torn_least = self.torn_least
        extra = 0
        while self._best is None or torn_least + extra < self._score.torn:
            is_found = False
            for left_out, runs, free in tightening.find(extra):
                is_found = True
                torn = [left_out.get(each, 0) for each in range(len(self._problem.flavours))]
                self._complete(runs, torn, free)
            if is_found or extra == EXTRA_MAX:
                break
            extra += 1
            if tightening.is_proven:
                self.torn_least = torn_least + extra
        self.steps += tightening.steps

    def _solve_whole(self) -> None:
        """A packing that tears nobody, with the least moved."""
        try:
            integers = IntegerModel(self._problem, self._components, allow_torn=False)
        except TooLarge:
            return
        outcome = integers.model.minimise(integers.moved)
        self.nodes += outcome.nodes
        if outcome.is_infeasible:
            self.torn_least = 1
        if outcome.values is not None:
            self._offer(integers.solution(outcome.values))

    def _solve(self) -> None:
        """The fewest torn, of those the fewest split, of those the least moved."""
        try:
            integers = IntegerModel(self._problem, self._components, allow_torn=True)
        except TooLarge:
            return
        if self._has_fewest_torn() and integers.model.variable_count > POLISHED_MAX:
            return
        values = None
        for objective in (integers.torn, integers.split, integers.moved):
            outcome = integers.model.minimise(objective)
            self.nodes += outcome.nodes
            if objective is integers.torn:
                if outcome.is_infeasible:
                    raise self._does_not_fit(is_certain=True)
                self.torn_least = max(self.torn_least, outcome.bound)
            if outcome.values is None:
                break
            values = outcome.values
            reached = sum(n * values[each] for each, n in objective.items())
            integers.model.at_most(objective, reached)
        if values is not None:
            self._offer(integers.solution(values))

    def _does_not_fit(self, *, is_certain: bool) -> DoesNotFit:
        """Which class has no room. Classes do not compete for room, so each can be tried alone."""
        problem = self._problem
        for number, name in enumerate(problem.classes):
            free = problem.free_of_class[number]
            for flavour in problem.flavours:
                amount = dict(flavour.amounts).get(number, 0)
                if amount and self._fits_nowhere(flavour, number, amount):
                    return DoesNotFit(name, flavour.consumers[0], amount, free)
            if is_certain and self._is_too_much(number):
                needed = sum(
                    dict(flavour.amounts).get(number, 0) * len(flavour.consumers)
                    for flavour in problem.flavours
                )
                return DoesNotFit(name, None, needed, free)
        assert self._no_place is not None
        name = problem.classes[self._no_place.number]
        free = problem.free_of_class[self._no_place.number]
        consumer, amount = self._no_place.consumer, self._no_place.amount
        return DoesNotFit(name, consumer, amount, free, is_certain=is_certain)

    def _fits_nowhere(self, flavour: Flavour, number: int, amount: int) -> bool:
        """Whether a consumer finds no room even if it is the only one."""
        slots = self._problem.slots_of_class[number]
        units = [Units.of(self._problem, flavour, slot, number) for slot in slots]
        usable = [each for each in units if each.most >= each.smallest]
        if sum(each.most for each in usable) < amount:
            return True
        if all(each.smallest > amount for each in usable):
            return True
        common = math.gcd(*(n for each in usable for n in (each.smallest, each.step)))
        return amount % common != 0

    def _is_too_much(self, number: int) -> bool:
        try:
            integers = IntegerModel(
                self._problem, self._components, allow_torn=True, classes={number}
            )
        except TooLarge:
            return False
        return integers.model.minimise({}).is_infeasible


def _by_consumer(
    problem: Problem, components: Sequence[tuple[Component, ...] | None], solution: Solution
) -> dict[str, dict[str, dict[str, int]]]:
    """Give the places to the consumers by name."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for number, flavour in enumerate(problem.flavours):
        amounts = dict(flavour.amounts)
        names = iter(flavour.consumers)
        places = [
            chain.from_iterable(repeat(slots, count) for slots, count in runs.items())
            for runs in solution.runs[number]
        ]
        whole = len(flavour.consumers) - len(solution.remainder[number])
        for _ in range(whole):
            pieces = found[next(names)] = {}
            for component, slots in zip(components[number] or (), places, strict=True):
                for each, slot in zip(component.classes, next(slots), strict=True):
                    pieces[problem.classes[each]] = {problem.providers[slot]: amounts[each]}
        for remaining in solution.remainder[number]:
            found[next(names)] = {
                problem.classes[each]: {problem.providers[slot]: n for slot, n in parts.items()}
                for each, parts in remaining.items()
            }
    return found
