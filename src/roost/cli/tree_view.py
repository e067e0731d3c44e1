"""Trees of providers for people, and as JSON."""

import uuid
from collections.abc import Sequence
from typing import Any

import click
import msgspec
from rich.text import Text
from rich.tree import Tree

from roost.cli.failure import BadInput
from roost.cli.terminal import wrapping_console
from roost.client import Client, Inventory, Provider
from roost.model import Value

# A bar would be prettier, and say less.
FULL_SHARE = 0.9


class Shown(Value, frozen=True, kw_only=True):
    """A provider with everything that is shown of it."""

    provider: Provider
    inventories: dict[str, Inventory]
    usages: dict[str, int]
    traits: list[str]
    aggregates: list[str]
    children: "list[Shown]"


def read_trees(client: Client, name_or_uuid: str | None) -> list[Shown]:
    """The trees that are asked for, their roots in the order of their names."""
    if name_or_uuid is None:
        providers = client.providers()
    else:
        providers = client.tree(find_provider(client, name_or_uuid).uuid)
    providers = sorted(providers, key=lambda each: each.name)
    return [_shown(client, each, providers) for each in providers if each.parent_uuid is None]


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


def _shown(client: Client, provider: Provider, providers: Sequence[Provider]) -> Shown:
    return Shown(
        provider=provider,
        inventories=dict(client.inventories(provider.uuid).inventories),
        usages=dict(client.usages(provider.uuid)),
        traits=sorted(client.provider_traits(provider.uuid).traits),
        aggregates=sorted(client.provider_aggregates(provider.uuid).aggregates),
        children=[
            _shown(client, each, providers)
            for each in providers
            if each.parent_uuid == provider.uuid
        ],
    )


def print_json(trees: Sequence[Shown]) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode([_plain(each) for each in trees])))


def _plain(shown: Shown) -> dict[str, Any]:
    return {
        **msgspec.structs.asdict(shown.provider),
        "inventories": msgspec.to_builtins(shown.inventories),
        "usages": shown.usages,
        "traits": shown.traits,
        "aggregates": shown.aggregates,
        "children": [_plain(each) for each in shown.children],
    }


def print_trees(trees: Sequence[Shown], *, with_traits: bool) -> None:
    console = wrapping_console()
    if not trees:
        console.print("there are no providers")
    for shown in trees:
        console.print(_branch(shown, None, with_traits=with_traits))


def _branch(shown: Shown, above: Tree | None, *, with_traits: bool) -> Tree:
    title = Text.assemble((shown.provider.name, "bold"), "  ", (shown.provider.uuid, "dim"))
    branch = Tree(title, guide_style="dim") if above is None else above.add(title)
    width = max((len(name) for name in shown.inventories), default=0)
    for name, inventory in sorted(shown.inventories.items()):
        branch.add(_stock(name.ljust(width), inventory, shown.usages.get(name, 0)))
    if with_traits and shown.traits:
        branch.add(Text(", ".join(shown.traits), style="cyan"))
    if shown.aggregates:
        branch.add(Text(f"aggregates {', '.join(shown.aggregates)}", style="magenta"))
    for child in shown.children:
        _branch(child, branch, with_traits=with_traits)
    return branch


def _stock(name: str, inventory: Inventory, used: int) -> Text:
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
