"""Which consumer goes to which provider when a resource class moves to other providers.

Every consumer holds an amount of the class, and every target has an inventory of it. The search
first tries to put each amount whole on one target, and splits amounts only if that is impossible.
Both are bin packing problems, which may take exponential time. So the search tries the best guess
first and gives up after `STEPS_MAX` steps; on the machines we know the first guess fits.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from roost.model import Inventory, fits

STEPS_MAX = 20_000

# Target -> how much of an amount goes there.
Pieces = Mapping[str, int]


class Target(NamedTuple):
    """A provider that a class moves to."""

    uuid: str
    inventory: Inventory
    held: Mapping[str, int]  # consumer -> what it holds of the class there already


class Holding(NamedTuple):
    """What one consumer holds of the class on the providers that it leaves."""

    consumer: str
    amount: int


class DoesNotFit(Exception):
    """The holdings do not fit on the targets; `holding` is the one that found no place."""

    def __init__(self, holding: Holding) -> None:
        super().__init__(holding)
        self.holding = holding


# (consumer, target) -> how good a guess the target is; lower is better.
Preference = Callable[[str, str], int]


def pack(
    holdings: Sequence[Holding], targets: Sequence[Target], preference: Preference
) -> dict[str, Pieces]:
    """Consumer -> how much of its amount goes to which target. Raises DoesNotFit."""
    # Large amounts first: small ones still fit into what they leave.
    ordered = sorted(holdings, key=lambda holding: (-holding.amount, holding.consumer))
    search = _Search(ordered, targets, preference)
    try:
        return search.run(search.whole)
    except DoesNotFit:
        return search.run(search.whole_or_split)


class _Search:
    def __init__(
        self, holdings: Sequence[Holding], targets: Sequence[Target], preference: Preference
    ) -> None:
        self._holdings = holdings
        self._targets = {target.uuid: target for target in targets}
        self._preference = preference
        self._used: dict[str, int] = {}  # by target
        self._steps = 0  # left

    def run(self, options: Callable[[Holding], Iterator[Pieces]]) -> dict[str, Pieces]:
        """Search depth first, without recursion: consumers may outnumber Python's stack frames."""
        self._used = {uuid: sum(each.held.values()) for uuid, each in self._targets.items()}
        self._steps = STEPS_MAX
        chosen: list[Pieces] = []
        open_options: list[Iterator[Pieces]] = []
        deepest = 0
        while self._steps > 0:
            self._steps -= 1
            if len(chosen) == len(self._holdings):
                return {
                    holding.consumer: pieces
                    for holding, pieces in zip(self._holdings, chosen, strict=True)
                }
            deepest = max(deepest, len(chosen))
            if len(open_options) == len(chosen):
                open_options.append(options(self._holdings[len(chosen)]))
            pieces = next(open_options[-1], None)
            if pieces is not None:
                self._take(pieces, 1)
                chosen.append(pieces)
                continue
            open_options.pop()
            if not chosen:
                break
            self._take(chosen.pop(), -1)
        raise DoesNotFit(self._holdings[deepest])

    def _take(self, pieces: Pieces, sign: int) -> None:
        for uuid, amount in pieces.items():
            self._used[uuid] += sign * amount

    def whole(self, holding: Holding) -> Iterator[Pieces]:
        for uuid in self._ranked(holding):
            if self._fits(uuid, holding.consumer, holding.amount):
                yield {uuid: holding.amount}

    def whole_or_split(self, holding: Holding) -> Iterator[Pieces]:
        yield from self.whole(holding)
        yield from self._splits(holding.consumer, holding.amount, self._ranked(holding))

    def _splits(self, consumer: str, amount: int, uuids: list[str]) -> Iterator[Pieces]:
        """Ways to split an amount: as much as possible on the best target, the rest on others."""
        if amount == 0:
            yield {}
            return
        if amount > sum(max(0, self._free(uuid)) for uuid in uuids):
            return
        uuid, others = uuids[0], uuids[1:]
        for piece in self._pieces(uuid, consumer, amount):
            for rest in self._splits(consumer, amount - piece, others):
                yield {uuid: piece, **rest}
        yield from self._splits(consumer, amount, others)

    def _pieces(self, uuid: str, consumer: str, amount: int) -> Iterator[int]:
        """How much of an amount may go to a target, the largest piece first."""
        inventory = self._targets[uuid].inventory
        held = self._targets[uuid].held.get(consumer, 0)
        most = min(amount, self._free(uuid), inventory.max_unit - held)
        most -= (held + most) % inventory.step_size
        for piece in range(most, 0, -inventory.step_size):
            if self._steps == 0:
                return
            self._steps -= 1
            if self._fits(uuid, consumer, piece):
                yield piece

    def _ranked(self, holding: Holding) -> list[str]:
        """Targets, the best guess first; among equals the emptiest, to keep them balanced."""
        return sorted(
            self._targets,
            key=lambda uuid: (self._preference(holding.consumer, uuid), -self._free_share(uuid)),
        )

    def _fits(self, uuid: str, consumer: str, amount: int) -> bool:
        # The service judges the sum: one allocation of the consumer on the provider.
        target = self._targets[uuid]
        held = target.held.get(consumer, 0)
        return fits(target.inventory, self._used[uuid] - held, held + amount)

    def _free(self, uuid: str) -> int:
        return self._targets[uuid].inventory.capacity - self._used[uuid]

    def _free_share(self, uuid: str) -> float:
        return self._free(uuid) / max(1, self._targets[uuid].inventory.capacity)
