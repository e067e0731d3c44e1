"""What the agent does with a driver's tree and with what consumers hold, without a service."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from roost.agent.driver import Allocations, Driver, ReshapeNeeded, Whereabouts
from roost.agent.provider_tree import ProviderTree
from roost.agent.reshape.settlement import Settlement, reshape_needed, settle


def update_and_settle(
    driver: Driver,
    tree: ProviderTree,
    nodename: str,
    allocations: Allocations | None = None,
) -> None:
    """Update a tree in place. Raises ReshapeNeeded without allocations, as drivers may."""
    root = tree.data(nodename).uuid
    after = tree.copy()
    driver.update_provider_tree(after, nodename, allocations)
    if allocations is not None:
        settle(tree, after, root, allocations, partial(driver.where, nodename))
    elif needed := reshape_needed(tree, after, root):
        raise ReshapeNeeded(needed)
    driver.update_provider_tree(tree, nodename, allocations)


def holding(**consumers: Mapping[str, Mapping[str, int]]) -> Allocations:
    """Allocations as the agent passes them: consumer -> provider -> class -> amount."""
    return {
        name: {
            "allocations": {uuid: {"resources": dict(held)} for uuid, held in providers.items()},
            "project_id": "project",
            "user_id": "user",
            "consumer_generation": 1,
        }
        for name, providers in consumers.items()
    }


def held(allocations: Allocations) -> dict[str, dict[str, dict[str, int]]]:
    """Consumer -> provider -> class -> amount."""
    return {
        name: {uuid: each["resources"] for uuid, each in record["allocations"].items()}
        for name, record in allocations.items()
    }


def host(inventory: Mapping[str, Any], **children: Mapping[str, Any]) -> ProviderTree:
    """A root with an inventory, and children with theirs; names are UUIDs."""
    tree = ProviderTree()
    tree.new_root("host", "host")
    tree.update_inventory("host", inventory)
    for name, fields in children.items():
        tree.new_child(name, "host", uuid=name)
        tree.update_inventory(name, fields)
    return tree


def settled(
    before: ProviderTree,
    after: ProviderTree,
    allocations: Allocations,
    where: Mapping[str, Whereabouts] | None = None,
    **options: Any,
) -> Settlement:
    """Move what these consumers hold; `where` is what the driver knows of each."""
    known = where or {}
    return settle(before, after, "host", allocations, lambda each: known.get(each, {}), **options)
