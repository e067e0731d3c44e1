"""Writes trees to stdout, one after the other: lines for people, JSON for programs."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.text import Text

from roost.cli.output import Failure, json_text, printable
from roost.cli.tree.drawing import Drawing, Line
from roost.cli.tree.forest import Node, parents_first

# How many trees a terminal gets unless more are asked for.
TREES_ON_TERMINAL_MAX = 50


def print_trees(roots: Sequence[Node], *, limit: int | None, with_traits: bool) -> None:
    """Draw the first trees: all if `limit` is 0, and if it is None all that a person may read."""
    console = Console(highlight=False)
    # Not `console.is_terminal`, which environment variables can set for a pipe.
    is_terminal = sys.stdout.isatty()
    if limit is None:
        limit = TREES_ON_TERMINAL_MAX if is_terminal else 0
    width = console.width if is_terminal else None
    drawing = Drawing(width=width, encoding=console.encoding, with_traits=with_traits)
    lines = _lines(roots, drawing, limit)
    if is_terminal and console.color_system is not None:
        for line in lines:
            console.print(Text.assemble(*line), soft_wrap=True)
    else:
        # Much quicker, and enough for a cloud of any size.
        for line in lines:
            sys.stdout.write("".join(text for text, _ in line).rstrip() + "\n")


def _lines(roots: Sequence[Node], drawing: Drawing, limit: int) -> Iterator[Line]:
    shown = roots[:limit] if limit else roots
    for root in shown:
        yield from drawing.lines(root)
    if len(shown) < len(roots):
        yield drawing.note(
            f"{len(shown):,} of {len(roots):,} trees; --limit 0 shows all, --depth 1 a summary "
            "of each"
        )


# ---------------------------------------------------------------------------------------------
# JSON


def print_trees_as_json(roots: Sequence[Node], *, limit: int | None) -> None:
    """An array of trees, a tree at a time: the text of a large cloud is never held as a whole."""
    separator = "[\n"
    for root in roots[:limit] if limit else roots:
        try:
            text = json_text(as_plain_data(root))
        except RecursionError:
            name = printable(root.name)
            raise Failure(f"the tree of {name} is too deep for JSON; say --depth") from None
        indented = "\n".join(f"  {line}" for line in text.split("\n"))
        click.echo((separator + indented).encode(), nl=False)
        separator = ",\n"
    click.echo("[]" if separator == "[\n" else "\n]")


def as_plain_data(root: Node) -> dict[str, Any]:
    """A tree as JSON has it."""
    data: dict[str, dict[str, Any]] = {}
    for node in reversed(parents_first([root])):
        provider = node.details.provider
        data[provider.uuid] = _as_plain_data(node, [data.pop(one) for one in _uuids(node.children)])
    return data.popitem()[1]


def _uuids(nodes: Iterable[Node]) -> Iterator[str]:
    return (node.details.provider.uuid for node in nodes)


def _as_plain_data(node: Node, children: list[dict[str, Any]]) -> dict[str, Any]:
    details = node.details
    data = {
        **msgspec.structs.asdict(details.provider),
        "inventories": {
            name: msgspec.structs.asdict(each)
            for name, each in details.inventories.items()
            if name in node.amounts
        },
        "usages": {name: used for name, used in details.usages.items() if name in node.amounts},
        "traits": sorted(details.traits),
        "aggregates": sorted(details.aggregates),
    }
    if details.provider.parent_uuid is None:
        data["shared_by"] = [each._asdict() for each in node.shared_by]
    if node.folded:
        data["providers_below"] = node.folded
    return {**data, "children": children}
