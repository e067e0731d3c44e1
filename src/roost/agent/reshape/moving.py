"""Moving resources that consumers hold to other providers or to another class.

For drivers that say themselves what moves where. The agent moves whatever a driver leaves behind
(see `settlement`), so that most drivers need neither of these. A driver first adds the new
providers and their inventories to the tree, then calls `move_inventory` or `rename_class`. Both
remove the old inventory and move what consumers hold of it. If nothing is left to move they do
nothing, so a driver may call them at every update. Without allocations they raise ReshapeNeeded
and move nothing.
"""

from collections.abc import Iterable

from roost.agent.driver import Allocations, ReshapeNeeded
from roost.agent.provider_tree import ProviderData, ProviderTree
from roost.agent.reshape.demands import ReshapeImpossible, branches_of, does_not_fit
from roost.agent.reshape.holdings import Place, add, held_by_place, held_places, release
from roost.agent.reshape.packing import Demand, DoesNotFit, Offer, pack
from roost.agent.reshape.summary import listed
from roost.model import Inventory, fits


def move_inventory(
    provider_tree: ProviderTree,
    allocations: Allocations | None,
    resource_class: str,
    source: str,
    targets: Iterable[str],
) -> None:
    """Remove a class from one provider, and move what consumers hold of it to the targets.

    The targets, by name or UUID, must have their inventories of the class already. Consumers are
    packed without asking `Driver.where`, so with several targets the plan calls it a guess.
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
    _move_held(provider_tree, allocations, Place(before.uuid, resource_class), found, move)
    del before.inventory[resource_class]
    provider_tree.update_inventory(source, before.inventory)


def _move_held(
    provider_tree: ProviderTree,
    allocations: Allocations,
    source: Place,
    targets: list[ProviderData],
    move: str,
) -> None:
    name = source.resource_class
    held = held_by_place(allocations, {source.provider, *(each.uuid for each in targets)})
    demands = []
    for consumer, amount in sorted(held.get(source, {}).items()):
        fixed: dict[str, dict[str, int]] = {}
        for place, staying in held_places(allocations[consumer]):
            if place != source and provider_tree.exists(place.provider):
                fixed.setdefault(place.resource_class, {})[place.provider] = staying
        demands.append(Demand(consumer, {name: amount}, {name: {source.provider: amount}}, fixed))
    if not demands:
        return
    offers = {
        each.uuid: Offer(
            Inventory(**each.inventory[name]),
            sum(held.get(Place(each.uuid, name), {}).values()),
        )
        for each in targets
    }
    try:
        packing = pack(demands, {name: offers}, branches_of(provider_tree))
    except DoesNotFit as error:
        rooms = {each.name: offers[each.uuid] for each in targets}
        raise does_not_fit(move, error, error.consumer, rooms) from error
    for consumer, amount in held[source].items():
        release(allocations[consumer], source, amount)
        for provider, piece in packing.pieces[consumer][name].items():
            add(allocations[consumer], Place(provider, name), piece)
        if len(targets) > 1:
            provider_tree.guessed.add((consumer, name))


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
