"""Moving resources that consumers hold to other providers or to another class.

For drivers that say themselves what moves where. The agent moves whatever a driver leaves behind
(see `settlement`), so that most drivers need neither of these. A driver first adds the new
providers and their inventories to the tree, then calls `move_inventory` or `rename_class`. Both
remove the old inventory and move what consumers hold of it. If nothing is left to move they do
nothing, so a driver may call them at every update. Without allocations they raise ReshapeNeeded
and move nothing.
"""

from collections.abc import Callable, Collection, Iterable, Mapping

from roost.agent.driver import Allocations, ReshapeNeeded, Whereabouts
from roost.agent.provider_tree import ProviderData, ProviderTree
from roost.agent.reshape.demands import branches_of, does_not_fit
from roost.agent.reshape.holdings import (
    Place,
    ReshapeImpossible,
    add,
    held_by_place,
    held_places,
    release,
)
from roost.agent.reshape.packing import Demand, DoesNotFit, Offer, pack
from roost.agent.reshape.summary import listed
from roost.agent.reshape.whereabouts import read_answer
from roost.model import Inventory, fits
from roost.uuids import canonical_uuid


def move_inventory(
    provider_tree: ProviderTree,
    allocations: Allocations | None,
    resource_class: str,
    source: str,
    targets: Iterable[str],
    *,
    where: Callable[[str], Whereabouts] | None = None,
) -> None:
    """Remove a class from one provider, and move what consumers hold of it to the targets.

    The targets, by name or UUID, must have their inventories of the class already. `where` says
    for a consumer what `Driver.where` does, which counts. All others are packed: with several
    targets the plan calls that a guess.
    """
    before = provider_tree.data(source)
    if resource_class not in before.inventory:
        return
    found = [provider_tree.data(target) for target in targets]
    move = f"{resource_class} moves from {before.name} to {listed(each.name for each in found)}"
    if allocations is None:
        raise ReshapeNeeded(move)
    for each in found:
        if resource_class not in each.inventory:
            raise ReshapeImpossible(f"{each.name} has no inventory of {resource_class}.")
    _Move(provider_tree, allocations, Place(before.uuid, resource_class), found, move).run(where)
    del before.inventory[resource_class]
    provider_tree.update_inventory(source, before.inventory)


class _Move:
    """What consumers hold at one place goes to others, or stays as it is if it cannot."""

    def __init__(
        self,
        tree: ProviderTree,
        allocations: Allocations,
        source: Place,
        targets: list[ProviderData],
        title: str,
    ) -> None:
        self._tree = tree
        self._allocations = allocations
        self._source = source
        self._class = source.resource_class
        self._targets = {each.uuid: each for each in targets}
        self._title = title
        held = held_by_place(allocations, {source.provider, *self._targets})
        self._moving = held.get(source, {})
        # Target -> consumer -> amount.
        self._held = {uuid: dict(held.get(Place(uuid, self._class), {})) for uuid in self._targets}

    def run(self, where: Callable[[str], Whereabouts] | None) -> None:
        known = {} if where is None else self._place_known(where)
        packed = self._pack({each for each in self._moving if each not in known})
        for consumer, amount in self._moving.items():
            release(self._allocations[consumer], self._source, amount)
            pieces = known[consumer] if consumer in known else packed[consumer]
            for provider, piece in pieces.items():
                add(self._allocations[consumer], Place(provider, self._class), piece)
            if consumer in packed and len(self._targets) > 1:
                self._tree.guessed.add((consumer, self._class))

    def _place_known(self, where: Callable[[str], Whereabouts]) -> dict[str, dict[str, int]]:
        """Consumer -> provider -> amount, of those of whom the driver knows it."""
        known: dict[str, dict[str, int]] = {}
        for consumer, amount in self._moving.items():
            answer = where(canonical_uuid(consumer)).get(self._class)
            if answer is None:
                continue
            record, current = self._allocations[consumer], {self._source.provider: amount}
            pieces = read_answer(self._tree, consumer, record, self._class, current, answer)
            known[consumer] = {provider: piece for provider, piece in pieces.items() if piece}
            for provider, piece in known[consumer].items():
                if provider not in self._targets:
                    raise ReshapeImpossible(
                        f"{self._title}, but the driver says that {piece} of consumer {consumer} "
                        f"are on {self._tree.data(provider).name}."
                    )
                held = self._held[provider]
                held[consumer] = held.get(consumer, 0) + piece
        for consumer, pieces in known.items():
            for provider in pieces:
                self._check_known(consumer, provider)
        return known

    def _check_known(self, consumer: str, provider: str) -> None:
        inventory, held = self._inventory(provider), self._held[provider]
        amount, used = held[consumer], sum(held.values())
        if not fits(inventory, used - amount, amount):
            raise ReshapeImpossible(
                f"the driver says that consumer {consumer} has {amount} {self._class} on "
                f"{self._targets[provider].name}, which do not fit: {used} of "
                f"{inventory.capacity} would be in use there."
            )

    def _pack(self, consumers: Collection[str]) -> dict[str, Mapping[str, int]]:
        """Consumer -> provider -> amount, of those of whom nobody knows it."""
        if not consumers:
            return {}
        offers = {
            uuid: Offer(self._inventory(uuid), sum(self._held[uuid].values()))
            for uuid in self._targets
        }
        demands = [self._demand(consumer) for consumer in sorted(consumers)]
        try:
            packing = pack(demands, {self._class: offers}, branches_of(self._tree))
        except DoesNotFit as error:
            rooms = {each.name: offers[uuid] for uuid, each in self._targets.items()}
            raise does_not_fit(self._title, error, error.consumer, rooms) from error
        return {consumer: packing.pieces[consumer][self._class] for consumer in consumers}

    def _demand(self, consumer: str) -> Demand:
        amount = self._moving[consumer]
        fixed: dict[str, dict[str, int]] = {}
        for place, staying in held_places(self._allocations[consumer]):
            if place != self._source and self._tree.exists(place.provider):
                fixed.setdefault(place.resource_class, {})[place.provider] = staying
        current = {self._class: {self._source.provider: amount}}
        return Demand(consumer, {self._class: amount}, current, fixed)

    def _inventory(self, provider: str) -> Inventory:
        return Inventory(**self._targets[provider].inventory[self._class])


def rename_class(
    provider_tree: ProviderTree,
    allocations: Allocations | None,
    provider: str,
    old: str,
    new: str,
) -> None:
    """Rename a class on one provider, in its inventory and in what consumers hold of it.

    If the provider already has an inventory of the new class, that inventory is kept.
    """
    data = provider_tree.data(provider)
    if old not in data.inventory:
        return
    if allocations is None:
        raise ReshapeNeeded(f"{old} of {data.name} becomes {new}")
    fields = data.inventory.pop(old)
    inventory = Inventory(**data.inventory.setdefault(new, fields))
    found = held_by_place(allocations, {data.uuid})
    renamed, kept = found.get(Place(data.uuid, old), {}), found.get(Place(data.uuid, new), {})
    used = sum(renamed.values()) + sum(kept.values())
    for consumer, amount in renamed.items():
        amount_after = amount + kept.get(consumer, 0)
        if not fits(inventory, used - amount_after, amount_after):
            raise ReshapeImpossible(
                f"{amount} {old} of consumer {consumer} on {data.name} do not fit as {new}: "
                f"{used} of {inventory.capacity} would be used."
            )
    for consumer, amount in renamed.items():
        release(allocations[consumer], Place(data.uuid, old), amount)
        add(allocations[consumer], Place(data.uuid, new), amount)
    provider_tree.update_inventory(provider, data.inventory)
