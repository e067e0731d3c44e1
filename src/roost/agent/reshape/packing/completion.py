"""A search for tight packings that tear nobody: one branch after the other is filled.

Where hardly anything is left over, each branch has to be filled almost to the brim, and few sets of
consumers do that. So the search takes one branch, finds a set that leaves no more than can be left
over in all, and goes on with the next branch. If those that remain are identical, the largest
consumer can be in any of them, so it is in the one that is being filled. Nothing is left out: a
search that ends without a packing proves that there is none.
"""

from collections.abc import Iterator, Sequence

from roost.agent.reshape.packing.bins import Bins, Vector

# Bits of all sets of sums. Beyond this only their limits are known.
BITS_MAX = 10_000_000


class GaveUp(Exception):
    """The search has used up its steps."""


class Budget:
    """How many steps a search may take."""

    def __init__(self, steps: int) -> None:
        self.steps = 0
        self._most = steps

    def spend(self, steps: int = 1) -> None:
        self.steps += steps
        if self.steps > self._most:
            raise GaveUp


def complete(bins: Bins, budget: Budget) -> list[dict[int, int]] | None:
    """For each bin how many of each item; None if there is no such packing. Raises GaveUp."""
    left = [item.consumers for item in bins.items]
    needed = [sum(item.amounts[at] * item.consumers for item in bins.items) for at in _axes(bins)]
    spare = [sum(each[at] for each in bins.capacities) - needed[at] for at in _axes(bins)]
    if min(spare, default=0) < 0:
        return None
    # Small bins first: few sets fill them. Identical bins follow each other.
    allowed = [tuple(at in item.bins for item in bins.items) for at in range(len(bins.capacities))]
    order = sorted(range(len(bins.capacities)), key=lambda at: (bins.capacities[at], allowed[at]))
    chosen: list[dict[int, int]] = []
    spares = [spare]
    options: list[Iterator[dict[int, int]]] = []
    while len(chosen) < len(order):
        if len(options) == len(chosen):
            at = order[len(chosen)]
            is_last_kind = all(
                (bins.capacities[each], allowed[each]) == (bins.capacities[at], allowed[at])
                for each in order[len(chosen) :]
            )
            options.append(
                _fillings(bins, at, left, spares[-1], budget, takes_largest=is_last_kind)
            )
        filling = next(options[-1], None)
        if filling is not None:
            capacity = bins.capacities[order[len(chosen)]]
            spares.append(
                [
                    spares[-1][axis]
                    - capacity[axis]
                    + sum(bins.items[item].amounts[axis] * n for item, n in filling.items())
                    for axis in _axes(bins)
                ]
            )
            for item, count in filling.items():
                left[item] -= count
            chosen.append(filling)
            continue
        options.pop()
        if not chosen:
            return None
        for item, count in chosen.pop().items():
            left[item] += count
        spares.pop()
    found: list[dict[int, int]] = [{} for _ in order]
    for at, filling in zip(order, chosen, strict=True):
        found[at] = filling
    return found


def _axes(bins: Bins) -> range:
    return range(len(bins.items[0].amounts) if bins.items else 0)


def _fillings(
    bins: Bins,
    at: int,
    left: Sequence[int],
    spare: list[int],
    budget: Budget,
    *,
    takes_largest: bool,
) -> Iterator[dict[int, int]]:
    """The sets of items that leave at most `spare` of a bin."""
    capacity = bins.capacities[at]
    items = [
        (number, item.amounts, left[number])
        for number, item in enumerate(bins.items)
        if left[number] and at in item.bins
    ]
    reachable = [
        _suffix_sums([(a[axis], n) for _, a, n in items], capacity[axis]) for axis in _axes(bins)
    ]
    chosen: list[int] = []  # how many of each item
    rooms: list[Vector] = [capacity]
    counts: list[Iterator[int]] = []
    while True:
        budget.spend()
        room = rooms[-1]
        position = len(chosen)
        is_open = len(counts) > position
        if not is_open:
            if not all(
                sums.reaches(position, n - most, n)
                for sums, n, most in zip(reachable, room, spare, strict=True)
            ):
                counts.append(iter(()))
            elif position == len(items):
                yield {items[each][0]: n for each, n in enumerate(chosen) if n}
                counts.append(iter(()))
            else:
                _, amounts, count = items[position]
                most = min(count, *(n // a for n, a in zip(room, amounts, strict=True) if a))
                least = 1 if takes_largest and position == 0 else 0
                counts.append(iter(range(most, least - 1, -1)))
        taken = next(counts[-1], None)
        if taken is None:
            counts.pop()
            if not chosen:
                return
            chosen.pop()
            rooms.pop()
        else:
            chosen.append(taken)
            rooms.append(
                tuple(n - a * taken for n, a in zip(room, items[position][1], strict=True))
            )


class _SuffixSums:
    """Which sums of one class the items from a position on can reach."""

    def __init__(self, totals: list[int], sums: list[int] | None) -> None:
        self._totals = totals
        self._sums = sums  # sets of bits; None if the numbers are too large for that

    def reaches(self, position: int, least: int, most: int) -> bool:
        """Whether some sum is within the limits."""
        if self._totals[position] < least:
            return False
        least = max(0, least)
        if self._sums is None:
            return True
        return (self._sums[position] >> least) & ((1 << (most - least + 1)) - 1) != 0


def _suffix_sums(items: list[tuple[int, int]], capacity: int) -> _SuffixSums:
    totals = [0]
    sums = [1] if capacity * len(items) <= BITS_MAX else None
    for amount, count in reversed(items):
        totals.append(totals[-1] + amount * count)
        if sums is not None:
            reached = sums[-1]
            # Any number of them is a sum of some powers of two and a rest.
            step = 1
            count = min(count, capacity // amount) if amount else 0
            while count > 0:
                taken = min(step, count)
                reached |= reached << (amount * taken)
                count -= taken
                step *= 2
            sums.append(reached & ((1 << (capacity + 1)) - 1))
    return _SuffixSums(totals[::-1], sums and sums[::-1])
