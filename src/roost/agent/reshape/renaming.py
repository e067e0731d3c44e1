"""Classes that get another name: what consumers hold of them gets it, too.

Amounts are renamed on the provider that they are on. If that provider does not offer the new class,
they move afterwards, as everything does that is not where it is offered.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from roost.agent.driver import Allocations, Whereabouts
from roost.agent.reshape.changes import InventoryChanges
from roost.agent.reshape.holdings import Place, add, held_by_place, release


class Renamed(NamedTuple):
    """What was renamed."""

    places: frozenset[Place]  # with the new names
    # Consumers and new classes, where nobody said which consumers have the new class.
    guessed: frozenset[tuple[str, str]]


def rename_classes(
    changes: InventoryChanges,
    renames: Mapping[str, str],
    allocations: Allocations,
    where: Callable[[str], Whereabouts],
) -> Renamed:
    """Rename classes in what consumers hold, in place.

    A class is renamed where it shrinks or leaves. If some of it is left under the old name, then
    `where` says who has which; of the others, as many keep the old name as it has room for.
    """
    # All of them are judged by what consumers held at first: two classes may swap their names.
    held = held_by_place(allocations, changes.names)
    places, guessed = set(), set()
    for old, new in renames.items():
        sources = {
            place: holders
            for place, holders in held.items()
            if place.resource_class == old and changes.at(place).shrinks
        }
        if all(pair.after is None for pair in changes.of_class(old)):
            amounts = {
                (place, consumer): amount
                for place, holders in sources.items()
                for consumer, amount in holders.items()
            }
        elif any(pair.grows for pair in changes.of_class(new)):
            chosen = _Division(changes, old, new, sources, held, where)
            amounts = chosen.amounts
            guessed |= {(consumer, new) for consumer in chosen.guessed}
        else:
            continue
        for (place, consumer), amount in amounts.items():
            renamed = Place(place.provider, new)
            release(allocations[consumer], place, amount)
            add(allocations[consumer], renamed, amount)
            places.add(renamed)
    return Renamed(frozenset(places), frozenset(guessed))


class _Division:
    """Who gets the new name if some of the old class is left."""

    def __init__(
        self,
        changes: InventoryChanges,
        old: str,
        new: str,
        sources: Mapping[Place, Mapping[str, int]],
        held: Mapping[Place, Mapping[str, int]],
        where: Callable[[str], Whereabouts],
    ) -> None:
        self.amounts: dict[tuple[Place, str], int] = {}
        self.guessed: set[str] = set()
        self._room: dict[str | None, int] = {}
        # If the old class appears on other providers, everybody who keeps it can use these.
        self._is_shared = any(pair.grows for pair in changes.of_class(old))
        for pair in changes.of_class(old):
            place = Place(pair.uuid, old)
            staying = 0 if place in sources else sum(held.get(place, {}).values())
            if place in sources or pair.grows:
                pool = self._pool(place)
                self._room[pool] = self._room.get(pool, 0) + pair.capacity - staying
        unknown = []
        for place, holders in sources.items():
            for consumer, amount in holders.items():
                renamed = _known_share(where(consumer), old, new, amount)
                if renamed is None:
                    unknown.append((amount, consumer, place))
                    continue
                self._room[self._pool(place)] -= amount - renamed
                if renamed:
                    self.amounts[place, consumer] = renamed
        # The smallest first, so that as many as possible keep what they have.
        for amount, consumer, place in sorted(unknown):
            if amount <= self._room[self._pool(place)]:
                self._room[self._pool(place)] -= amount
            else:
                self.amounts[place, consumer] = amount
                self.guessed.add(consumer)

    def _pool(self, place: Place) -> str | None:
        return None if self._is_shared else place.provider


def _known_share(known: Whereabouts, old: str, new: str, amount: int) -> int | None:
    """How much of an amount has the new name; None if nobody knows."""
    match known.get(old), known.get(new):
        case None, None:
            return None
        case None, _:
            return amount
        case _, None:
            return 0
        case _, Mapping() as pieces:
            return min(amount, sum(pieces.values()))
        case Mapping() as pieces, _:
            return amount - min(amount, sum(pieces.values()))
        case _:
            return None
