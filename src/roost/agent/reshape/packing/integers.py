"""The exact model: how many consumers of each flavour go to each place, in integers.

Consumers of a flavour are counted, not named, so the model of thousands is small. It has
    whole     for each place that keeps a flavour whole, how many go there
    single    of those that are torn, for each class and slot, how many have it all there
    parts     of those whose amount of a class is split, how much all of them have in each slot
The parts of several consumers can be cut into those of each if the slots have one step; see
`common_step`. Otherwise each consumer has variables of its own.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from roost.agent.reshape.packing.problem import Flavour, Problem
from roost.agent.reshape.packing.solution import Pieces, Runs, Solution
from roost.agent.reshape.packing.solver import Model
from roost.agent.reshape.packing.units import Units, common_step
from roost.agent.reshape.packing.wholeness import Component, Labelling

# Beyond this a model takes minutes.
VARIABLES_MAX = 20_000


class TooLarge(Exception):
    """The model would have more than VARIABLES_MAX variables."""


class _Place(NamedTuple):
    """How many consumers go to one place, and how many of them to which of its slots."""

    consumers: int  # a variable
    slots: tuple[dict[int, int], ...]  # for each class: slot -> variable


class _Part(NamedTuple):
    """What torn consumers have in one slot: smallest * is_used + step * steps."""

    slot: int
    units: Units
    is_used: int | None  # a variable; None if the pieces of several consumers are added up
    steps: int  # a variable


class _Torn(NamedTuple):
    """One class of the torn consumers."""

    number: int
    amount: int
    singles: dict[int, int]  # slot -> variable: how many have it all there
    split: int  # a variable: how many have it in parts
    parts: list[_Part]


class _Group(NamedTuple):
    """Consumers of a flavour that are counted together."""

    flavour: int
    places: list[list[_Place]]  # by component
    torn: list[_Torn]  # by class


class IntegerModel:
    """The variables and rows of a problem, and how to read a solution."""

    def __init__(
        self,
        problem: Problem,
        components: Sequence[tuple[Component, ...] | None],
        *,
        allow_torn: bool,
        classes: Collection[int] | None = None,  # only these, if only one class is of interest
    ) -> None:
        self._problem = problem
        self._components = components
        self._classes = classes
        self.model = Model()
        # What the objectives add up: variable -> weight.
        self.torn: dict[int, int] = {}
        self.split: dict[int, int] = {}
        self.moved: dict[int, int] = {}
        self._load: list[dict[int, int]] = [{} for _ in problem.free]
        self._groups: list[_Group] = []
        for number, flavour in enumerate(problem.flavours):
            count = len(flavour.consumers)
            units = self._units(flavour) if allow_torn else {}
            is_one_by_one = any(
                common_step(units[each].values(), amount) is None
                for each, amount in self._amounts(flavour)
                if allow_torn
            )
            for _ in range(count if is_one_by_one else 1):
                each = 1 if is_one_by_one else count
                self._groups.append(self._group(number, each, units if allow_torn else None))
        for slot, terms in enumerate(self._load):
            if terms:
                self.model.at_most(terms, problem.free[slot])

    def _amounts(self, flavour: Flavour) -> list[tuple[int, int]]:
        classes = self._classes
        return [each for each in flavour.amounts if classes is None or each[0] in classes]

    def _units(self, flavour: Flavour) -> dict[int, dict[int, Units]]:
        """Class -> slot -> the pieces that it takes."""
        found = {}
        for number, _ in self._amounts(flavour):
            slots = self._problem.slots_of_class[number]
            units = {slot: Units.of(self._problem, flavour, slot, number) for slot in slots}
            found[number] = {
                slot: each for slot, each in units.items() if each.most >= each.smallest
            }
        return found

    def _variable(self, upper: int) -> int:
        if self.model.variable_count >= VARIABLES_MAX:
            raise TooLarge
        return self.model.variable(upper)

    def _group(self, number: int, count: int, units: dict[int, dict[int, Units]] | None) -> _Group:
        flavour = self._problem.flavours[number]
        components = () if self._classes is not None else self._components[number] or ()
        places = [self._places(flavour, component, count) for component in components]
        torn: list[_Torn] = []
        torn_count = None
        if units is not None:
            torn_count = self._variable(count)
            self.torn[torn_count] = 1
            if not places:
                is_whole = self._classes is None and self._components[number] is not None
                self.model.equals({torn_count: 1}, 0 if is_whole else count)
            for each, amount in self._amounts(flavour):
                torn.append(self._torn(flavour, each, amount, units[each], torn_count, count))
        for component in places:
            terms = {place.consumers: 1 for place in component}
            if torn_count is not None:
                terms[torn_count] = 1
            self.model.equals(terms, count)
        return _Group(number, places, torn)

    def _places(self, flavour: Flavour, component: Component, count: int) -> list[_Place]:
        amounts = dict(flavour.amounts)
        return [
            self._place(flavour, labelling, [amounts[each] for each in component.classes], count)
            for labelling in component.labellings
        ]

    def _place(
        self, flavour: Flavour, labelling: Labelling, amounts: list[int], count: int
    ) -> _Place:
        going = self._variable(count)
        variables: list[dict[int, int]] = []
        for slots, amount in zip(labelling, amounts, strict=True):
            if len(slots) == 1:
                chosen = {slots[0]: going}
            else:
                chosen = {slot: self._variable(count) for slot in slots}
                self.model.equals({**dict.fromkeys(chosen.values(), 1), going: -1}, 0)
            for slot, variable in chosen.items():
                self._take(flavour, slot, variable, amount)
            variables.append(chosen)
        return _Place(going, tuple(variables))

    def _take(self, flavour: Flavour, slot: int, variable: int, amount: int) -> None:
        load = self._load[slot]
        load[variable] = load.get(variable, 0) + amount
        if kept := flavour.kept.get(slot, 0):
            self.moved[variable] = self.moved.get(variable, 0) - kept

    def _torn(
        self,
        flavour: Flavour,
        number: int,
        amount: int,
        units: dict[int, Units],
        torn_count: int,
        count: int,
    ) -> _Torn:
        singles = {}
        for slot in units:
            if self._problem.takes(flavour, slot, number, amount):
                singles[slot] = self._variable(count)
                self._take(flavour, slot, singles[slot], amount)
        split = self._variable(count)
        self.split[split] = 1
        self.model.equals({**dict.fromkeys(singles.values(), 1), split: 1, torn_count: -1}, 0)
        is_added_up = common_step(units.values(), amount) is not None
        parts = [self._part(slot, each, count, split, is_added_up) for slot, each in units.items()]
        total = {split: -amount}
        for part in parts:
            total[part.steps] = part.units.step
            if part.is_used is not None:
                total[part.is_used] = part.units.smallest
        self.model.equals(total, 0)
        return _Torn(number, amount, singles, split, parts)

    def _part(self, slot: int, units: Units, count: int, split: int, is_added_up: bool) -> _Part:
        load = self._load[slot]
        if is_added_up:
            most = units.most // units.step
            steps = self._variable(min(self._problem.free[slot] // units.step, most * count))
            self.model.at_most({steps: 1, split: -most}, 0)
            load[steps] = units.step
            return _Part(slot, units, None, steps)
        is_used = self._variable(1)
        more = (units.most - units.smallest) // units.step
        steps = self._variable(more)
        self.model.at_most({steps: 1, is_used: -more}, 0)
        load[is_used] = units.smallest
        load[steps] = units.step
        return _Part(slot, units, is_used, steps)

    def solution(self, values: list[int]) -> Solution:
        """What the values of the variables say."""
        flavours = range(len(self._problem.flavours))
        runs: list[list[Runs]] = [[{} for _ in self._components[each] or ()] for each in flavours]
        remainder: list[list[Pieces]] = [[] for _ in flavours]
        for group in self._groups:
            for found, places in zip(runs[group.flavour], group.places, strict=False):
                for place in places:
                    for slots, count in _zip_runs(place, values):
                        found[slots] = found.get(slots, 0) + count
            by_class = {each.number: list(_pieces(each, values)) for each in group.torn}
            for pieces in zip(*by_class.values(), strict=True):
                remainder[group.flavour].append(dict(zip(by_class, pieces, strict=True)))
        return Solution(runs, remainder)


def _zip_runs(place: _Place, values: list[int]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Combine how many go to which slot of each class to slots of all classes."""
    left = [[[slot, values[variable]] for slot, variable in slots.items()] for slots in place.slots]
    count = values[place.consumers]
    while count:
        for slots in left:
            while not slots[-1][1]:
                slots.pop()
        step = min(count, *(slots[-1][1] for slots in left))
        yield tuple(slots[-1][0] for slots in left), step
        for slots in left:
            slots[-1][1] -= step
        count -= step


def _pieces(torn: _Torn, values: list[int]) -> Iterator[dict[int, int]]:
    """What each torn consumer has of a class."""
    for slot, variable in torn.singles.items():
        for _ in range(values[variable]):
            yield {slot: torn.amount}
    left = {}
    for part in torn.parts:
        amount = part.units.step * values[part.steps]
        if part.is_used is not None:
            amount += part.units.smallest * values[part.is_used]
        left[part.slot] = amount
    most = {part.slot: part.units.most for part in torn.parts}
    for others in range(values[torn.split] - 1, -1, -1):
        # What the others cannot take has to go here; the rest is as large pieces as possible.
        pieces = {slot: max(0, n - others * most[slot]) for slot, n in left.items()}
        missing = torn.amount - sum(pieces.values())
        for slot in sorted(left, key=lambda slot: -left[slot]):
            more = min(missing, min(left[slot], most[slot]) - pieces[slot])
            pieces[slot] += more
            missing -= more
        for slot, n in pieces.items():
            left[slot] -= n
        yield {slot: n for slot, n in pieces.items() if n}
