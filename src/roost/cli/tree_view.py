"""Provider trees: reading them from a service, and drawing them."""

import uuid
from collections.abc import Sequence
from typing import Any

import msgspec
from rich.text import Text
from rich.tree import Tree

from roost.cli.output import BadInput, wrapping_console
from roost.client import Client, Inventory, Provider
from roost.model import Value

# Usage above this share of the capacity is yellow.
FULL_SHARE = 0.9


class ProviderNode(Value, frozen=True, kw_only=True):
    """A provider with everything that the drawing shows, and its children."""

    provider: Provider
    inventories: dict[str, Inventory]
    usages: dict[str, int]
    traits: list[str]
    aggregates: list[str]
    children: "list[ProviderNode]"


def read_trees(client: Client, name_or_uuid: str | None) -> list[ProviderNode]:
    """One tree, or all trees if no provider is given; roots in the order of their names."""
    if name_or_uuid is None:
        providers = client.providers()
    else:
        providers = client.tree(find_provider(client, name_or_uuid).uuid)
    providers = sorted(providers, key=lambda each: each.name)
    return [_read_node(client, each, providers) for each in providers if each.parent_uuid is None]


def find_provider(client: Client, name_or_uuid: str) -> Provider:
    found = client.providers({"uuid" if _is_uuid(name_or_uuid) else "name": name_or_uuid})
    if not found:
        raise BadInput(f"there is no provider {name_or_uuid}")
    return found[0]


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def _read_node(client: Client, provider: Provider, providers: Sequence[Provider]) -> ProviderNode:
    return ProviderNode(
        provider=provider,
        inventories=dict(client.inventories(provider.uuid).inventories),
        usages=dict(client.usages(provider.uuid)),
        traits=sorted(client.provider_traits(provider.uuid).traits),
        aggregates=sorted(client.provider_aggregates(provider.uuid).aggregates),
        children=[
            _read_node(client, each, providers)
            for each in providers
            if each.parent_uuid == provider.uuid
        ],
    )


def as_plain_data(trees: Sequence[ProviderNode]) -> list[dict[str, Any]]:
    """The trees as JSON has them."""
    return [_as_plain_data(each) for each in trees]


def _as_plain_data(node: ProviderNode) -> dict[str, Any]:
    return {
        **msgspec.structs.asdict(node.provider),
        "inventories": msgspec.to_builtins(node.inventories),
        "usages": node.usages,
        "traits": node.traits,
        "aggregates": node.aggregates,
        "children": as_plain_data(node.children),
    }


def print_trees(trees: Sequence[ProviderNode], *, with_traits: bool) -> None:
    console = wrapping_console()
    if not trees:
        console.print("there are no providers")
    for node in trees:
        console.print(_branch(node, None, with_traits=with_traits))


def _branch(node: ProviderNode, parent: Tree | None, *, with_traits: bool) -> Tree:
    title = Text.assemble((node.provider.name, "bold"), "  ", (node.provider.uuid, "dim"))
    branch = Tree(title, guide_style="dim") if parent is None else parent.add(title)
    width = max((len(name) for name in node.inventories), default=0)
    for name, inventory in sorted(node.inventories.items()):
        branch.add(_inventory_line(name.ljust(width), inventory, node.usages.get(name, 0)))
    if with_traits and node.traits:
        branch.add(Text(", ".join(node.traits), style="cyan"))
    if node.aggregates:
        branch.add(Text(f"aggregates {', '.join(node.aggregates)}", style="magenta"))
    for child in node.children:
        _branch(child, branch, with_traits=with_traits)
    return branch


def _inventory_line(name: str, inventory: Inventory, used: int) -> Text:
    capacity = inventory.capacity
    style = "red" if used > capacity else "yellow" if used > FULL_SHARE * capacity else "green"
    line = Text.assemble(f"{name}  ", (f"{used:>8,}", style), f" of {capacity:,}")
    notes = []
    if inventory.reserved:
        notes.append(f"{inventory.reserved:,} of {inventory.total:,} reserved")
    if inventory.allocation_ratio != 1.0:
        notes.append(f"{inventory.total:,} x {inventory.allocation_ratio:g}")
    if inventory.min_unit != 1 or inventory.step_size != 1:
        notes.append(f"from {inventory.min_unit:,} in steps of {inventory.step_size:,}")
    if notes:
        line.append(f"  ({'; '.join(notes)})", style="dim")
    return line
