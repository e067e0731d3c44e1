"""When a consumer is whole, and the places that keep it so.

A branch is a child of the root with everything below it. Two classes are *linked* if some branch
offers both: then a consumer's processors and its memory can be on the same NUMA node, and should
be. A consumer is whole if each class is on one provider, and linked classes are in one branch. What
is on a root is near everything.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from roost.agent.reshape.packing.problem import Demand, Flavour, Problem

# More combinations of branches than this are not looked at.
LABELLINGS_MAX = 5_000

# Class -> the slots of one branch (or of roots) that may take the amount; one of them does.
Labelling = tuple[tuple[int, ...], ...]


class Component(NamedTuple):
    """Classes of a flavour that are linked, and where they can be together."""

    classes: tuple[int, ...]
    labellings: tuple[Labelling, ...]


class Wholeness:
    """Which classes belong together in a problem."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.is_cut_short = False  # whether some flavour had more than LABELLINGS_MAX
        self._known: dict[tuple[object, ...], tuple[Component, ...] | None] = {}
        self._branches_of_class: list[set[str]] = [
            {branch for slot in slots if (branch := problem.branch[slot]) is not None}
            for slots in problem.slots_of_class
        ]
        for flavour in problem.flavours:
            for number, held in flavour.fixed.items():
                self._branches_of_class[number].update(
                    branch
                    for provider, _ in held
                    if (branch := problem.branches.get(provider)) is not None
                )
        self._linked = [
            [not here.isdisjoint(there) for there in self._branches_of_class]
            for here in self._branches_of_class
        ]

    def is_whole(self, demand: Demand, pieces: Mapping[str, Mapping[str, int]]) -> bool:
        """Whether a consumer is whole with these pieces, together with what is fixed."""
        branch: dict[int, str] = {}
        for name in {*pieces, *demand.fixed}:
            providers = {
                provider
                for held in (pieces.get(name, {}), demand.fixed.get(name, {}))
                for provider, amount in held.items()
                if amount
            }
            if len(providers) > 1:
                return False
            for provider in providers:
                found = self._problem.branches.get(provider)
                if found is not None:
                    branch[self._problem.number_of_class[name]] = found
        return all(branch[a] == branch[b] or not self._linked[a][b] for a in branch for b in branch)

    def components(self, flavour: Flavour) -> tuple[Component, ...] | None:
        """The places that keep a flavour whole; None if there is none."""
        options = self._options(flavour)
        if options is None or not all(options.values()):
            return None
        key = tuple(options.items())
        if key not in self._known:
            self._known[key] = self._components(options)
        return self._known[key]

    def _options(self, flavour: Flavour) -> dict[int, tuple[int, ...]] | None:
        """Class -> the slots that may take the whole amount, beside what is fixed."""
        problem = self._problem
        fixed: dict[int, str] = {}
        for number, held in flavour.fixed.items():
            if len(held) > 1:
                return None
            branch = problem.branches.get(held[0][0])
            if branch is not None:
                fixed[number] = branch
        if any(fixed[a] != fixed[b] and self._linked[a][b] for a in fixed for b in fixed):
            return None
        return {
            number: tuple(
                slot
                for slot in problem.slots_of_class[number]
                if problem.takes(flavour, slot, number, amount)
                and all(
                    provider == problem.providers[slot]
                    for provider, _ in flavour.fixed.get(number, ())
                )
                and all(
                    problem.branch[slot] in (None, branch) or not self._linked[number][other]
                    for other, branch in fixed.items()
                )
            )
            for number, amount in flavour.amounts
        }

    def _components(self, options: dict[int, tuple[int, ...]]) -> tuple[Component, ...] | None:
        components = []
        for classes in self._connected(list(options)):
            labellings: list[Labelling] = []
            for labelling in self._labellings(classes, options):
                if len(labellings) == LABELLINGS_MAX:
                    self.is_cut_short = True
                    break
                labellings.append(labelling)
            if not labellings:
                return None
            components.append(Component(classes, tuple(labellings)))
        return tuple(components)

    def _connected(self, numbers: list[int]) -> list[tuple[int, ...]]:
        """Classes in groups; a class is linked only with others of its group."""
        groups: list[list[int]] = []
        for number in numbers:
            near = [group for group in groups if any(self._linked[number][each] for each in group)]
            groups = [group for group in groups if group not in near]
            groups.append(sorted([number, *(each for group in near for each in group)]))
        return [tuple(group) for group in sorted(groups)]

    def _labellings(
        self, classes: tuple[int, ...], options: dict[int, tuple[int, ...]]
    ) -> Iterator[Labelling]:
        """All ways to give each class a branch, or a root, such that linked classes agree."""
        slots: list[dict[str | None, list[int]]] = []
        for number in classes:
            by_branch: dict[str | None, list[int]] = {}
            for slot in options[number]:
                by_branch.setdefault(self._problem.branch[slot], []).append(slot)
            slots.append(by_branch)

        def extend(chosen: list[str | None]) -> Iterator[Labelling]:
            at = len(chosen)
            if at == len(classes):
                yield tuple(tuple(each[branch]) for each, branch in zip(slots, chosen, strict=True))
                return
            for branch in slots[at]:
                if branch is None or all(
                    other in (None, branch) or not self._linked[classes[at]][number]
                    for number, other in zip(classes, chosen, strict=False)
                ):
                    yield from extend([*chosen, branch])

        return extend([])
