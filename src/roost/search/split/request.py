"""A request whose amounts may be split, prepared for every tree."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from roost.query import CandidateQuery
from roost.search.budget import Budget
from roost.search.constraints import Constraint, Room
from roost.search.index.index import Index
from roost.search.match import what_it_asks
from roost.search.request_constraints import RequestConstraints
from roost.search.split.pieces import PIECES_MAX
from roost.search.split.slots import SplitSlot, slots_of
from roost.search.split.steps import OutOfSteps

# This search does not look ahead much, so a request with many groups could take for ever. After
# these numbers of steps it gives up a part of a tree, and then all trees but for their first steps.
# The limits count steps and not time, so that the search stops at the same point for every page.
STEPS_OF_TREE_FREE = 400
STEPS_OF_TREE_MAX = 10_000
STEPS_MAX = 200_000
# How many orders are tried in which slots are split one after the other.
ORDERS_MAX = 24


class SplitRequest:
    """The request, and how many steps may still be made in all."""

    def __init__(
        self, index: Index, query: CandidateQuery, *, together: bool, budget: Budget
    ) -> None:
        self.index = index
        self.budget = budget
        self.slots = slots_of(index, query, budget)
        matched = [each.slot for each in self.slots]
        self.constraints = RequestConstraints(
            index, query, matched, together=together, budget=budget
        )
        self.together = together
        # Classes that slots compete for, and whether an amount of one of them may be split.
        self.contended = self._contended() if together else []
        self.compete = any(
            slot.may_split and not slot.slot.demands.keys().isdisjoint(self.contended)
            for slot in self.slots
        )
        self.needs_traits = bool(self.constraints.traits_among_providers)
        self.needs_subtree = bool(query.same_subtree)
        # How many pieces more than slots there can be.
        self.extra_max = sum(each.may_split for each in self.slots) * (PIECES_MAX - 1)
        # For each slot, those that must be filled by other providers.
        self._suffixes = [each.group.suffix for each in matched]
        self.apart = [frozenset(self._apart_from(n)) for n in range(len(self.slots))]
        whole = [number for number, slot in enumerate(self.slots) if not slot.may_split]
        split = [number for number, slot in enumerate(self.slots) if slot.may_split]
        orders = _orders(split, _alike(query, self.slots))
        # A slot takes from what earlier ones leave, so the order makes a difference.
        some = list(islice(orders, ORDERS_MAX + 1)) if self.compete else [next(orders)]
        self.has_more_orders = len(some) > ORDERS_MAX
        self.orders = [(*whole, *order) for order in some[:ORDERS_MAX]]
        self.steps = 0  # that were made
        self._steps_left = STEPS_MAX
        self._rooms: dict[int, Room] = {}
        self._checks: dict[tuple[int, ...], list[list[Constraint]]] = {}

    def _contended(self) -> list[int]:
        """The classes that several slots ask for."""
        asked = Counter(class_id for each in self.slots for class_id in each.slot.demands)
        return [class_id for class_id, count in asked.items() if count > 1]

    def _apart_from(self, number: int) -> Iterator[int]:
        for constraint in self.constraints.different_providers:
            self.budget.step()
            if number in constraint.slots:
                own = self._suffixes[number]
                yield from (n for n in constraint.slots if self._suffixes[n] != own)

    def room(self, class_id: int) -> Room:
        if class_id not in self._rooms:
            self._rooms[class_id] = Room(self.index, class_id)
        return self._rooms[class_id]

    def checks(self, order: tuple[int, ...]) -> list[list[Constraint]]:
        """For each slot, in an order of filling, the constraints that are checked after it."""
        if order not in self._checks:
            self._checks[order] = self.constraints.steps(order)
        return self._checks[order]

    def add_step(self, steps_of_tree: int) -> None:
        """Account for one more step. Raises `OutOfSteps` when the search has made enough."""
        self.steps += 1
        self.budget.step()
        # The first steps of each tree are free, so that every tree gets its chance.
        self._steps_left -= steps_of_tree > STEPS_OF_TREE_FREE
        if self._steps_left <= 0 and steps_of_tree > STEPS_OF_TREE_FREE:
            raise OutOfSteps


def _orders(numbers: Sequence[int], alike: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The orders of these slots, without those in which only slots that are alike differ."""

    def turns_of(rest: list[int]) -> Iterator[int]:
        return iter(sorted({alike[number]: number for number in reversed(rest)}.values()))

    if not numbers:
        yield ()
        return
    chosen: dict[int, None] = {}
    # Not recursive, since there may be as many slots as Python allows calls within each other.
    turns = [turns_of(list(numbers))]
    while turns:
        number = next(turns[-1], None)
        if number is None:
            turns.pop()
            if chosen:
                chosen.popitem()
            continue
        chosen[number] = None
        rest = [other for other in numbers if other not in chosen]
        if rest:
            turns.append(turns_of(rest))
        else:
            yield tuple(chosen)
            chosen.popitem()


def _alike(query: CandidateQuery, slots: Sequence[SplitSlot]) -> list[int]:
    """For each slot the first one that it may change places with, in every way: perhaps itself."""
    names_groups = bool(query.same_subtree or query.elsewhere or query.isolated)
    kinds: dict[str, object] = {
        group.suffix: (what_it_asks(group), group.can_split)
        for group in query.groups
        # Where a rule ties the slots of a group together, one of them cannot change alone.
        if group.suffix and not names_groups and not (query.isolate and len(group.resources) > 1)
    }
    firsts: dict[object, int] = {}
    alike = []
    for number, each in enumerate(slots):
        kind = kinds.get(each.slot.group.suffix)
        key = number if kind is None else (kind, tuple(each.slot.demands.items()))
        alike.append(firsts.setdefault(key, number))
    return alike
