"""Problems in which branches are bins: they have one provider of each class.

A consumer that stays whole is then in one bin. The exact model is for all other problems.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from roost.agent.reshape.packing.problem import Problem
from roost.agent.reshape.packing.solution import Runs
from roost.agent.reshape.packing.wholeness import Component

Vector = tuple[int, ...]


class Item(NamedTuple):
    """Consumers of one flavour, by what they need of each class."""

    amounts: Vector
    consumers: int  # how many
    bins: frozenset[int]  # where they may go


class Bins(NamedTuple):
    """Classes that are linked: branches as bins, flavours as items."""

    capacities: list[Vector]
    items: list[Item]  # the largest first
    flavours: list[tuple[int, int]]  # of each item: flavour and component
    slots: list[tuple[int | None, ...]]  # of each bin: the slot of each class


def as_bins(
    problem: Problem,
    components: Sequence[tuple[Component, ...] | None],
    left_out: Mapping[int, int],  # flavour -> how many consumers
) -> list[Bins] | None:
    """Independent problems of bins, one for each group of linked classes; None if it is none."""
    groups: dict[int, set[int]] = {}  # class -> the classes that some flavour needs along with it
    for each in components:
        for component in each or ():
            joint = set(component.classes).union(
                *(groups.get(number, ()) for number in component.classes)
            )
            for number in joint:
                groups[number] = joint
    found = []
    for group in {min(group): sorted(group) for group in groups.values()}.values():
        bins = _bins(problem, components, left_out, group)
        if bins is None:
            return None
        found.append(bins)
    return found


def _bins(
    problem: Problem,
    components: Sequence[tuple[Component, ...] | None],
    left_out: Mapping[int, int],
    classes: list[int],
) -> Bins | None:
    branches: dict[str, dict[int, int]] = {}  # branch -> class -> slot
    for number in classes:
        for slot in problem.slots_of_class[number]:
            branch = problem.branch[slot]
            if branch is None or number in branches.setdefault(branch, {}):
                return None
            branches[branch][number] = slot
    slots = [tuple(held.get(number) for number in classes) for held in branches.values()]
    bin_of = {slot: at for at, each in enumerate(slots) for slot in each if slot is not None}
    entries = []
    for flavour_number, flavour in enumerate(problem.flavours):
        amounts = dict(flavour.amounts)
        consumers = len(flavour.consumers) - left_out.get(flavour_number, 0)
        for at, component in enumerate(components[flavour_number] or ()):
            if not consumers or component.classes[0] not in classes:
                continue
            bins: list[int] = []
            for labelling in component.labellings:
                places = {bin_of[slot] for each in labelling for slot in each}
                if len(places) > 1:  # classes that are not linked directly may be apart
                    return None
                bins += places
            vector = tuple(
                amounts[number] if number in component.classes else 0 for number in classes
            )
            entries.append((Item(vector, consumers, frozenset(bins)), (flavour_number, at)))
    free = [tuple(0 if slot is None else problem.free[slot] for slot in each) for each in slots]
    divisors = [
        math.gcd(*(item.amounts[at] for item, _ in entries)) or 1 for at in range(len(classes))
    ]
    totals = [
        max(1, sum(each) // n) for each, n in zip(zip(*free, strict=True), divisors, strict=True)
    ]
    scaled = [
        (item._replace(amounts=_divide(item.amounts, divisors)), flavour)
        for item, flavour in entries
    ]
    scaled.sort(
        key=lambda entry: max(n / total for n, total in zip(entry[0].amounts, totals, strict=True)),
        reverse=True,
    )
    return Bins(
        [_divide(each, divisors) for each in free],
        [item for item, _ in scaled],
        [flavour for _, flavour in scaled],
        slots,
    )


def _divide(amounts: Vector, divisors: Sequence[int]) -> Vector:
    return tuple(n // divisor for n, divisor in zip(amounts, divisors, strict=True))


def as_runs(
    problem: Problem,
    components: Sequence[tuple[Component, ...] | None],
    found: list[tuple[Bins, list[dict[int, int]]]],
) -> list[list[Runs]]:
    """The fillings of all bins, by flavour and component."""
    runs: list[list[Runs]] = [[{} for _ in each or ()] for each in components]
    for bins, fillings in found:
        for slots, filling in zip(bins.slots, fillings, strict=True):
            for item, count in filling.items():
                flavour, at = bins.flavours[item]
                component = (components[flavour] or ())[at]
                by_class = {
                    number: slot
                    for slot in slots
                    if slot is not None
                    for number in component.classes
                    if slot in problem.slots_of_class[number]
                }
                runs[flavour][at][tuple(by_class[number] for number in component.classes)] = count
    return runs
