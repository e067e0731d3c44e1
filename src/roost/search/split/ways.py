"""The ways of one tree to serve a request whose amounts may be split."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice, permutations
from typing import assert_never

from roost.query import CandidateQuery
from roost.search.budget import Budget
from roost.search.constraints import Constraint, Pieces, Room
from roost.search.index.index import Index
from roost.search.request_constraints import RequestConstraints
from roost.search.sharing import sharing_with
from roost.search.split.answer import SplitWay, amounts_of
from roost.search.split.pieces import PIECES_MAX
from roost.search.split.slots import SplitSlot, slots_of

# This search does not look ahead, so a request with many groups could take for ever. After these
# numbers of choices it gives up a tree, and then the whole search, with what it found so far. The
# limits count choices and not time, so that the search stops at the same point for every page.
STEPS_OF_TREE_FREE = 100
STEPS_OF_TREE_MAX = 20_000
STEPS_MAX = 500_000
# How many choices are tried between two checks of the deadline.
STEPS_PER_CHECK = 256
# How many orders are tried in which slots are split one after the other.
ORDERS_MAX = 24


class SplitKind(StrEnum):
    """Which splits a way has. A tree that has ways of the first kind does not use the second."""

    # Of each amount alone: no provider could be left out.
    MINIMAL = "minimal"
    # Within what other slots leave, and with providers that could be left out of an amount alone.
    NOT_MINIMAL = "not minimal"


class SplitRequest:
    """The request, prepared for every tree, and how many choices may still be tried in all."""

    def __init__(
        self,
        index: Index,
        query: CandidateQuery,
        *,
        together: bool,
        budget: Budget | None,
    ) -> None:
        self.index = index
        self.slots = slots_of(index, query)
        matched = [each.slot for each in self.slots]
        self.constraints = RequestConstraints(index, query, matched, together=together)
        self.steps_in_order = self.constraints.steps(range(len(self.slots)))
        self.together = together
        self.compete = together and self._has_contended_split()
        self.needs_traits = bool(self.constraints.traits_among_providers)
        self.needs_subtree = bool(query.same_subtree)
        # How many pieces more than slots there can be.
        self.extra_max = sum(each.may_split for each in self.slots) * (PIECES_MAX - 1)
        self.steps = 0  # choices tried
        self.gave_up = False  # whether it gave up somewhere, so that ways may be missing
        self._steps_left = STEPS_MAX
        self._budget = Budget() if budget is None else budget
        self._rooms: dict[int, Room] = {}

    def _has_contended_split(self) -> bool:
        """Whether several slots ask for a class of which an amount may be split."""
        asked = [class_id for each in self.slots for class_id in each.slot.demands]
        return any(
            asked.count(class_id) > 1
            for each in self.slots
            if each.may_split
            for class_id in each.slot.demands
        )

    def room(self, class_id: int) -> Room:
        if class_id not in self._rooms:
            self._rooms[class_id] = Room(self.index, class_id)
        return self._rooms[class_id]

    def goes_on(self, steps_of_tree: int) -> bool:
        """Whether one more choice may be tried."""
        self.steps += 1
        # The first choices of each tree are free, so that every tree gets its chance.
        self._steps_left -= steps_of_tree > STEPS_OF_TREE_FREE
        if self.steps % STEPS_PER_CHECK == 0 and not self._budget.is_left:
            self._steps_left = 0
        goes_on = steps_of_tree <= STEPS_OF_TREE_MAX and self._steps_left > 0
        self.gave_up |= not goes_on
        return goes_on


class TreeWays:
    """The ways of one tree; splits are made on demand."""

    def __init__(self, request: SplitRequest, root: int) -> None:
        self._request = request
        self._root = root
        sharing = sharing_with(request.index, root)
        self._options = [_Options(slot, root, sharing) for slot in request.slots]
        # How many pieces more than one the slots from each on may have, at most.
        most = [options.extra_max for options in self._options]
        self._extra_left = [sum(most[number:]) for number in range(len(most) + 1)]
        self._steps = 0

    def ways(self, kind: SplitKind, extra: int) -> Iterator[SplitWay]:
        """The ways with splits of this kind that have `extra` pieces more than slots."""
        match kind:
            case SplitKind.MINIMAL:
                return self._minimal(extra)
            case SplitKind.NOT_MINIMAL:
                return self._not_minimal(extra)
        assert_never(kind)

    def _minimal(self, extra: int) -> Iterator[SplitWay]:
        must_be_whole = (each for each in self._options if not (extra and each.extra_max))
        if extra > self._extra_left[0] or not all(each.whole for each in must_be_whole):
            return iter(())
        return self._extended([], extra)

    def _not_minimal(self, extra: int) -> Iterator[SplitWay]:
        request = self._request
        if extra > self._extra_left[0] or not self._may_need_more():
            return
        whole = [number for number, slot in enumerate(request.slots) if not slot.may_split]
        split = [number for number, slot in enumerate(request.slots) if slot.may_split]
        # A slot takes from what earlier ones leave, so the order makes a difference.
        orders = permutations(split) if request.compete else [split]
        for some in islice(orders, ORDERS_MAX):
            order = (*whole, *some)
            yield from self._filled(order, request.constraints.steps(order), {}, extra)

    def _may_need_more(self) -> bool:
        """Whether slots compete, or one more provider brings a trait or is above the others."""
        request = self._request
        if request.compete or request.needs_traits:
            return True
        return request.needs_subtree and any(
            slot.may_split and slot.has_nested_providers(self._root) for slot in request.slots
        )

    def _goes_on(self) -> bool:
        self._steps += 1
        return self._request.goes_on(self._steps)

    # -- minimal splits, each slot on its own --------------------------------------------------

    def _extended(self, way: list[Pieces], extra: int) -> Iterator[SplitWay]:
        number = len(way)
        if number == len(self._options):
            yield tuple(way)
            return
        for pieces in self._options[number].up_to(extra):
            if not self._goes_on():
                return
            left = extra - len(pieces) + 1
            if left > self._extra_left[number + 1]:
                continue
            way.append(pieces)
            if all(check.allows(way) for check in self._request.steps_in_order[number]):
                yield from self._extended(way, left)
            way.pop()

    # -- other splits, each slot within what those before it leave -----------------------------

    def _filled(
        self,
        order: Sequence[int],
        steps: Sequence[Sequence[Constraint]],
        way: dict[int, Pieces],
        extra: int,
    ) -> Iterator[SplitWay]:
        if len(way) == len(order):
            if not extra:
                yield tuple(way[number] for number in sorted(order))
            return
        number = order[len(way)]
        for pieces in self._pieces_within(number, way):
            if not self._goes_on():
                return
            if len(pieces) - 1 > extra:
                continue
            way[number] = pieces
            if all(check.allows(way) for check in steps[len(way) - 1]):
                yield from self._filled(order, steps, way, extra - len(pieces) + 1)
            del way[number]

    def _pieces_within(self, number: int, way: Mapping[int, Pieces]) -> Iterator[Pieces]:
        """What fills a slot within the room that the filled slots leave."""
        yield from self._options[number].whole
        slot = self._request.slots[number]
        if not slot.may_split:
            return
        ((class_id, _),) = slot.slot.demands.items()
        taken = amounts_of(way.values()) if self._request.together else {}
        whole_room = self._request.room(class_id)

        def room(row: int) -> int:
            return whole_room.of_row(row) - taken.get((row, class_id), 0)

        yield from slot.split_within(self._root, room)


class _Options:
    """What can fill one slot in one tree, those with the fewest pieces first."""

    def __init__(self, slot: SplitSlot, root: int, sharing: Sequence[int]) -> None:
        self.whole = slot.whole(root, sharing)
        self.extra_max = slot.pieces_max(root) - 1
        self._more = slot.split(root) if self.extra_max else iter(())
        self._split: list[Pieces] = []  # those that have been made
        self._ahead: Pieces | None = None

    def up_to(self, extra: int) -> Iterator[Pieces]:
        """With at most `extra` pieces more than one."""
        yield from self.whole
        number = 0
        while extra and (number < len(self._split) or self._read(extra)):
            if len(self._split[number]) - 1 > extra:
                return
            yield self._split[number]
            number += 1

    def _read(self, extra: int) -> bool:
        """Make one more split with at most `extra` pieces more than one; False if there is none."""
        if self._ahead is None:
            self._ahead = next(self._more, None)
        if self._ahead is None or len(self._ahead) - 1 > extra:
            return False
        self._split.append(self._ahead)
        self._ahead = None
        return True
