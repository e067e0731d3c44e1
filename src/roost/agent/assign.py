"""Who goes where, when a resource class moves to other providers.

Every consumer holds an amount of the class, and every target has an inventory of it. We look for
a way in which all amounts fit, whole ones on one target if there is such a way, split ones
otherwise. Both are packing problems that may take forever, so we look through at most so many
steps, best guess first; on the machines we know the first guess is right.
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


class Claim(NamedTuple):
    """What one consumer holds where the class comes from."""

    consumer: str
    amount: int


class NoWay(Exception):
    """The claims do not fit; `claim` is the one for which there was no place."""

    def __init__(self, claim: Claim) -> None:
        super().__init__(claim)
        self.claim = claim


# How good a guess a target is for a consumer: the lower the better.
Preference = Callable[[str, str], int]


def assign(
    claims: Sequence[Claim], targets: Sequence[Target], preference: Preference
) -> dict[str, Pieces]:
    """For every consumer, what goes where."""
    # The large ones first: the small ones find their place in what is left.
    ordered = sorted(claims, key=lambda claim: (-claim.amount, claim.consumer))
    search = _Search(ordered, targets, preference)
    try:
        return search.run(search.whole)
    except NoWay:
        return search.run(search.whole_or_split)


class _Search:
    def __init__(
        self, claims: Sequence[Claim], targets: Sequence[Target], preference: Preference
    ) -> None:
        self._claims = claims
        self._targets = {target.uuid: target for target in targets}
        self._preference = preference
        self._used: dict[str, int] = {}  # by target
        self._steps = 0  # left

    def run(self, options: Callable[[Claim], Iterator[Pieces]]) -> dict[str, Pieces]:
        """Depth first, without recursion: a host may have more consumers than Python frames."""
        self._used = {uuid: sum(each.held.values()) for uuid, each in self._targets.items()}
        self._steps = STEPS_MAX
        chosen: list[Pieces] = []
        open_options: list[Iterator[Pieces]] = []
        deepest = 0
        while self._steps > 0:
            self._steps -= 1
            if len(chosen) == len(self._claims):
                return {
                    claim.consumer: pieces
                    for claim, pieces in zip(self._claims, chosen, strict=True)
                }
            deepest = max(deepest, len(chosen))
            if len(open_options) == len(chosen):
                open_options.append(options(self._claims[len(chosen)]))
            pieces = next(open_options[-1], None)
            if pieces is not None:
                self._take(pieces, 1)
                chosen.append(pieces)
                continue
            open_options.pop()
            if not chosen:
                break
            self._take(chosen.pop(), -1)
        raise NoWay(self._claims[deepest])

    def _take(self, pieces: Pieces, sign: int) -> None:
        for uuid, amount in pieces.items():
            self._used[uuid] += sign * amount

    def whole(self, claim: Claim) -> Iterator[Pieces]:
        for uuid in self._ranked(claim):
            if self._fits(uuid, claim.consumer, claim.amount):
                yield {uuid: claim.amount}

    def whole_or_split(self, claim: Claim) -> Iterator[Pieces]:
        yield from self.whole(claim)
        yield from self._splits(claim.consumer, claim.amount, self._ranked(claim))

    def _splits(self, consumer: str, amount: int, uuids: list[str]) -> Iterator[Pieces]:
        """Ways to cut an amount: as much as possible on the best target, then the next."""
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
        """How much of an amount may go to a target, the most first."""
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

    def _ranked(self, claim: Claim) -> list[str]:
        """Targets, the best guess first; among equals the emptiest, so that hosts stay balanced."""
        return sorted(
            self._targets,
            key=lambda uuid: (self._preference(claim.consumer, uuid), -self._free_share(uuid)),
        )

    def _fits(self, uuid: str, consumer: str, amount: int) -> bool:
        # The service sees one allocation of a consumer on a provider, however it came together.
        target = self._targets[uuid]
        held = target.held.get(consumer, 0)
        return fits(target.inventory, self._used[uuid] - held, held + amount)

    def _free(self, uuid: str) -> int:
        return self._targets[uuid].inventory.capacity - self._used[uuid]

    def _free_share(self, uuid: str) -> float:
        return self._free(uuid) / max(1, self._targets[uuid].inventory.capacity)
