"""How an amount is split into pieces, one for each of several providers.

A split of an amount is a set of providers of which none could be left out, and for each order of
them a piece for each: the first as large as possible, then the second, and so on. So 6 from two
providers that have 4 each is 4 + 2 or 2 + 4, and what fits on one provider is not split with it.
Splits are made for each class of a group alone; the constraints between slots are checked later.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

# Limits of the search for splits: how many pieces an amount may have, how many sets of providers
# are tried in a tree, and how many amounts are tried where steps and units do not meet.
PIECES_MAX = 4
SETS_MAX = 2_000
AMOUNTS_MAX = 10_000


class PieceSizes(NamedTuple):
    """The sizes of a piece that one provider can serve: from `low` to `high`, in steps."""

    low: int
    high: int
    step: int


def piece_sizes(*, free: int, min_unit: int, max_unit: int, step_size: int) -> PieceSizes | None:
    """For an inventory with these units; None if it can serve no piece at all."""
    low = -(-max(min_unit, 1) // step_size) * step_size
    high = min(free, max_unit) // step_size * step_size
    return PieceSizes(low, high, step_size) if low <= high else None


def splits(
    sizes: Mapping[int, PieceSizes], amount: int, *, minimal: bool = True
) -> Iterator[dict[int, int]]:
    """Every split of the amount, as row -> size of the piece, those with the fewest pieces first.

    Splits that are not `minimal` may contain providers that could be left out.
    """
    largest = sorted((each.high for each in sizes.values()), reverse=True)
    if sum(largest[:PIECES_MAX]) < amount:
        return
    divider = _Divider()
    sufficient: list[frozenset[int]] = []
    sets = itertools.chain.from_iterable(
        itertools.combinations(sizes, count) for count in range(1, PIECES_MAX + 1)
    )
    for rows in itertools.islice(sets, SETS_MAX):
        members = frozenset(rows)
        if any(some < members for some in sufficient):
            continue
        found: list[dict[int, int]] = []
        for order in itertools.permutations(rows):
            pieces = divider.pieces([sizes[row] for row in order], amount)
            if pieces is None:
                # An amount that cannot be divided in one order cannot be in another.
                break
            split = dict(zip(order, pieces, strict=True))
            if split not in found:
                found.append(split)
        if found and minimal:
            sufficient.append(members)
        yield from found


class _Divider:
    """Divides an amount among providers, and gives up after too many attempts."""

    def __init__(self) -> None:
        self._left = AMOUNTS_MAX  # how many amounts may still be tried

    def pieces(self, sizes: Sequence[PieceSizes], amount: int) -> list[int] | None:
        """A piece for each, the first as large as can be, then the second, and so on."""
        if amount % math.gcd(*(each.step for each in sizes)):
            return None
        first, *rest = sizes
        if not rest:
            return [amount] if first.low <= amount <= first.high else None
        # No more than leaves the others their smallest pieces, no less than exceeds their largest.
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
