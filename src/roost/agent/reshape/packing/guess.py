"""A first packing: one flavour after the other, the largest first, each consumer whole.

What can stay where it is stays. The rest goes to the emptiest place, which keeps providers
balanced, or to the first one that has room, which leaves large gaps for others. A consumer that
finds no place here is left to the rest of the search.
"""

import heapq
from collections.abc import Iterable, Sequence

from roost.agent.reshape.packing.problem import Flavour, Problem
from roost.agent.reshape.packing.solution import Runs
from roost.agent.reshape.packing.wholeness import Component, Labelling

Queue = list[tuple[float, int]]


class Guess:
    """Consumers that are placed whole: for each flavour and component, how many go where."""

    def __init__(
        self,
        problem: Problem,
        components: Sequence[tuple[Component, ...] | None],
        *,
        is_balanced: bool,
        ignores_current: bool = False,
    ) -> None:
        self._problem = problem
        self._components = components
        self._is_balanced = is_balanced
        self._ignores_current = ignores_current
        self.free = list(problem.free)
        self.runs: list[list[Runs]] = [[{} for _ in each or ()] for each in components]
        # Without classes there is nothing to tear.
        self.whole = [
            len(flavour.consumers) if each == () else 0
            for flavour, each in zip(problem.flavours, components, strict=True)
        ]
        self.steps = 0  # places looked at
        # Places by how full they were when last looked at; slots hardly ever get emptier.
        # The components live as long as the guess, so their ids are theirs alone.
        self._queues: dict[int, Queue] = {}
        for number, flavour in enumerate(problem.flavours):
            if flavour.kept and not ignores_current:
                self._place(number, flavour, is_stay=True)
        for number, flavour in enumerate(problem.flavours):
            self._place(number, flavour, is_stay=False)

    def _place(self, number: int, flavour: Flavour, *, is_stay: bool) -> None:
        """Place as many consumers of a flavour as find room in each of its components."""
        left = len(flavour.consumers) - self.whole[number]
        found: list[tuple[Runs, list[int]]] = []
        for component in self._components[number] or ():
            wanted = [dict(flavour.amounts)[each] for each in component.classes]
            runs: Runs = {}
            for labellings in self._preferred(component, flavour, is_stay):
                if count := left - sum(runs.values()):
                    queue = self._queue(labellings, component)
                    self._fill(runs, labellings, queue, wanted, count)
            for before, wanted_before in found:
                self._give_back(before, wanted_before, left - sum(runs.values()))
            left = sum(runs.values())
            found.append((runs, wanted))
        if found:
            self.whole[number] += left
        for runs, (more, _) in zip(self.runs[number], found, strict=True):
            for slots, count in more.items():
                runs[slots] = runs.get(slots, 0) + count

    def _preferred(
        self, component: Component, flavour: Flavour, is_stay: bool
    ) -> Iterable[tuple[Labelling, ...]]:
        """The places of a component, in groups: those where most can stay come first."""
        kept = flavour.kept
        if not kept or self._ignores_current:
            return [component.labellings]
        groups: dict[int, list[Labelling]] = {}
        for labelling in component.labellings:
            best = tuple(max(slots, key=lambda slot: kept.get(slot, 0)) for slots in labelling)
            amount = sum(kept.get(slot, 0) for slot in best)
            if amount:
                narrowed = tuple(
                    (slot,) if slot in kept else slots
                    for slot, slots in zip(best, labelling, strict=True)
                )
                groups.setdefault(amount, []).append(narrowed)
        if is_stay:
            slots = (each for number in component.classes for each in self._slots(number))
            everything = sum(kept.get(slot, 0) for slot in slots)
            if not everything:
                return [component.labellings]
            return [tuple(groups[everything])] if everything in groups else []
        ordered = [tuple(groups[amount]) for amount in sorted(groups, reverse=True)]
        return [*ordered, component.labellings]

    def _slots(self, number: int) -> list[int]:
        return self._problem.slots_of_class[number]

    def _queue(self, labellings: tuple[Labelling, ...], component: Component) -> Queue:
        queue = self._queues.get(id(component)) if labellings is component.labellings else None
        if queue is None:
            queue = [(self._fullness(each), at) for at, each in enumerate(labellings)]
            heapq.heapify(queue)
            if labellings is component.labellings:
                self._queues[id(component)] = queue
        return queue

    def _fill(
        self,
        runs: Runs,
        labellings: tuple[Labelling, ...],
        queue: Queue,
        wanted: list[int],
        count: int,
    ) -> None:
        refused = []
        while count and queue:
            self.steps += 1
            _, at = queue[0]
            labelling = labellings[at]
            slots = self._choose(labelling, wanted)
            if slots is None:
                refused.append(heapq.heappop(queue))
                continue
            fullness = self._fullness(labelling)
            if fullness > queue[0][0]:
                heapq.heapreplace(queue, (fullness, at))
                continue
            placed = 1
            if not self._is_balanced:
                placed = min(
                    count, *(self.free[slot] // n for slot, n in zip(slots, wanted, strict=True))
                )
            for slot, amount in zip(slots, wanted, strict=True):
                self.free[slot] -= placed * amount
            runs[slots] = runs.get(slots, 0) + placed
            count -= placed
        for entry in refused:
            heapq.heappush(queue, entry)

    def _choose(self, labelling: Labelling, wanted: list[int]) -> tuple[int, ...] | None:
        """One slot for each class; None if some class does not fit."""
        chosen = []
        for slots, amount in zip(labelling, wanted, strict=True):
            fitting = [slot for slot in slots if self.free[slot] >= amount]
            if not fitting:
                return None
            chosen.append(fitting[0] if len(fitting) == 1 else min(fitting, key=self._rank))
        return tuple(chosen)

    def _rank(self, slot: int) -> float:
        share = 1 - self.free[slot] / max(1, self._problem.capacity[slot])
        return share if self._is_balanced else -share

    def _fullness(self, labelling: Labelling) -> float:
        """How full a place is by its fullest class; without balance places keep their order."""
        if not self._is_balanced:
            return 0.0
        return max(min(self._rank(slot) for slot in slots) for slots in labelling)

    def _give_back(self, runs: Runs, wanted: list[int], count: int) -> None:
        for slots in reversed(list(runs)):
            taken = min(count, runs[slots])
            count -= taken
            runs[slots] -= taken
            for slot, amount in zip(slots, wanted, strict=True):
                self.free[slot] += taken * amount
            if not runs[slots]:
                del runs[slots]
