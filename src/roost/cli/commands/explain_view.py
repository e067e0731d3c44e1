"""Explanations and counts of capacity, as tables for people."""

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from roost.cli.output import printable, wrapping_console
from roost.client import Capacity, Explanation
from roost.client.explanations import ExplainedProvider, ExplainedRule, ExplainedTree
from roost.reasons import RuleKind, UnitLimit, Verdict

# How many trees `roost capacity` lists. JSON has all of them.
TREES_MAX = 20

_STYLES = {
    Verdict.FITS: "bold green",
    Verdict.NOT_NOW: "bold yellow",
    Verdict.NEVER: "bold red",
    Verdict.UNKNOWN: "bold magenta",
}


# ---------------------------------------------------------------------------------------------
# Explanations


def print_explanation(found: Explanation) -> None:
    console = wrapping_console()
    if found.stages:
        console.print(_funnel(found))
    if found.tree is not None:
        console.print()
        _print_tree(console, found.tree, Verdict(found.verdict))
    if found.nearest:
        console.print(Text("\nthe nearest trees", style="bold"))
        for tree in found.nearest:
            _print_tree(console, tree, Verdict(found.verdict))
    if found.relaxations:
        console.print(Text("\nit would fit", style="bold"))
        for each in found.relaxations:
            console.print(_indented(_text(each.text, "cyan")))
    if not found.complete:
        console.print(_indented(Text("there may be more: not everything was tried", "dim")))
    console.print()
    console.print(_text(found.summary, _STYLES[Verdict(found.verdict)]))


def _funnel(found: Explanation) -> Table:
    """A row for each rule: what was left after it, and what it removed."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("rule", header_style="bold", overflow="fold")
    table.add_column("trees left", justify="right", header_style="bold", no_wrap=True)
    table.add_column("lost", justify="right", header_style="bold", no_wrap=True)
    table.add_column("providers", justify="right", header_style="bold", no_wrap=True)
    table.add_column("of", justify="right", header_style="bold", no_wrap=True)
    table.add_row(Text("all", style="dim"), f"{found.trees:,}", "", f"{found.providers:,}", "")
    for stage in found.stages:
        trees, providers = stage.trees, stage.providers
        lost = trees.before - trees.after
        style = "dim" if not trees.before else "red" if not trees.after else "yellow"
        table.add_row(
            _text(stage.text, "dim" if not trees.before else ""),
            Text(f"{trees.after:,}", style=style if lost or not trees.after else "green"),
            Text(f"{lost:,}" if lost else "", style=style),
            f"{providers.after:,}",
            Text(f"{providers.before:,}", style="dim"),
        )
    return table


def _print_tree(console: Console, tree: ExplainedTree, verdict: Verdict) -> None:
    title = Text.assemble(_text(tree.name, "bold"), "  ", _text(tree.uuid, "dim"))
    console.print(_indented(title))
    rule = tree.rule
    if rule is None:
        # No stage lost it; but perhaps not all stages could be examined.
        console.print(_indented(Text(verdict, style=_STYLES[verdict]), 4))
        return
    if not tree.providers:
        # No single provider is to blame.
        console.print(_indented(_text(tree.reason or "", "red"), 4))
    if tree.providers and tree.providers[0].inventory is not None:
        console.print(_indented(_inventory_table(rule, tree.providers), 4))
    else:
        for each in tree.providers:
            console.print(_indented(_text(each.text, "red"), 4))
    if tree.providers_more:
        console.print(_indented(Text(f"and {tree.providers_more:,} more", style="dim"), 4))


def _inventory_table(rule: ExplainedRule, providers: Sequence[ExplainedProvider]) -> Table:
    """A row for each provider: what was asked of it, and what it has."""
    table = Table.grid(padding=(0, 2, 0, 0))
    # On a narrow terminal texts give way to numbers.
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for justify in ("right", "left", "right", "left", "right"):
        table.add_column(justify=justify, no_wrap=True)
    table.add_column(overflow="fold")
    together = rule.kind == RuleKind.CAPACITY
    for each in providers:
        inventory = each.inventory
        assert inventory is not None, "all providers break the same rule"
        name = each.broken[0] if together else rule.names[0]
        short = together or UnitLimit.NOT_FREE in each.broken
        table.add_row(
            _text(each.name),
            _text(name),
            str(inventory.asked),
            "asked together," if together else "asked,",
            Text(str(inventory.free), style="red" if short else "green"),
            "free of",
            str(inventory.capacity),
            Text("" if together else _units(each), style="dim"),
        )
    return table


def _units(provider: ExplainedProvider) -> str:
    """Which unit limits an amount violates, or how much of it the provider gives."""
    if provider.gives is not None:
        return f"gives {provider.gives}"
    inventory = provider.inventory
    assert inventory is not None
    limits = (
        (UnitLimit.BELOW_MIN_UNIT, f"less than min_unit {inventory.min_unit}"),
        (UnitLimit.ABOVE_MAX_UNIT, f"more than max_unit {inventory.max_unit}"),
        (UnitLimit.NO_WHOLE_STEP, f"no multiple of step_size {inventory.step_size}"),
    )
    return ", ".join(text for limit, text in limits if limit in provider.broken) or "units ok"


def _text(text: str, style: str = "") -> Text:
    """A text with names from the service, folded where it is too long for a line."""
    return Text(printable(text), style=style, overflow="fold")


def _indented(shown: Text | Table, width: int = 2) -> Padding:
    return Padding(shown, (0, 0, 0, width), expand=False)


# ---------------------------------------------------------------------------------------------
# Capacity


def print_capacity(found: Capacity) -> None:
    console = wrapping_console()
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(no_wrap=True)
    trees = found.trees
    for tree in trees[:TREES_MAX]:
        table.add_row(
            Text(f"{tree.count:,}", style="green"), _text(tree.name), _text(tree.uuid, "dim")
        )
    if trees:
        console.print(table)
    if len(trees) > TREES_MAX:
        console.print(Text(f"and {len(trees) - TREES_MAX:,} more trees", style="dim"))
    least = "" if found.complete else "At least "
    where = f" in {len(trees):,} tree{'' if len(trees) == 1 else 's'}" if trees else ""
    fit = "fits" if found.count == 1 else "fit"
    text = f"{least}{found.count:,} more of this request {fit}{where}."
    console.print(Text(text, style="bold"))
