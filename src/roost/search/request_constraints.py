"""The constraints that one request has, and after which slot each of them is checked."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from roost.query import CandidateQuery
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
from roost.search.match import Slot


class RequestConstraints:
    """All constraints of one request; the same for every tree."""

    def __init__(
        self, index: Index, query: CandidateQuery, slots: Sequence[Slot], *, together: bool = True
    ) -> None:
        """Groups compete for what is free if `together`; if not, each is served on its own."""
        self._index = index
        self._query = query
        self.slots = slots
        self._suffixes = [slot.group.suffix for slot in slots]
        # Sets of slots: no two of different groups have the same provider.
        self._isolated = self._isolated_slots()
        self.different_providers = list(self._different_providers())
        self.joint_capacities = list(self._joint_capacities()) if together else []
        self.same_subtrees = list(self._same_subtrees())
        self.traits_among_providers = list(self._traits_among_providers())
        self.all: list[Constraint] = [
            *self.different_providers,
            *self._one_provider_per_tree(),
            *self.joint_capacities,
            *self.same_subtrees,
            *self._outside_subtrees(),
            *self.traits_among_providers,
        ]

    def steps(self, order: Sequence[int]) -> list[list[Constraint]]:
        """For each slot, in the order of filling, the constraints that are checked after it."""
        steps: list[list[Constraint]] = [[] for _ in order]
        for constraint in self.all:
            depths = [depth for depth, number in enumerate(order) if number in constraint.slots]
            # A partial way may be given up only by what no later choice can mend.
            first = 2 if constraint.monotonic else len(depths)
            for count in range(first, len(depths) + 1):
                slots = self._compared(constraint, [order[depth] for depth in depths[:count]])
                if slots:
                    steps[depths[count - 1]].append(constraint.among(slots))
        return steps

    def _compared(self, constraint: Constraint, slots: list[int]) -> list[int]:
        """Those of the slots that the last one is compared with, and the last; or none."""
        match constraint:
            case DifferentProviders():
                # Several slots of one group may have the same provider.
                others = [n for n in slots[:-1] if self._suffixes[n] != self._suffixes[slots[-1]]]
            case JointCapacity() if self._isolated:
                # Isolated groups have different providers, and need not be added up.
                others = [n for n in slots[:-1] if not self._must_differ(n, slots[-1])]
            case _:
                return slots
        return [*others, slots[-1]] if others else []

    # -- which constraints there are -----------------------------------------------------------

    def _numbers(self, suffixes: Iterable[str]) -> list[int]:
        """The slots of these suffixed groups."""
        return [number for number, own in enumerate(self._suffixes) if own and own in suffixes]

    def _isolated_slots(self) -> list[list[int]]:
        sets = [self._numbers(suffixes) for suffixes in self._query.isolated]
        if self._query.isolate:
            sets.append(self._numbers(self._suffixes))
        return [numbers for numbers in sets if len({self._suffixes[n] for n in numbers}) > 1]

    def _must_differ(self, one: int, other: int) -> bool:
        """Whether two slots must have different providers."""
        return any(
            one in numbers and other in numbers and self._suffixes[one] != self._suffixes[other]
            for numbers in self._isolated
        )

    def _different_providers(self) -> Iterator[DifferentProviders]:
        for numbers in self._isolated:
            yield DifferentProviders(self._index, numbers)

    def _one_provider_per_tree(self) -> Iterator[OneProviderPerTree]:
        if not self._query.nested_aware and self.slots:
            yield OneProviderPerTree(self._index, range(len(self.slots)))

    def _joint_capacities(self) -> Iterator[JointCapacity]:
        """For classes that several slots ask for; one slot alone was matched with what is free."""
        amounts: dict[int, dict[int, int]] = {}
        for number, slot in enumerate(self.slots):
            for class_id, amount in slot.demands.items():
                amounts.setdefault(class_id, {})[number] = amount
        for class_id, by_slot in amounts.items():
            if not all(self._must_differ(*pair) for pair in combinations(by_slot, 2)):
                yield JointCapacity(Room(self._index, class_id), list(by_slot), by_slot)

    def _same_subtrees(self) -> Iterator[SameSubtree]:
        for suffixes in self._query.same_subtree:
            numbers = self._numbers(suffixes)
            # One provider is always in its own subtree; but one slot may be split over several.
            if len(numbers) > 1 or (numbers and self._query.may_split):
                yield SameSubtree(self._index, numbers)

    def _outside_subtrees(self) -> Iterator[OutsideSubtree]:
        for rule in self._query.elsewhere:
            for outside in self._numbers(rule.outside):
                yield OutsideSubtree(self._index, self._numbers(rule.inside), outside)

    def _traits_among_providers(self) -> Iterator[TraitAmongProviders]:
        unsuffixed = [number for number, suffix in enumerate(self._suffixes) if not suffix]
        if unsuffixed:
            for traits in self.slots[unsuffixed[0]].group.required_together:
                holders = self._index.trait_sets.holding_any(traits)
                yield TraitAmongProviders(self._index, unsuffixed, holders)
