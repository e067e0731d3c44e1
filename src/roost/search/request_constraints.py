"""The constraints that one request has, and after which slot each of them is checked."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from roost.query import CandidateQuery
from roost.search.budget import Budget
from roost.search.constraints import (
    Constraint,
    DifferentProviders,
    JointCapacity,
    OneProviderPerTree,
    OutsideSubtree,
    Room,
    SameSubtree,
    TraitAmongProviders,
)
from roost.search.index.index import Index
from roost.search.isolation import PAIRS_PER_STEP, Isolation
from roost.search.match import Slot

# How many orders of filling have their steps cached. Most trees have the same few.
ORDERS_CACHED = 16
# How many sets that must differ, and how many sizes of each class, have a bound.
BOUNDS_MAX = 8

Steps = list[list[Constraint]]


class Bound(NamedTuple):
    """What the options of some slots must amount to, or no way exists.

    Without a room the options are counted: slots that must differ need a provider each. With one,
    it is what the options have room for, in whole multiples of `unit`.
    """

    slots: tuple[int, ...]
    needed: int
    room: Room | None = None
    unit: int = 1


class RequestConstraints:
    """All constraints of one request; the same for every tree."""

    def __init__(
        self,
        index: Index,
        query: CandidateQuery,
        slots: Sequence[Slot],
        *,
        together: bool = True,
        budget: Budget | None = None,
    ) -> None:
        """Groups compete for what is free if `together`; if not, each is served on its own."""
        self.index = index
        self._query = query
        self.slots = slots
        self._suffixes = [slot.group.suffix for slot in slots]
        self._budget = Budget() if budget is None else budget
        self.isolation = Isolation(query, self._budget)
        self._steps_of_order: dict[tuple[int, ...], Steps] = {}
        self.different_providers = list(self._different_providers())
        self.joint_capacities = list(self._joint_capacities()) if together else []
        self.same_subtrees = list(self._same_subtrees())
        self.traits_among_providers = list(self._traits_among_providers())
        self.outside_subtrees = list(self._outside_subtrees())
        self.all: list[Constraint] = [
            *self.different_providers,
            *self._one_provider_per_tree(),
            *self.joint_capacities,
            *self.same_subtrees,
            *self.outside_subtrees,
            *self.traits_among_providers,
        ]

    def steps(self, order: Sequence[int]) -> Steps:
        """For each slot, in the order of filling, the constraints that are checked after it."""
        key = tuple(order)
        steps = self._steps_of_order.get(key)
        if steps is None:
            if len(self._steps_of_order) >= ORDERS_CACHED:
                self._steps_of_order.clear()
            steps = self._steps_of_order[key] = self._steps(key)
        return steps

    def _steps(self, order: tuple[int, ...]) -> Steps:
        steps: Steps = [[] for _ in order]
        depth_of = {number: depth for depth, number in enumerate(order)}
        for constraint in self.all:
            self._budget.step()
            depths = sorted(depth_of[number] for number in constraint.slots)
            # A partial way may be given up only by what no later choice can mend.
            first = 2 if constraint.monotonic else len(depths)
            for count in range(first, len(depths) + 1):
                self._budget.step()
                slots = self._compared(constraint, [order[depth] for depth in depths[:count]])
                if slots:
                    steps[depths[count - 1]].append(constraint.among(slots))
        return steps

    def _compared(self, constraint: Constraint, slots: list[int]) -> list[int]:
        """Those of the slots that the last one is compared with, and the last; or none."""
        newest = slots[-1]
        match constraint:
            case DifferentProviders():
                # Several slots of one group may have the same provider.
                others = [n for n in slots[:-1] if self._suffixes[n] != self._suffixes[newest]]
            case JointCapacity() if self.isolation.pair_count:
                # Isolated groups have different providers, and need not be added up.
                others = [n for n in slots[:-1] if not self.must_differ(n, newest)]
            case OutsideSubtree(outside=outside) if newest != outside:
                others = [n for n in slots[:-1] if n == outside]
            case _:
                return slots
        return [*others, newest] if others else []

    def must_differ(self, one: int, other: int) -> bool:
        """Whether two slots must have different providers."""
        return self.isolation.must_differ(self._suffixes[one], self._suffixes[other])

    def _all_differ(self, slots: Sequence[int]) -> bool:
        for number, one in enumerate(slots):
            self._budget.step(1 + number // PAIRS_PER_STEP)
            if not all(self.must_differ(one, other) for other in slots[:number]):
                return False
        return True

    def bounds(self) -> Iterator[Bound]:
        """What can be seen before anything is combined; only some, where there are many."""
        sets = sorted(self.different_providers, key=lambda each: -len(each.slots))
        for constraint in sets[:BOUNDS_MAX]:
            suffixes = {self._suffixes[number] for number in constraint.slots}
            yield Bound(constraint.slots, len(suffixes))
        for joint in self.joint_capacities:
            yield Bound(joint.slots, sum(joint.amounts.values()), joint.room)
            sizes = sorted(set(joint.amounts.values()), reverse=True)
            for size in sizes[:: -(-len(sizes) // BOUNDS_MAX)]:
                # Two amounts of 7 fit into 20 and three do not, though their sum is near it.
                large = tuple(n for n in joint.slots if joint.amounts[n] >= size)
                if len(large) > 1:
                    yield Bound(large, len(large), joint.room, size)

    # -- which constraints there are -----------------------------------------------------------

    def _numbers(self, suffixes: Iterable[str]) -> list[int]:
        """The slots of these suffixed groups."""
        return [number for number, own in enumerate(self._suffixes) if own and own in suffixes]

    def _different_providers(self) -> Iterator[DifferentProviders]:
        for suffixes in self.isolation.sets():
            yield DifferentProviders(self.index, self._numbers(suffixes))

    def _one_provider_per_tree(self) -> Iterator[OneProviderPerTree]:
        if not self._query.nested_aware and self.slots:
            yield OneProviderPerTree(self.index, range(len(self.slots)))

    def _joint_capacities(self) -> Iterator[JointCapacity]:
        """For classes that several slots ask for; one slot alone was matched with what is free."""
        amounts: dict[int, dict[int, int]] = {}
        for number, slot in enumerate(self.slots):
            # Its class is compared with those of all others.
            self._budget.step(1 + len(self.slots) // 16)
            for class_id, amount in slot.demands.items():
                amounts.setdefault(class_id, {})[number] = amount
        for class_id, by_slot in amounts.items():
            if len(by_slot) > 1 and not self._all_differ(list(by_slot)):
                yield JointCapacity(Room(self.index, class_id), list(by_slot), by_slot)

    def _same_subtrees(self) -> Iterator[SameSubtree]:
        for suffixes in self._query.same_subtree:
            numbers = self._numbers(suffixes)
            # One provider is always in its own subtree; but one slot may be split over several.
            if len(numbers) > 1 or (numbers and self._query.may_split):
                yield SameSubtree(self.index, numbers)

    def _outside_subtrees(self) -> Iterator[OutsideSubtree]:
        for rule in self._query.elsewhere:
            for outside in self._numbers(rule.outside):
                yield OutsideSubtree(self.index, self._numbers(rule.inside), outside)

    def _traits_among_providers(self) -> Iterator[TraitAmongProviders]:
        unsuffixed = [number for number, suffix in enumerate(self._suffixes) if not suffix]
        if unsuffixed:
            for traits in self.slots[unsuffixed[0]].group.required_together:
                holders = self.index.trait_sets.holding_any(traits)
                yield TraitAmongProviders(self.index, unsuffixed, holders)
