"""Who has to move, and where to: what the driver knows, and a packing for everybody else."""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from roost.agent.driver import Allocations, Whereabouts
from roost.agent.provider_tree import ProviderTree
from roost.agent.reshape.changes import InventoryChanges, InventoryPair
from roost.agent.reshape.holdings import (
    Place,
    ReshapeImpossible,
    add,
    held_by_place,
    held_places,
    release,
)
from roost.agent.reshape.packing import Demand, DoesNotFit, Offer, Packing, pack
from roost.agent.reshape.summary import listed
from roost.agent.reshape.whereabouts import read_answer
from roost.model import fits_units

# Class -> provider -> amount.
Pieces = Mapping[str, Mapping[str, int]]


class Placed(NamedTuple):
    """What came of it."""

    guessed: frozenset[tuple[str, str]]  # consumers and classes
    torn: tuple[str, ...]
    is_proven: bool


def branches_of(tree: ProviderTree) -> dict[str, str | None]:
    """Provider -> the child of the root that it is, or is below; None for a root."""
    branches: dict[str, str | None] = {}
    for uuid in tree.get_provider_uuids():
        parent = tree.data(uuid).parent_uuid
        branches[uuid] = None if parent is None else branches[parent] or uuid
    return branches


class Demands:
    """What some consumers hold on providers that have changed, and places for it."""

    def __init__(
        self,
        before: ProviderTree,
        after: ProviderTree,
        changes: InventoryChanges,
        allocations: Allocations,
        where: Callable[[str], Whereabouts],
        renamed: Collection[Place],
    ) -> None:
        self._after = after
        self._branches = branches_of(after)
        # Where it was together, it stays together: by the branches of the old tree, as far as
        # providers were in it.
        self._branches_before = self._branches | branches_of(before)
        self._changes = changes
        self._allocations = allocations  # edited in place
        self._where = where
        self._renamed = renamed
        self._received: dict[Place, str] = {}  # from a known place; the last consumer
        self._grown = {
            name: [each for each in changes.of_class(name) if each.grows]
            for name in changes.resource_classes
        }

    def place(self) -> Placed:
        """Move everything that has to. Raises ReshapeImpossible; then some may have moved."""
        held = held_by_place(self._allocations, self._changes.names)
        moving = {
            place: holders for place, holders in held.items() if self._is_moving(place, holders)
        }
        known = self._move_known(moving)
        held = held_by_place(self._allocations, self._changes.names)
        unknown: dict[str, dict[Place, int]] = {}
        for place in moving:
            rest = {
                consumer: amount
                for consumer, amount in held.get(place, {}).items()
                if (consumer, place.resource_class) not in known
            }
            if rest and self._has_targets(place, rest):
                for consumer, amount in rest.items():
                    unknown.setdefault(consumer, {})[place] = amount
        self._check_known(unknown, held)
        return self._pack(unknown, held)

    def _is_moving(self, place: Place, holders: Mapping[str, int]) -> bool:
        """Whether what is held here has to move, or may be elsewhere."""
        pair = self._changes.at(place)
        if pair.after is None or place in self._renamed:
            return True
        is_crowded = sum(holders.values()) > pair.capacity
        if pair.shrinks:
            return is_crowded or bool(self._targets(place))
        if pair.before is None:
            # A driver has moved something here. It knows why, unless there is no room for it.
            return is_crowded or any(
                not fits_units(pair.after, amount) for amount in holders.values()
            )
        return False

    def _targets(self, place: Place) -> list[InventoryPair]:
        """The providers that what is held at a place may move to."""
        grown = self._grown.get(place.resource_class, [])
        if grown or place not in self._renamed:
            return grown
        # A new name says that the resources are the same, so nothing need have grown.
        return [each for each in self._changes.of_class(place.resource_class) if each.after]

    def _has_targets(self, place: Place, holders: Mapping[str, int]) -> bool:
        if self._targets(place):
            return True
        pair = self._changes.at(place)
        if pair.after is None:
            raise ReshapeImpossible(
                f"{pair.name} offers no {place.resource_class} any more, but "
                f"{len(holders)} {'consumer holds' if len(holders) == 1 else 'consumers hold'} "
                f"{sum(holders.values())} of it, and no other provider of the tree has gained any."
            )
        return False

    # -- what the driver knows -----------------------------------------------------------------

    def _move_known(self, moving: Mapping[Place, Mapping[str, int]]) -> set[tuple[str, str]]:
        """Move what the driver knows the place of. Returns these consumers and classes."""
        amounts: dict[tuple[str, str], dict[str, int]] = {}
        for place, holders in moving.items():
            for consumer, amount in holders.items():
                key = consumer, place.resource_class
                amounts.setdefault(key, {})[place.provider] = amount
        known = set()
        for (consumer, resource_class), current in amounts.items():
            answer = self._where(consumer).get(resource_class)
            if answer is None:
                continue
            known.add((consumer, resource_class))
            record = self._allocations[consumer]
            wanted = read_answer(self._after, consumer, record, resource_class, current, answer)
            self._move(consumer, resource_class, current, wanted)
            for provider, amount in wanted.items():
                if amount > current.get(provider, 0):
                    self._received[Place(provider, resource_class)] = consumer
        return known

    def _check_known(
        self, unknown: Mapping[str, Mapping[Place, int]], held: Mapping[Place, Mapping[str, int]]
    ) -> None:
        """Refuse what the driver knows, if the providers that it names have no room for it."""
        for place, consumer in self._received.items():
            pair = self._changes.at(place)
            used = sum(
                amount for each, amount in held[place].items() if place not in unknown.get(each, {})
            )
            if used > pair.capacity:
                raise ReshapeImpossible(
                    f"the driver says that consumer {consumer} has {held[place][consumer]} "
                    f"{place.resource_class} on {pair.name}, but {used} of {pair.capacity} would "
                    "be in use there."
                )

    def _move(
        self,
        consumer: str,
        resource_class: str,
        current: Mapping[str, int],
        wanted: Mapping[str, int],
    ) -> None:
        record = self._allocations[consumer]
        for provider, amount in current.items():
            release(record, Place(provider, resource_class), amount)
        for provider, amount in wanted.items():
            if amount:
                add(record, Place(provider, resource_class), amount)

    # -- everybody else ------------------------------------------------------------------------

    def _pack(
        self, unknown: Mapping[str, Mapping[Place, int]], held: Mapping[Place, Mapping[str, int]]
    ) -> Placed:
        demands: list[Demand] = []
        owners: list[str] = []
        for consumer in sorted(unknown):
            for demand in self._demands(consumer, unknown[consumer]):
                demands.append(demand)
                owners.append(consumer)
        offers = self._offers(demands, held)
        try:
            packing = pack(demands, offers, self._branches) if demands else Packing({}, (), True)
        except DoesNotFit as error:
            raise self._impossible(error, demands, owners, offers) from error
        guessed = set()
        torn = set(packing.torn)
        for demand, consumer in zip(demands, owners, strict=True):
            for resource_class, wanted in packing.pieces[demand.consumer].items():
                current = demand.current[resource_class]
                if dict(wanted) == dict(current):
                    continue
                self._move(consumer, resource_class, current, wanted)
                if len(offers[resource_class]) > 1:
                    guessed.add((consumer, resource_class))
        return Placed(
            guessed=frozenset(guessed),
            torn=tuple(
                dict.fromkeys(
                    consumer
                    for demand, consumer in zip(demands, owners, strict=True)
                    if demand.consumer in torn
                )
            ),
            is_proven=packing.is_proven,
        )

    def _demands(self, consumer: str, moving: Mapping[Place, int]) -> list[Demand]:
        """What a consumer holds on different branches is apart on purpose, and stays apart."""
        branches = {self._branches_before[place.provider] for place in moving}
        apart = branches - {None}
        if len(apart) <= 1:
            return [self._demand(consumer, consumer, moving, None)]
        return [
            self._demand(
                f"{consumer} {branch or ''}",
                consumer,
                {
                    place: amount
                    for place, amount in moving.items()
                    if self._branches_before[place.provider] == branch
                },
                branch,
            )
            for branch in sorted(branches, key=str)
        ]

    def _demand(
        self, key: str, consumer: str, moving: Mapping[Place, int], branch: str | None
    ) -> Demand:
        current: dict[str, dict[str, int]] = {}
        for place, amount in moving.items():
            current.setdefault(place.resource_class, {})[place.provider] = amount
        fixed: dict[str, dict[str, int]] = {}
        for place, amount in held_places(self._allocations[consumer]):
            is_near = branch is None or self._branches_before.get(place.provider) == branch
            rest = amount - current.get(place.resource_class, {}).get(place.provider, 0)
            if place.provider in self._changes.names and is_near and rest:
                fixed.setdefault(place.resource_class, {})[place.provider] = rest
        return Demand(
            consumer=key,
            amounts={name: sum(pieces.values()) for name, pieces in current.items()},
            current=current,
            fixed=fixed,
        )

    def _offers(
        self, demands: list[Demand], held: Mapping[Place, Mapping[str, int]]
    ) -> dict[str, dict[str, Offer]]:
        moving: dict[Place, int] = {}
        for demand in demands:
            for resource_class, pieces in demand.current.items():
                for provider, amount in pieces.items():
                    place = Place(provider, resource_class)
                    moving[place] = moving.get(place, 0) + amount
        offers: dict[str, dict[str, Offer]] = {}
        for place in moving:
            here = self._changes.at(place)
            found = offers.setdefault(place.resource_class, {})
            for pair in [here, *self._targets(place)]:
                if pair.after is not None and pair.uuid not in found:
                    there = Place(pair.uuid, pair.resource_class)
                    used = sum(held.get(there, {}).values()) - moving.get(there, 0)
                    found[pair.uuid] = Offer(pair.after, used)
        return offers

    def _impossible(
        self,
        error: DoesNotFit,
        demands: list[Demand],
        owners: list[str],
        offers: Mapping[str, Mapping[str, Offer]],
    ) -> ReshapeImpossible:
        name, names = error.resource_class, self._changes.names
        sources = dict.fromkeys(
            names[uuid] for demand in demands for uuid in demand.current.get(name, {})
        )
        owner = dict(zip((demand.consumer for demand in demands), owners, strict=True))
        return does_not_fit(
            f"{name} moves from {listed(sources)} to "
            f"{listed(names[uuid] for uuid in offers.get(name, {}))}",
            error,
            owner.get(error.consumer or ""),
            {names[uuid]: offer for uuid, offer in offers.get(name, {}).items()},
        )


def does_not_fit(
    move: str, error: DoesNotFit, consumer: str | None, offers: Mapping[str, Offer]
) -> ReshapeImpossible:
    """The error for an amount, of one consumer or of all together, that these have no place for."""
    amount = error.needed
    room = listed(
        f"{name} has room for {max(0, offer.inventory.capacity - offer.used)}"
        for name, offer in offers.items()
    )
    what = f"{amount} of consumer {consumer}" if consumer else f"the {amount} that are held"
    return ReshapeImpossible(f"{move}, but {what} {error.verb} ({room}{error.units}).")
