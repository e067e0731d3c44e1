"""Explanations and counts of capacity, as tables for people."""

from urllib.parse import parse_qs

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from roost.cli.output import BadInput, wrapping_console
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


def parse_query(text: str) -> dict[str, list[str]]:
    try:
        return parse_qs(text.removeprefix("?"), keep_blank_values=True, strict_parsing=True)
    except ValueError:
        raise BadInput(f"not a query like resources=VCPU:1&required=TRAIT: {text!r}") from None


# ---------------------------------------------------------------------------------------------
# Explanations


def print_explanation(found: Explanation) -> None:
    console = wrapping_console()
    if found["stages"]:
        console.print(_funnel(found))
    if found["tree"] is not None:
        console.print()
        _print_tree(console, found["tree"], Verdict(found["verdict"]))
    if found["nearest"]:
        console.print(Text("\nthe nearest trees", style="bold"))
        for tree in found["nearest"]:
            _print_tree(console, tree, Verdict(found["verdict"]))
    if found["relaxations"]:
        console.print(Text("\nit would fit", style="bold"))
        for each in found["relaxations"]:
            console.print(_indented(Text(each["text"], style="cyan")))
    if not found["complete"]:
        console.print(_indented(Text("there may be more: not everything was tried", "dim")))
    console.print()
    console.print(Text(found["summary"], style=_STYLES[Verdict(found["verdict"])]))


def _funnel(found: Explanation) -> Table:
    """A row for each rule: what was left after it, and what it removed."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("rule", header_style="bold", overflow="fold")
    table.add_column("trees left", justify="right", header_style="bold")
    table.add_column("lost", justify="right", header_style="bold")
    table.add_column("providers", justify="right", header_style="bold")
    table.add_column("of", justify="right", header_style="bold")
    table.add_row(
        Text("all", style="dim"), f"{found['trees']:,}", "", f"{found['providers']:,}", ""
    )
    for stage in found["stages"]:
        trees, providers = stage["trees"], stage["providers"]
        lost = trees["in"] - trees["out"]
        style = "dim" if not trees["in"] else "red" if not trees["out"] else "yellow"
        table.add_row(
            Text(stage["text"], style="dim" if not trees["in"] else ""),
            Text(f"{trees['out']:,}", style=style if lost or not trees["out"] else "green"),
            Text(f"{lost:,}" if lost else "", style=style),
            f"{providers['out']:,}",
            Text(f"{providers['in']:,}", style="dim"),
        )
    return table


def _print_tree(console: Console, tree: ExplainedTree, verdict: Verdict) -> None:
    title = Text.assemble((tree["name"], "bold"), "  ", (tree["uuid"], "dim"))
    console.print(_indented(title))
    rule = tree["rule"]
    if rule is None:
        # No stage lost it; but perhaps not all stages could be examined.
        console.print(_indented(Text(verdict, style=_STYLES[verdict]), 4))
        return
    if not tree["providers"]:
        # No single provider is to blame.
        console.print(_indented(Text(tree["reason"] or "", style="red"), 4))
    if tree["providers"] and "inventory" in tree["providers"][0]:
        console.print(_indented(_inventory_table(rule, tree["providers"]), 4))
    else:
        for each in tree["providers"]:
            console.print(_indented(Text(each["text"], style="red"), 4))
    if tree["providers_more"]:
        console.print(_indented(Text(f"and {tree['providers_more']:,} more", style="dim"), 4))


def _inventory_table(rule: ExplainedRule, providers: list[ExplainedProvider]) -> Table:
    """A row for each provider: what was asked of it, and what it has."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("left", "left", "right", "left", "right", "left", "right", "left"):
        table.add_column(justify=justify, no_wrap=True)
    together = rule["kind"] == RuleKind.CAPACITY
    for each in providers:
        inventory = each["inventory"]
        name = each["broken"][0] if together else rule["names"][0]
        short = together or UnitLimit.NOT_FREE in each["broken"]
        table.add_row(
            each["name"],
            name,
            str(inventory["asked"]),
            "asked together," if together else "asked,",
            Text(str(inventory["free"]), style="red" if short else "green"),
            "free of",
            str(inventory["capacity"]),
            Text("" if together else _units(each), style="dim"),
        )
    return table


def _units(provider: ExplainedProvider) -> str:
    """Which unit limits an amount violates, or how much of it the provider gives."""
    if "gives" in provider:
        return f"gives {provider['gives']}"
    inventory = provider["inventory"]
    limits = (
        (UnitLimit.BELOW_MIN_UNIT, f"less than min_unit {inventory['min_unit']}"),
        (UnitLimit.ABOVE_MAX_UNIT, f"more than max_unit {inventory['max_unit']}"),
        (UnitLimit.NO_WHOLE_STEP, f"no multiple of step_size {inventory['step_size']}"),
    )
    return ", ".join(text for limit, text in limits if limit in provider["broken"]) or "units ok"


def _indented(shown: Text | Table, width: int = 2) -> Padding:
    return Padding(shown, (0, 0, 0, width), expand=False)


# ---------------------------------------------------------------------------------------------
# Capacity


def print_capacity(found: Capacity) -> None:
    console = wrapping_console()
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right")
    table.add_column()
    table.add_column()
    trees = found["trees"]
    for tree in trees[:TREES_MAX]:
        table.add_row(
            Text(f"{tree['count']:,}", style="green"), tree["name"], Text(tree["uuid"], style="dim")
        )
    if trees:
        console.print(table)
    if len(trees) > TREES_MAX:
        console.print(Text(f"and {len(trees) - TREES_MAX:,} more trees", style="dim"))
    least = "" if found["complete"] else "At least "
    where = f" in {len(trees):,} tree{'' if len(trees) == 1 else 's'}" if trees else ""
    fit = "fits" if found["count"] == 1 else "fit"
    text = f"{least}{found['count']:,} more of this request {fit}{where}."
    console.print(Text(text, style="bold"))
