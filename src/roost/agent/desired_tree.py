"""The tree that a driver wants, and how a provider tree becomes it.

A tree has more than one author: compute reports the resources of its host, network agents add
providers below it, and operators set traits and aggregates. So a driver describes what it knows,
`Ownership` says what it may change, and everything else is left alone.
"""

import uuid as uuid_module
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from roost.agent.driver import DriverError
from roost.agent.provider_tree import DuplicateProvider, ProviderData, ProviderTree, TreeError
from roost.agent.report.renames import aside
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
    *,
    renamed_classes: Mapping[str, str] | None = None,
) -> None:
    """Turn a tree into the desired one, in place. If that fails, the tree is not changed.

    `renamed_classes` has the new names of classes, by their old ones. The agent moves and renames
    what consumers hold; once that is done, a rename has no effect any more.
    """
    root = provider_tree.data(desired.name)
    if desired.uuid not in (None, root.uuid):
        raise DriverError(
            f"Provider {root.name} should have the UUID {desired.uuid}, "
            f"but the service knows it as {root.uuid}."
        )
    renamed = dict(renamed_classes or {})
    try:
        _edit(provider_tree.copy(), root, desired, ownership, renamed)
    except TreeError as error:
        raise DriverError(str(error)) from error
    _edit(provider_tree, root, desired, ownership, renamed)
    provider_tree.renamed_classes.update(renamed)


def _edit(
    tree: ProviderTree,
    root: ProviderData,
    desired: DesiredProvider,
    ownership: Ownership,
    renamed: Mapping[str, str],
) -> None:
    wanted = _identify(tree, root, desired, ownership)
    own = {derived_uuid(root.uuid, each.name) for each in wanted.values()}
    replaced = _set_aside(tree, {uuid: each.name for uuid, each in wanted.items()})
    parents = {child.name: each.name for each in wanted.values() for child in each.children}
    for uuid, each in wanted.items():
        _place(tree, uuid, each.name, parents.get(each.name))
        data = tree.data(uuid)
        if each.inventories is not None:
            foreign = {
                name: fields
                for name, fields in data.inventory.items()
                if not ownership.resource_class(name) and name not in renamed
            }
            tree.update_inventory(uuid, {**foreign, **each.inventories})
        if each.traits is not None:
            foreign_traits = {name for name in data.traits if not ownership.trait(name)}
            tree.update_traits(uuid, foreign_traits | each.traits)
        if each.aggregates is not None:
            tree.update_aggregates(uuid, each.aggregates)
    for uuid in reversed(tree.get_provider_uuids(root.uuid)):
        data = tree.data(uuid)
        is_own = ownership.removes_unknown or uuid in own or _is_derived(root.uuid, data)
        if uuid not in wanted and is_own:
            _drop(tree, uuid)
    for uuid, name in replaced.items():
        if uuid not in wanted and tree.exists(uuid):
            raise DuplicateProvider(f"Provider {name} cannot be added: {uuid} has this name.")


def _identify(
    tree: ProviderTree, root: ProviderData, desired: DesiredProvider, ownership: Ownership
) -> dict[str, DesiredProvider]:
    """The desired providers by UUID, parents before children.

    The UUID identifies a provider, or else its name, even if another client created it.
    """
    found = {root.uuid: desired}
    below = [each for each in _walk(desired) if each is not desired]
    taken = {each.uuid for each in below if each.uuid is not None}
    names = {each.name for each in below}
    for each in below:
        uuid = each.uuid
        if uuid is None:
            former = _former_name(root, each.name)
            candidates = [each.name] if former in names else [each.name, former]
            uuid = next(
                (
                    data.uuid
                    for name in candidates
                    if name is not None and tree.exists(name)
                    for data in [tree.data(name)]
                    if data.uuid not in taken
                    # A provider of another author keeps its name, whatever the host is called.
                    and (
                        name == each.name
                        or ownership.removes_unknown
                        or _is_derived(root.uuid, data)
                    )
                ),
                derived_uuid(root.uuid, each.name),
            )
        if uuid in found:
            raise DuplicateProvider(
                f"Provider {each.name} cannot be added: its UUID {uuid} is that of "
                f"{found[uuid].name}."
            )
        if tree.exists(uuid) and tree.data(uuid).root_uuid != root.uuid:
            raise DuplicateProvider(
                f"Provider {each.name} cannot be below {root.name}: it is in the tree of "
                f"{tree.data(tree.data(uuid).root_uuid).name}."
            )
        found[uuid] = each
    return found


def _former_name(root: ProviderData, name: str) -> str | None:
    """The name of a child before its host was renamed, if it was, and if the names go together."""
    if root.former_name is None or not name.startswith(root.name):
        return None
    return root.former_name + name.removeprefix(root.name)


def _set_aside(tree: ProviderTree, wanted: Mapping[str, str]) -> dict[str, str]:
    """Rename the providers whose names others get. Returns their names by UUID."""
    replaced = {}
    for uuid, name in wanted.items():
        if tree.exists(name) and (taken := tree.data(name)).uuid != uuid:
            replaced[taken.uuid] = name
            tree.rename(taken.uuid, aside(taken.uuid))
    return replaced


def _is_derived(root_uuid: str, data: ProviderData) -> bool:
    """Whether this module has created a provider."""
    names = [data.name, data.former_name]
    return data.uuid in {derived_uuid(root_uuid, name) for name in names if name is not None}


def _walk(desired: DesiredProvider) -> Iterator[DesiredProvider]:
    yield desired
    for child in desired.children:
        yield from _walk(child)


def _place(tree: ProviderTree, uuid: str, name: str, parent: str | None) -> None:
    """Make sure that a provider exists, with this name and below its parent."""
    if parent is None:
        return
    if not tree.exists(uuid):
        tree.new_child(name, parent, uuid=uuid)
        return
    if tree.data(uuid).name != name:
        tree.rename(uuid, name)
    if tree.data(uuid).parent_uuid != tree.data(parent).uuid:
        tree.reparent(uuid, parent)


def _drop(tree: ProviderTree, uuid: str) -> None:
    """Remove a provider that is no longer wanted."""
    if tree.get_provider_uuids(uuid) == [uuid]:
        tree.remove(uuid)
    else:
        # A provider of another author is below it, so it has to stay.
        tree.update_inventory(uuid, {})


def derived_uuid(root_uuid: str, name: str) -> str:
    """The UUID of a provider for which none is given: the same on every start."""
    return str(uuid_module.uuid5(uuid_module.UUID(root_uuid), name))
