"""The tree that a driver wants, and how a provider tree becomes it.

A tree has more than one author: compute reports the resources of its host, network agents add
providers below it, and operators set traits and aggregates. So a driver describes what it knows,
`Ownership` says what it may change, and everything else is left alone.
"""

import uuid as uuid_module
from collections.abc import Callable, Iterator
from typing import NamedTuple

from roost.agent.driver import Allocations, DriverError, ReshapeNeeded
from roost.agent.provider_tree import ProviderTree, TreeError
from roost.agent.reshape import find_moves, move_allocations
from roost.model import Inventory, Value


class DesiredProvider(Value, frozen=True, kw_only=True):
    """A provider as it should be, with everything below it. A field that is None is not changed."""

    name: str
    uuid: str | None = None  # None: derived from the root's UUID and the name
    inventories: dict[str, Inventory] | None = None
    traits: frozenset[str] | None = None
    aggregates: frozenset[str] | None = None
    children: tuple["DesiredProvider", ...] = ()


class Ownership(NamedTuple):
    """What a driver may change."""

    resource_class: Callable[[str], bool]
    trait: Callable[[str], bool]
    # Whether to remove every provider that is not wanted. Providers that the driver created are
    # removed in any case; they are recognized by their derived UUID.
    removes_unknown: bool


def apply(
    provider_tree: ProviderTree,
    desired: DesiredProvider,
    ownership: Ownership,
    allocations: Allocations | None = None,
) -> None:
    """Turn a tree into the desired one, in place. If that fails, the tree is not changed.

    Raises ReshapeNeeded if no allocations are given and consumers may hold what has to move.
    """
    root = provider_tree.data(desired.name)
    if desired.uuid not in (None, root.uuid):
        raise DriverError(
            f"Provider {root.name} should have the UUID {desired.uuid}, "
            f"but the service knows it as {root.uuid}."
        )
    after = provider_tree.copy()
    try:
        _edit(after, root.uuid, desired, ownership)
    except TreeError as error:
        raise DriverError(str(error)) from error
    moves = find_moves(provider_tree, after, root.uuid)
    if moves and allocations is None:
        raise ReshapeNeeded("; ".join(map(str, moves)))
    if allocations is not None:
        move_allocations(after, allocations, moves)
    _edit(provider_tree, root.uuid, desired, ownership)


def _edit(
    tree: ProviderTree, root_uuid: str, desired: DesiredProvider, ownership: Ownership
) -> None:
    wanted = set()
    for each, parent in _walk(desired, None):
        uuid = _place(tree, root_uuid, each, parent)
        wanted.add(uuid)
        data = tree.data(uuid)
        if each.inventories is not None:
            foreign = {
                name: fields
                for name, fields in data.inventory.items()
                if not ownership.resource_class(name)
            }
            tree.update_inventory(uuid, {**foreign, **each.inventories})
        if each.traits is not None:
            foreign_traits = {name for name in data.traits if not ownership.trait(name)}
            tree.update_traits(uuid, foreign_traits | each.traits)
        if each.aggregates is not None:
            tree.update_aggregates(uuid, each.aggregates)
    for uuid in reversed(tree.get_provider_uuids(root_uuid)):
        if uuid not in wanted:
            _drop(tree, root_uuid, uuid, ownership)


def _walk(
    desired: DesiredProvider, parent: DesiredProvider | None
) -> Iterator[tuple[DesiredProvider, DesiredProvider | None]]:
    yield desired, parent
    for child in desired.children:
        yield from _walk(child, desired)


def _place(
    tree: ProviderTree, root_uuid: str, each: DesiredProvider, parent: DesiredProvider | None
) -> str:
    """Make sure that a provider exists below its parent. Returns its UUID."""
    if parent is None:
        return root_uuid
    if each.uuid is not None and tree.exists(each.uuid):
        uuid = tree.data(each.uuid).uuid
        tree.rename(uuid, each.name)
    elif tree.exists(each.name) and each.uuid is None:
        # The name identifies it, even if another client created it.
        uuid = tree.data(each.name).uuid
    else:
        uuid = each.uuid or derived_uuid(root_uuid, each.name)
        return tree.new_child(each.name, parent.name, uuid=uuid)
    if tree.data(uuid).parent_uuid != tree.data(parent.name).uuid:
        tree.reparent(uuid, parent.name)
    return uuid


def _drop(tree: ProviderTree, root_uuid: str, uuid: str, ownership: Ownership) -> None:
    """Remove a provider that is no longer wanted, if the driver owns it."""
    data = tree.data(uuid)
    if not ownership.removes_unknown and uuid != derived_uuid(root_uuid, data.name):
        return
    if tree.get_provider_uuids(uuid) == [uuid]:
        tree.remove(uuid)
    else:
        # A provider of another author is below it, so it has to stay.
        tree.update_inventory(uuid, {})


def derived_uuid(root_uuid: str, name: str) -> str:
    """The UUID of a provider for which none is given: the same on every start."""
    return str(uuid_module.uuid5(uuid_module.UUID(root_uuid), name))
