"""Moving resources that consumers hold: to other providers, or to another class.

For drivers whose tree gets another shape. A driver first lets the tree have the new providers and
their inventories, and then calls `move_inventory` or `rename_class`. Both take away the old
inventory and move what consumers hold of it. They do nothing where there is nothing left to move,
so a driver may call them every time; without allocations they raise ReshapeNeeded instead of
moving anything.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from roost.agent.assign import Claim, NoWay, Pieces, Target, assign
from roost.agent.drivers.base import Allocations, DriverError, ReshapeNeeded
from roost.agent.provider_tree import ProviderData, ProviderTree
from roost.model import Inventory, fits


class ReshapeImpossible(DriverError):
    """What consumers hold does not fit where it has to go."""


class Move(NamedTuple):
    """A class that leaves some providers for others of the same tree."""

    resource_class: str
    sources: tuple[str, ...]  # UUIDs
    targets: tuple[str, ...]
    words: str  # the same, with names

    def __str__(self) -> str:
        return self.words


def move_inventory(
    provider_tree: ProviderTree,
    allocations: Allocations | None,
    resource_class: str,
    source: str,
    targets: Iterable[str],
) -> None:
    """Take a class away from one provider, and let others serve who holds it.

    The targets, by name or UUID, have their inventories of the class already.
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
    """Let a class have another name on one provider, for the inventory and for who holds it.

    If the provider has an inventory of the new class already, that one is right.
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
    """The classes that leave providers of a tree while others of it get more of them.

    Where a class leaves and nobody gets more, the resource is gone, and nothing can be moved.
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
    """Move what consumers hold, in place; nothing is changed if something does not fit.

    The tree has the new shape already. The scarcest class chooses first, and the others follow it:
    memory goes to the NUMA node of the processors, if there is room.
    """
    branches = _branches(provider_tree)
    leaving = {(uuid, move.resource_class) for move in moves for uuid in move.sources}
    moved = copy.deepcopy(allocations)

    def scarcity(move: Move) -> float:
        capacity = sum(target.inventory.capacity for target in _targets(provider_tree, moved, move))
        return sum(claim.amount for claim in _claims(moved, move)) / max(1, capacity)

    for move in sorted(moves, key=scarcity, reverse=True):
        claims, targets = _claims(moved, move), _targets(provider_tree, moved, move)
        near = {
            claim.consumer: _near(moved[claim.consumer]["allocations"], leaving, branches)
            for claim in claims
        }
        try:
            chosen = assign(claims, targets, partial(_distance, near, branches))
        except NoWay as error:
            raise _impossible(provider_tree, move, claims, targets, error.claim) from error
        for consumer, pieces in chosen.items():
            _move(moved, consumer, move.resource_class, move.sources, move.resource_class, pieces)
    for consumer, record in moved.items():
        allocations[consumer]["allocations"] = record["allocations"]


def _near(
    held: Mapping[str, Any], leaving: set[tuple[str, str]], branches: dict[str, str | None]
) -> set[str | None]:
    """The branches on which a consumer holds something that stays."""
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
    claims: list[Claim],
    targets: list[Target],
    claim: Claim,
) -> ReshapeImpossible:
    room = ", ".join(
        f"{provider_tree.data(target.uuid).name} has room for "
        f"{max(0, target.inventory.capacity - sum(target.held.values()))}"
        for target in targets
    )
    return ReshapeImpossible(
        f"{move}, but {claim.amount} of consumer {claim.consumer} do not "
        f"fit (of {sum(each.amount for each in claims)} in all; {room})."
    )


def _claims(allocations: Allocations, move: Move) -> list[Claim]:
    found = (
        Claim(
            consumer,
            sum(_held(allocations, consumer, uuid, move.resource_class) for uuid in move.sources),
        )
        for consumer in allocations
    )
    return [claim for claim in found if claim.amount]


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
    """Provider -> the child of the root that it stands below, None for a root."""
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
