"""How an amount is split into pieces, one for each of several providers.

A split of an amount is a set of providers of which none could be left out, and for each order of
them a piece for each: the first as large as possible, then the second, and so on. So 6 from two
providers that have 4 each is 4 + 2 or 2 + 4, and what fits on one provider is not split with it.
Splits are made for each class of a group alone; the constraints between slots are checked later.

Sets are tried from the largest offers down, and a partial set is left out as soon as the largest
offers that remain cannot complete it. So where units do not matter, every set that is tried
suffices, and whether there is a split at all is known at once, however wide the tree is.
"""

import itertools
import math
from bisect import insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from roost.search.split.steps import OutOfSteps

# A rule of the query language and not a limit of the search: no amount has more pieces.
PIECES_MAX = 4


class SplitKind(StrEnum):
    """Which splits a way has. A tree that has ways of one kind does not use the next."""

    # Of each amount alone: no provider could be left out.
    MINIMAL = "minimal"
    # Within what other slots leave, and with providers that could be left out of an amount alone.
    NOT_MINIMAL = "not minimal"
    # Pieces of every size, for what neither of the others can prove.
    ANY_SIZE = "any size"


class PieceSizes(NamedTuple):
    """The sizes of a piece that one provider can serve: from `low` to `high`, in steps."""

    low: int
    high: int
    step: int


class Offer(NamedTuple):
    """What one provider can serve, and how much of it other slots leave."""

    row: int
    sizes: PieceSizes
    most: int


def _largest_first(offer: Offer) -> tuple[int, int]:
    # With equal offers the rows decide, so that all processes have the same order.
    return -offer.most, offer.row


class Offers:
    """What the providers of one tree can serve of one amount, the largest first."""

    def __init__(self, sizes: Mapping[int, PieceSizes], *, has_more: bool = False) -> None:
        """There may be more that are smaller, too many to try."""
        found = (Offer(row, each, each.high) for row, each in sizes.items())
        self.largest = sorted(found, key=_largest_first)
        self.has_more = has_more
        steps = {each.step for each in sizes.values()}
        # Whether every provider can serve every multiple of one step, up to what it has.
        self.are_uniform = len(steps) < 2 and all(each.low == each.step for each in sizes.values())

    def fewest_pieces(self, amount: int) -> int | None:
        """A lower bound of how many pieces the amount needs; None: it cannot be served."""
        served = itertools.accumulate(offer.most for offer in self.largest[:PIECES_MAX])
        return next((count for count, most in enumerate(served, 1) if most >= amount), None)

    def within(self, left: Mapping[int, int], kind: SplitKind) -> list[Offer]:
        """The same where other slots leave only so much of some of the providers."""
        if not left:
            return self.largest
        found = [offer for offer in self.largest if offer.row not in left]
        for row, sizes, _ in (offer for offer in self.largest if offer.row in left):
            most = min(sizes.high, left[row]) // sizes.step * sizes.step
            if sizes.low <= most:
                # What others leave bounds each piece. But whether a provider could be left out
                # depends on what the others have, and not on what is left of it.
                own = sizes if kind is SplitKind.MINIMAL else sizes._replace(high=most)
                insort(found, Offer(row, own, most), key=_largest_first)
        return found


def piece_sizes(*, free: int, min_unit: int, max_unit: int, step_size: int) -> PieceSizes | None:
    """For an inventory with these units; None if it can serve no piece at all."""
    low = -(-max(min_unit, 1) // step_size) * step_size
    high = min(free, max_unit) // step_size * step_size
    return PieceSizes(low, high, step_size) if low <= high else None


def splits(
    offers: Offers,
    amount: int,
    *,
    kind: SplitKind = SplitKind.MINIMAL,
    counts: Sequence[int] = range(1, PIECES_MAX + 1),
    left: Mapping[int, int] | None = None,
    on_step: Callable[[], None] = lambda: None,
) -> Iterator[dict[int, int]]:
    """Every split of the amount, as row -> size of the piece, those with the fewest pieces first.

    `left` says how much other slots leave of the providers that they use. `on_step` is called for
    whatever is tried, and may raise to end it.
    """
    sets = _Sets(offers, amount, kind, left or {}, on_step)
    for count in counts:
        for chosen in sets.of_size(count):
            if kind is SplitKind.ANY_SIZE:
                yield from _in_all_sizes(chosen, amount, on_step)
            else:
                yield from _in_all_orders(chosen, amount, on_step)


def _in_all_orders(
    chosen: Sequence[Offer], amount: int, on_step: Callable[[], None]
) -> Iterator[dict[int, int]]:
    """For each order of the providers: the first piece as large as can be, then the second."""
    found: list[dict[int, int]] = []
    for order in itertools.permutations(chosen):
        on_step()
        pieces = next(divisions([each.sizes for each in order], amount, on_step), None)
        if pieces is None:
            # An amount that cannot be divided in one order cannot be in another.
            return
        split = {each.row: piece for each, piece in zip(order, pieces, strict=True)}
        fits = all(piece <= each.most for each, piece in zip(order, pieces, strict=True))
        if fits and split not in found:
            found.append(split)
            yield split


def _in_all_sizes(
    chosen: Sequence[Offer], amount: int, on_step: Callable[[], None]
) -> Iterator[dict[int, int]]:
    for pieces in divisions([each.sizes for each in chosen], amount, on_step):
        yield {each.row: piece for each, piece in zip(chosen, pieces, strict=True)}


class _Sets:
    """Sets of providers that suffice for an amount, those with the largest offers first."""

    def __init__(
        self,
        offers: Offers,
        amount: int,
        kind: SplitKind,
        left: Mapping[int, int],
        on_step: Callable[[], None],
    ) -> None:
        self._amount = amount
        self._minimal = kind is SplitKind.MINIMAL
        self._on_step = on_step
        self._is_uniform = offers.are_uniform
        self._has_more = offers.has_more
        self._sufficient: dict[frozenset[int], bool] = {}
        self._offers = offers.within(left, kind)
        self._served = [0, *itertools.accumulate(offer.most for offer in self._offers)]
        self._low_min = min((offer.sizes.low for offer in self._offers), default=0)

    def of_size(self, count: int) -> Iterator[tuple[Offer, ...]]:
        for chosen in self._longer((), 0, count, self._amount, self._amount):
            if not self._minimal or self._is_minimal(chosen):
                yield chosen

    def _longer(
        self, chosen: tuple[Offer, ...], first: int, count: int, wanted: int, room: int
    ) -> Iterator[tuple[Offer, ...]]:
        """With `count` more of the offers from `first` on.

        They must serve at least `wanted`, and their smallest pieces must fit into `room`.
        """
        for number in range(first, len(self._offers) - count + 1):
            self._on_step()
            if self._served[number + count] - self._served[number] < wanted:
                # The largest that remain do not suffice, and later ones are smaller.
                return
            offer = self._offers[number]
            if offer.sizes.low + (count - 1) * self._low_min > room:
                continue
            longer = (*chosen, offer)
            if count == 1:
                yield longer
            elif not (self._minimal and self._suffices(longer)):
                yield from self._longer(
                    longer, number + 1, count - 1, wanted - offer.most, room - offer.sizes.low
                )
        if self._has_more:
            # Smaller ones might do.
            raise OutOfSteps

    def _is_minimal(self, chosen: tuple[Offer, ...]) -> bool:
        """Whether they suffice, and would not without some of them."""
        if self._is_uniform:
            highs = [offer.sizes.high for offer in chosen]
            return self._suffices(chosen) and (
                len(chosen) == 1 or sum(highs) - min(highs) < self._amount
            )
        return self._suffices(chosen) and not any(
            self._suffices(some)
            for count in range(1, len(chosen))
            for some in itertools.combinations(chosen, count)
        )

    def _suffices(self, chosen: Sequence[Offer]) -> bool:
        """Whether the amount can be divided among them if nothing else is taken."""
        sizes = [offer.sizes for offer in chosen]
        if self._is_uniform:
            low, step = len(sizes) * sizes[0].low, sizes[0].step
            high = sum(each.high for each in sizes)
            return low <= self._amount <= high and self._amount % step == 0
        members = frozenset(offer.row for offer in chosen)
        if members not in self._sufficient:
            found = next(divisions(sizes, self._amount, self._on_step), None)
            self._sufficient[members] = found is not None
        return self._sufficient[members]


def divisions(
    sizes: Sequence[PieceSizes], amount: int, on_step: Callable[[], None] = lambda: None
) -> Iterator[list[int]]:
    """Every way to divide the amount: the first with the largest first piece, and so on."""
    first, *rest = sizes
    if not rest:
        if first.low <= amount <= first.high and amount % first.step == 0:
            yield [amount]
        return
    # No more than leaves the others their smallest pieces, no less than exceeds their largest.
    high = min(first.high, amount - sum(one.low for one in rest))
    low = max(first.low, amount - sum(one.high for one in rest))
    # The others can only serve multiples of what their steps have in common.
    pieces = _multiples(first.step, amount, math.gcd(*(one.step for one in rest)), low, high)
    for piece in pieces:
        on_step()
        for others in divisions(rest, amount - piece, on_step):
            yield [piece, *others]


def _multiples(step: int, amount: int, step_of_rest: int, low: int, high: int) -> range:
    """From `high` down to `low`: multiples of `step` that leave a multiple of `step_of_rest`."""
    common = math.gcd(step, step_of_rest)
    if amount % common:
        return range(0)
    factor = amount // common * pow(step // common, -1, step_of_rest // common)
    smallest = factor % (step_of_rest // common) * step
    period = step * (step_of_rest // common)
    largest = high - (high - smallest) % period
    return range(largest, low - 1, -period)
