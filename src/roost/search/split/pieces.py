"""Amounts that may be spread over several providers of one tree: `can_split`.

A split of an amount is a set of providers of which none could be left out, and for each order of
them what they take: the first as much as it can, then the second, and so on. So 6 of two that have
4 each is 4 + 2 or 2 + 4, and what fits on one is not split with it. What is a split is decided for
each class of a group alone; then all groups together must fit, as ever.

This is searched one tree at a time and in plain Python: few ask for it, and it is no part of other
searches.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

# Beyond these a split is not looked for: how many pieces an amount may have, how many sets of
# providers are tried in a tree, and how many amounts where steps and units do not meet.
PIECES_MAX = 4
SETS_MAX = 2_000
AMOUNTS_MAX = 10_000


class Offer(NamedTuple):
    """What one provider could take of an amount: from `low` to `high`, in steps."""

    low: int
    high: int
    step: int


def offer(*, free: int, min_unit: int, max_unit: int, step_size: int) -> Offer | None:
    low = -(-max(min_unit, 1) // step_size) * step_size
    high = min(free, max_unit) // step_size * step_size
    return Offer(low, high, step_size) if low <= high else None


def splits(
    offers: Mapping[int, Offer], amount: int, *, minimal: bool = True
) -> Iterator[dict[int, int]]:
    """Every split of the amount, as row -> piece, those with the fewest pieces first.

    Unless they should be `minimal`, providers may take part that could be left out.
    """
    largest = sorted((each.high for each in offers.values()), reverse=True)
    if sum(largest[:PIECES_MAX]) < amount:
        return
    filling = _Filling()
    sufficient: list[frozenset[int]] = []
    sets = itertools.chain.from_iterable(
        itertools.combinations(offers, count) for count in range(1, PIECES_MAX + 1)
    )
    for rows in itertools.islice(sets, SETS_MAX):
        members = frozenset(rows)
        if any(some < members for some in sufficient):
            continue
        found: list[dict[int, int]] = []
        for order in itertools.permutations(rows):
            pieces = filling.pieces([offers[row] for row in order], amount)
            if pieces is None:
                # What cannot be had in one order cannot be had in another.
                break
            split = dict(zip(order, pieces, strict=True))
            if split not in found:
                found.append(split)
        if found and minimal:
            sufficient.append(members)
        yield from found


class _Filling:
    """Fills providers one after the other, and gives up when that takes too long."""

    def __init__(self) -> None:
        self._left = AMOUNTS_MAX  # how many amounts may still be tried

    def pieces(self, offers: Sequence[Offer], amount: int) -> list[int] | None:
        """A piece for each, the first as large as can be, then the second, and so on."""
        if amount % math.gcd(*(each.step for each in offers)):
            return None
        first, *rest = offers
        if not rest:
            return [amount] if first.low <= amount <= first.high else None
        # No more than leaves enough for the others, and no less than they can take.
        high = min(first.high, amount - sum(one.low for one in rest)) // first.step * first.step
        low = max(first.low, amount - sum(one.high for one in rest))
        for piece in range(high, low - 1, -first.step):
            if not self._left:
                return None
            self._left -= 1
            others = self.pieces(rest, amount - piece)
            if others is not None:
                return [piece, *others]
        return None
