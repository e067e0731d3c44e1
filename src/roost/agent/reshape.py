"""Moving resources that consumers hold to other providers or to another class.

For drivers whose tree changes its shape. A driver first adds the new providers and their
inventories to the tree, then calls `move_inventory` or `rename_class`. Both remove the old
inventory and move what consumers hold of it. If nothing is left to move they do nothing, so a
driver may call them at every update. Without allocations they raise ReshapeNeeded and move
nothing.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from roost.agent.driver import Allocations, DriverError, ReshapeNeeded
from roost.agent.packing import DoesNotFit, Holding, Pieces, Target, pack
from roost.agent.provider_tree import ProviderData, ProviderTree
from roost.model import Inventory, fits


class ReshapeImpossible(DriverError):
    """What consumers hold does not fit on the providers that it has to move to."""


class Move(NamedTuple):
    """A resource class that moves from some providers of a tree to others."""

    resource_class: str
    sources: tuple[str, ...]  # UUIDs
    targets: tuple[str, ...]
    text: str  # the same in a sentence, with names

    def __str__(self) -> str:
        return self.text


def move_inventory(
    provider_tree: ProviderTree,
    allocations: Allocations | None,
    resource_class: str,
    source: str,
    targets: Iterable[str],
) -> None:
    """Remove a class from one provider, and move what consumers hold of it to the targets.

    The targets, by name or UUID, must have their inventories of the class already.
    """
    before = provider_tree.data(source)
    if resource_class not in before.inventory:
        return
    found = [provider_tree.data(target) for target in targets]
    move = _describe(resource_class, [before], found)
    if allocations is None:
        raise ReshapeNeeded(str(move))
    move_allocations(provider_tree, allocations, [move])
    del before.inventory[resource_class]
    provider_tree.update_inventory(source, before.inventory)


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
    held = {
        consumer: _held(allocations, consumer, data.uuid, old)
        + _held(allocations, consumer, data.uuid, new)
        for consumer in allocations
    }
    used = sum(held.values())
    for consumer, amount in held.items():
        if amount and not fits(inventory, used - amount, amount):
            raise ReshapeImpossible(
                f"{amount} {old} of consumer {consumer} on {data.name} do not fit as {new}: "
                f"{used} of {inventory.capacity} would be used."
            )
    for consumer in allocations:
        amount = _held(allocations, consumer, data.uuid, old)
        _move(allocations, consumer, old, [data.uuid], new, {data.uuid: amount})
    provider_tree.update_inventory(provider, data.inventory)


def find_moves(before: ProviderTree, after: ProviderTree, root: str) -> list[Move]:
    """The classes that leave providers of a tree while other providers of it gain some.

    If a class leaves a provider and no other gains any, the resource is gone and cannot be moved.
    """
    old = {uuid: before.data(uuid) for uuid in before.get_provider_uuids_in_tree(root)}
    new = {uuid: after.data(uuid) for uuid in after.get_provider_uuids_in_tree(root)}
    moves = []
    for name in sorted({name for data in old.values() for name in data.inventory}):
        totals_old = _totals(old, name)
        totals_new = _totals(new, name)
        sources = [old[uuid] for uuid in totals_old if uuid not in totals_new]
        targets = [
            new[uuid] for uuid, total in totals_new.items() if total > totals_old.get(uuid, 0)
        ]
        if sources and targets:
            moves.append(_describe(name, sources, targets))
    return moves


def _totals(providers: dict[str, ProviderData], resource_class: str) -> dict[str, int]:
    return {
        uuid: data.inventory[resource_class]["total"]
        for uuid, data in providers.items()
        if resource_class in data.inventory
    }


def _describe(
    resource_class: str, sources: list[ProviderData], targets: list[ProviderData]
) -> Move:
    return Move(
        resource_class,
        tuple(each.uuid for each in sources),
        tuple(each.uuid for each in targets),
        f"{resource_class} moves from {', '.join(each.name for each in sources)} "
        f"to {', '.join(each.name for each in targets)}",
    )


def move_allocations(
    provider_tree: ProviderTree, allocations: Allocations, moves: Sequence[Move]
) -> None:
    """Move what consumers hold, in place. If something does not fit, nothing is changed.

    The tree has the new shape already. The scarcest class is placed first, and the others follow
    it: memory goes to the NUMA node of the processors if there is room.
    """
    branches = _branches(provider_tree)
    leaving = {(uuid, move.resource_class) for move in moves for uuid in move.sources}
    moved = copy.deepcopy(allocations)

    def scarcity(move: Move) -> float:
        capacity = sum(target.inventory.capacity for target in _targets(provider_tree, moved, move))
        return sum(holding.amount for holding in _holdings(moved, move)) / max(1, capacity)

    for move in sorted(moves, key=scarcity, reverse=True):
        holdings, targets = _holdings(moved, move), _targets(provider_tree, moved, move)
        near = {
            holding.consumer: _near(moved[holding.consumer]["allocations"], leaving, branches)
            for holding in holdings
        }
        try:
            chosen = pack(holdings, targets, partial(_distance, near, branches))
        except DoesNotFit as error:
            raise _impossible(provider_tree, move, holdings, targets, error.holding) from error
        for consumer, pieces in chosen.items():
            _move(moved, consumer, move.resource_class, move.sources, move.resource_class, pieces)
    for consumer, record in moved.items():
        allocations[consumer]["allocations"] = record["allocations"]


def _near(
    held: Mapping[str, Any], leaving: set[tuple[str, str]], branches: dict[str, str | None]
) -> set[str | None]:
    """The branches on which a consumer holds something that does not move."""
    return {
        branches.get(uuid)
        for uuid, each in held.items()
        if any((uuid, name) not in leaving for name in each["resources"])
    }


def _distance(
    near: dict[str, set[str | None]], branches: dict[str, str | None], consumer: str, target: str
) -> int:
    return 0 if branches[target] in near[consumer] else 1


def _impossible(
    provider_tree: ProviderTree,
    move: Move,
    holdings: list[Holding],
    targets: list[Target],
    holding: Holding,
) -> ReshapeImpossible:
    room = ", ".join(
        f"{provider_tree.data(target.uuid).name} has room for "
        f"{max(0, target.inventory.capacity - sum(target.held.values()))}"
        for target in targets
    )
    return ReshapeImpossible(
        f"{move}, but {holding.amount} of consumer {holding.consumer} do not "
        f"fit (of {sum(each.amount for each in holdings)} in all; {room})."
    )


def _holdings(allocations: Allocations, move: Move) -> list[Holding]:
    found = (
        Holding(
            consumer,
            sum(_held(allocations, consumer, uuid, move.resource_class) for uuid in move.sources),
        )
        for consumer in allocations
    )
    return [holding for holding in found if holding.amount]


def _targets(provider_tree: ProviderTree, allocations: Allocations, move: Move) -> list[Target]:
    found = []
    for uuid in move.targets:
        data = provider_tree.data(uuid)
        if move.resource_class not in data.inventory:
            raise ReshapeImpossible(f"{data.name} has no inventory of {move.resource_class}.")
        held = {
            consumer: _held(allocations, consumer, uuid, move.resource_class)
            for consumer in allocations
        }
        found.append(Target(uuid, Inventory(**data.inventory[move.resource_class]), held))
    return found


def _branches(provider_tree: ProviderTree) -> dict[str, str | None]:
    """Provider -> the child of the root that it is, or is below; None for a root."""
    branches: dict[str, str | None] = {}
    for uuid in provider_tree.get_provider_uuids():
        data = provider_tree.data(uuid)
        if data.parent_uuid is None:
            branches[uuid] = None
        else:
            branches[uuid] = branches[data.parent_uuid] or uuid
    return branches


def _held(allocations: Allocations, consumer: str, uuid: str, resource_class: str) -> int:
    resources = allocations[consumer]["allocations"].get(uuid, {}).get("resources", {})
    amount: int = resources.get(resource_class, 0)
    return amount


def _move(
    allocations: Allocations,
    consumer: str,
    old: str,
    sources: Iterable[str],
    new: str,
    pieces: Pieces,
) -> None:
    held = allocations[consumer]["allocations"]
    for uuid in sources:
        if uuid in held:
            held[uuid]["resources"].pop(old, None)
    for uuid, amount in pieces.items():
        if amount:
            resources = held.setdefault(uuid, {"resources": {}})["resources"]
            resources[new] = resources.get(new, 0) + amount
    for uuid in [uuid for uuid in held if not held[uuid]["resources"]]:
        del held[uuid]
