"""The ways of one tree to serve a request whose amounts may be split."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from roost.search.constraints import Pieces
from roost.search.sharing import sharing_with
from roost.search.split import request as limits
from roost.search.split.answer import SplitWay, amounts_of
from roost.search.split.pieces import PIECES_MAX, SplitKind, splits
from roost.search.split.request import SplitRequest
from roost.search.split.slots import SplitSlot
from roost.search.split.steps import OutOfSteps

# How many providers are looked through in the time of one step.
ROWS_PER_STEP = 64
# How many slots that are filled are compared with the next one in the time of one step.
SLOTS_PER_STEP = 16


class TreeWays:
    """The ways of one tree; splits are made on demand."""

    def __init__(self, request: SplitRequest, root: int) -> None:
        self._request = request
        self._root = root
        self._sharing = sharing_with(request.index, root)
        self._slots = [_SlotOfTree(slot, root, self._sharing) for slot in request.slots]
        self._totals: dict[object, _Total] = {}
        self._is_possible = all(
            slot.extra_least <= slot.extra_most for slot in self._slots
        ) and self._totals_suffice(tuple(range(len(self._slots))), {})
        self._may_run_short = self._is_possible and self._can_be_wasted()
        if not self._is_possible:
            # Most trees of a full cloud are like this, and the search remembers all of them.
            self._slots.clear()
            self._totals.clear()
        self._steps = 0
        self._steps_left = 0
        # Whether something was not tried that could have been a way.
        self.has_untried = False
        self._has_found = False
        self._extras: dict[SplitKind, range] = {}

    def extras(self, kind: SplitKind) -> range:
        """How many pieces more than slots ways of a kind may have.

        Whether a kind is of use is only known when the kinds before it have been tried.
        """
        if kind not in self._extras:
            least = sum(slot.extra_least for slot in self._slots)
            most = sum(slot.extra_most for slot in self._slots)
            is_needed = self._is_possible and self._needs(kind)
            self._extras[kind] = range(least, most + 1) if is_needed else range(0)
        return self._extras[kind]

    def ways(self, kind: SplitKind, extra: int) -> Iterator[SplitWay]:
        """The ways with splits of this kind that have `extra` pieces more than slots."""
        extras = self.extras(kind)
        if extra not in extras:
            return
        orders = self._request.orders
        if kind is not SplitKind.NOT_MINIMAL:
            # Each slot is split on its own, or in all sizes, so the order makes no difference.
            orders = [tuple(range(len(self._slots)))]
        if kind is SplitKind.ANY_SIZE and extra == extras[0]:
            # What follows tries everything, so it does not matter what was not tried before.
            self.has_untried = False
        self.has_untried |= kind is SplitKind.NOT_MINIMAL and self._request.has_more_orders
        for order in orders:
            self._steps_left = limits.STEPS_OF_TREE_MAX // len(orders)
            try:
                for way in self._filled(kind, order, extra):
                    self._has_found = True
                    yield way
            except OutOfSteps:
                self.has_untried = True

    def has_way(self) -> bool:
        return any(
            True
            for kind in SplitKind
            for extra in self.extras(kind)
            for _ in self.ways(kind, extra)
        )

    # -- what is worth trying ------------------------------------------------------------------

    def _needs(self, kind: SplitKind) -> bool:
        """Whether a kind is of use, now that those before it have been tried."""
        request = self._request
        if kind is SplitKind.MINIMAL:
            return True
        if self._has_found:
            return False
        if kind is SplitKind.ANY_SIZE:
            # Sizes make a difference only to what others leave. In uniform units there is always a
            # way in which each slot takes all that is left of its providers, but for the last.
            return request.compete and (
                self.has_untried
                or request.needs_traits
                or request.needs_subtree
                or not all(slot.offers.are_uniform for slot in self._slots)
            )
        # Slots compete, or one more provider brings a trait or is above the others.
        if request.compete or request.needs_traits:
            return True
        return request.needs_subtree and any(
            slot.may_split and slot.has_nested_providers(self._root) for slot in request.slots
        )

    def _totals_suffice(self, order: tuple[int, ...], way: Mapping[int, Pieces]) -> bool:
        """Whether what is left of each class, added up, suffices for the slots that are left."""
        for class_id in self._request.contended:
            total = self._total(order, len(way), class_id)
            left = total.room
            if way:
                touched = {piece.row for pieces in way.values() for piece in pieces} & total.rows
                left -= sum(self._lost(row, class_id, total.slots, way) for row in touched)
            if left < total.asked:
                return False
        return True

    def _can_be_wasted(self) -> bool:
        """Whether a slot may take, or keep others from, more than it must of what they need."""
        slots, contended = self._request.slots, self._request.contended
        asking = [
            n for n, slot in enumerate(slots) if not slot.slot.demands.keys().isdisjoint(contended)
        ]
        return any(self._request.apart[number] for number in asking) or any(
            slots[number].rows_of(self._root, self._sharing)
            != slots[asking[0]].rows_of(self._root, self._sharing)
            for number in asking[1:]
        )

    def _lost(
        self, row: int, class_id: int, slots: frozenset[int], way: Mapping[int, Pieces]
    ) -> int:
        """How much of the room of a provider these slots cannot have any more."""
        serving = {n for n, pieces in way.items() if any(piece.row == row for piece in pieces)}
        if all(serving & self._request.apart[number] for number in slots):
            return self._request.room(class_id).of_row(row)
        return sum(
            piece.resources.get(class_id, 0)
            for number in serving
            for piece in way[number]
            if piece.row == row
        )

    def _total(self, order: tuple[int, ...], depth: int, class_id: int) -> "_Total":
        """What the slots that are filled from a depth on ask for, and what could serve them."""
        key = order[depth:], class_id
        if key not in self._totals:
            asking = [n for n in order[depth:] if class_id in self._request.slots[n].slot.demands]
            slots = [self._request.slots[number] for number in asking]
            rows = {row for slot in slots for row in slot.rows_of(self._root, self._sharing)}
            self._request.budget.step(1 + len(rows) // ROWS_PER_STEP)
            room = self._request.room(class_id).of_rows(np.array(sorted(rows), dtype=np.int64))
            asked = sum(slot.slot.demands[class_id] for slot in slots)
            self._totals[key] = _Total(int(room.sum()), asked, rows, frozenset(asking))
        return self._totals[key]

    # -- trying --------------------------------------------------------------------------------

    def _step(self) -> None:
        self._steps += 1
        self._steps_left -= 1
        self._request.add_step(self._steps)
        if self._steps_left < 0:
            raise OutOfSteps

    def _filled(self, kind: SplitKind, order: tuple[int, ...], extra: int) -> Iterator[SplitWay]:
        """The ways that fill all slots, with `extra` pieces more than slots."""
        checks = self._request.checks(order)
        slots = [self._slots[number] for number in order]
        # How many pieces more than one the slots behind each one have together.
        least = _sums_behind([slot.extra_least for slot in slots])
        most = _sums_behind([slot.extra_most for slot in slots])
        way: dict[int, Pieces] = {}

        def choices(depth: int, extra: int) -> tuple[Iterator[Pieces], int]:
            slot = slots[depth]
            extras = range(
                max(slot.extra_least, extra - most[depth]),
                min(slot.extra_most, extra - least[depth]) + 1,
            )
            return self._pieces(kind, order[depth], way, extras), extra

        # Not recursive, since there may be as many slots as Python allows calls within each other.
        turns = [choices(0, extra)]
        while turns:
            depth = len(turns) - 1
            untried, left = turns[depth]
            way.pop(order[depth], None)
            pieces = next(untried, None)
            if pieces is None:
                turns.pop()
                continue
            self._step()
            self._request.budget.step(depth // SLOTS_PER_STEP)
            way[order[depth]] = pieces
            if not all(check.allows(way) for check in checks[depth]):
                continue
            if self._may_run_short and not self._totals_suffice(order, way):
                continue
            if len(way) < len(order):
                turns.append(choices(depth + 1, left - len(pieces) + 1))
            else:
                yield tuple(way[number] for number in range(len(order)))

    def _pieces(
        self, kind: SplitKind, number: int, way: Mapping[int, Pieces], extras: range
    ) -> Iterator[Pieces]:
        """What fills a slot within the room that the filled slots leave."""
        slot = self._request.slots[number]
        if 0 in extras:
            yield from map(slot.piece, self._slots[number].whole_rows)
        counts = range(max(2, extras.start + 1), extras.stop + 1)
        if counts:
            ((class_id, amount),) = slot.slot.demands.items()
            offers, left = self._slots[number].offers, self._left(number, class_id, way)
            self._request.budget.step(len(offers.largest) // ROWS_PER_STEP)
            for split in splits(
                offers, amount, kind=kind, counts=counts, left=left, on_step=self._step
            ):
                yield slot.pieces(split)

    def _left(self, number: int, class_id: int, way: Mapping[int, Pieces]) -> dict[int, int]:
        """What the filled slots leave for this slot of the providers that they use."""
        left: dict[int, int] = {}
        if self._request.together:
            room = self._request.room(class_id)
            for (row, of), amount in amounts_of(way.values()).items():
                if of == class_id:
                    left[row] = room.of_row(row) - amount
        for other in self._request.apart[number] & way.keys():
            left.update((piece.row, 0) for piece in way[other])
        return left


def _sums_behind(numbers: Sequence[int]) -> list[int]:
    """For each of the numbers the sum of those behind it."""
    return [*accumulate(reversed(numbers), initial=0)][-2::-1]


class _Total(NamedTuple):
    """What some slots ask for of a class, and what the providers have that can serve them."""

    room: int
    asked: int
    rows: set[int]
    slots: frozenset[int]


class _SlotOfTree:
    """What can fill one slot in one tree."""

    def __init__(self, slot: SplitSlot, root: int, sharing: Sequence[int]) -> None:
        self.whole_rows = slot.whole_rows(root, sharing)
        self.offers = slot.offers(root)
        # How many pieces more than one it has at least and at most; if it has none at all, the
        # least is more than the most.
        self.extra_least, self.extra_most = 0, 0
        if slot.may_split:
            ((_, amount),) = slot.slot.demands.items()
            fewest = self.offers.fewest_pieces(amount)
            if fewest is not None:
                self.extra_least = 0 if self.whole_rows else max(fewest - 1, 1)
                self.extra_most = min(PIECES_MAX, len(self.offers.largest)) - 1
                return
        self.extra_least = 0 if self.whole_rows else 1
