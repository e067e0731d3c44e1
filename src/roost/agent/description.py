"""What a driver says a tree should be, and how the tree becomes it.

A tree has more than one author. Compute knows of its host's resources, the network's agents hang
providers of their own below it, operators set traits and aggregates. So a description says what
the driver knows, `Ownership` says what is the driver's to change, and the rest is left alone.
"""

import uuid as uuid_module
from collections.abc import Callable, Iterator
from typing import NamedTuple

from roost.agent.drivers.base import Allocations, DriverError, ReshapeNeeded
from roost.agent.provider_tree import ProviderTree, TreeError
from roost.agent.reshape import find_moves, move_allocations
from roost.model import Inventory, Value


class Description(Value, frozen=True, kw_only=True):
    """A provider as it should be, with everything below it. None: leave it as it is."""

    name: str
    uuid: str | None = None  # None: made from the root's UUID and the name, always the same
    inventories: dict[str, Inventory] | None = None
    traits: frozenset[str] | None = None
    aggregates: frozenset[str] | None = None
    children: tuple["Description", ...] = ()


class Ownership(NamedTuple):
    """What a driver may change."""

    resource_class: Callable[[str], bool]
    trait: Callable[[str], bool]
    # Whether providers that are not described go, whoever made them. Those that the driver made
    # go in any case: their UUID tells.
    removes_unknown: bool


def apply(
    provider_tree: ProviderTree,
    description: Description,
    ownership: Ownership,
    allocations: Allocations | None = None,
) -> None:
    """Turn a tree into what is described, in place; nothing is changed where that fails.

    Raises ReshapeNeeded if consumers may hold what has to move, and no allocations are given.
    """
    root = provider_tree.data(description.name)
    if description.uuid not in (None, root.uuid):
        raise DriverError(
            f"Provider {root.name} should have the UUID {description.uuid}, "
            f"but the service knows it as {root.uuid}."
        )
    after = provider_tree.copy()
    try:
        _edit(after, root.uuid, description, ownership)
    except TreeError as error:
        raise DriverError(str(error)) from error
    moves = find_moves(provider_tree, after, root.uuid)
    if moves and allocations is None:
        raise ReshapeNeeded("; ".join(map(str, moves)))
    if allocations is not None:
        move_allocations(after, allocations, moves)
    _edit(provider_tree, root.uuid, description, ownership)


def _edit(
    tree: ProviderTree, root_uuid: str, description: Description, ownership: Ownership
) -> None:
    described = set()
    for each, parent in _walk(description, None):
        uuid = _place(tree, root_uuid, each, parent)
        described.add(uuid)
        data = tree.data(uuid)
        if each.inventories is not None:
            kept = {
                name: fields
                for name, fields in data.inventory.items()
                if not ownership.resource_class(name)
            }
            tree.update_inventory(uuid, {**kept, **each.inventories})
        if each.traits is not None:
            kept_traits = {name for name in data.traits if not ownership.trait(name)}
            tree.update_traits(uuid, kept_traits | each.traits)
        if each.aggregates is not None:
            tree.update_aggregates(uuid, each.aggregates)
    for uuid in reversed(tree.get_provider_uuids(root_uuid)):
        if uuid not in described:
            _drop(tree, root_uuid, uuid, ownership)


def _walk(
    description: Description, parent: Description | None
) -> Iterator[tuple[Description, Description | None]]:
    yield description, parent
    for child in description.children:
        yield from _walk(child, description)


def _place(
    tree: ProviderTree, root_uuid: str, each: Description, parent: Description | None
) -> str:
    """Let a provider exist, below its parent; its UUID."""
    if parent is None:
        return root_uuid
    if each.uuid is not None and tree.exists(each.uuid):
        uuid = tree.data(each.uuid).uuid
        tree.rename(uuid, each.name)
    elif tree.exists(each.name) and each.uuid is None:
        # Whoever made it: it is the same thing.
        uuid = tree.data(each.name).uuid
    else:
        uuid = each.uuid or derived_uuid(root_uuid, each.name)
        return tree.new_child(each.name, parent.name, uuid=uuid)
    if tree.data(uuid).parent_uuid != tree.data(parent.name).uuid:
        tree.reparent(uuid, parent.name)
    return uuid


def _drop(tree: ProviderTree, root_uuid: str, uuid: str, ownership: Ownership) -> None:
    """Take a provider away that is not described any more, if it is the driver's to take away."""
    data = tree.data(uuid)
    if not ownership.removes_unknown and uuid != derived_uuid(root_uuid, data.name):
        return
    if tree.get_provider_uuids(uuid) == [uuid]:
        tree.remove(uuid)
    else:
        # Somebody else's provider stands below it.
        tree.update_inventory(uuid, {})


def derived_uuid(root_uuid: str, name: str) -> str:
    """The UUID of a provider that has none of its own: the same on every start."""
    return str(uuid_module.uuid5(uuid_module.UUID(root_uuid), name))
