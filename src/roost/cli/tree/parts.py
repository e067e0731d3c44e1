"""The texts, numbers and bars that lines about providers are made of."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from roost.cli.tree.forest import Amounts, Node
from roost.client import Inventory
from roost.model import SHARING_TRAIT
from roost.uuids import canonical_uuid

# Usage above this share of the capacity is yellow.
FULL_SHARE = 0.9

# How many characters of an aggregate's UUID are shown.
AGGREGATE_WIDTH = 8
# How many names of sharing providers, and how many aggregates, are shown for one provider.
NAMES_MAX = 3


def scaled(parts: Sequence[int], width: int) -> list[int]:
    """How many characters each part of a bar gets: in proportion, and at least one unless it is 0.

    Rounding is made up for by the longest part.
    """
    whole = sum(parts)
    if not whole:
        return [0] * len(parts)
    # In integers: amounts may be larger than a float can tell apart.
    widths = [max(1 if part else 0, (2 * width * part + whole) // (2 * whole)) for part in parts]
    longest = widths.index(max(widths))
    widths[longest] += width - sum(widths)
    return widths


def number(amount: int) -> str:
    """With separators; of a size that no cloud has, rounded."""
    return f"{amount:,}" if abs(amount) < 10**12 else f"{amount:.3g}"


def remarks(node: Node, *, counts_traits: bool) -> str:
    """What is said about a provider, beside its inventories."""
    details = node.details
    parts = []
    if node.folded:
        parts.append(f"with {counted(node.folded, 'provider')} below")
    if counts_traits and details.traits:
        parts.append(counted(len(details.traits), "trait"))
    if details.aggregates:
        short = sorted(canonical_uuid(each)[:AGGREGATE_WIDTH] for each in details.aggregates)
        verb = "shares through" if SHARING_TRAIT in details.traits else "in"
        noun = "aggregate" if len(short) == 1 else "aggregates"
        parts.append(f"{verb} {noun} {listed(short)}")
    return ", ".join(parts)


def sources(root: Node) -> Iterator[str]:
    """From whom a tree can get what it has not got itself."""
    names: dict[str, list[str]] = {}
    for each in root.shared_by:
        names.setdefault(each.aggregate, []).append(each.name)
    for aggregate, sharing in list(names.items())[:NAMES_MAX]:
        yield f"can use {listed(sharing)} through aggregate {aggregate[:AGGREGATE_WIDTH]}"
    if len(names) > NAMES_MAX:
        yield f"and others through {counted(len(names) - NAMES_MAX, 'aggregate')} more"


def free_text(amounts: Amounts) -> str:
    return f"{number(amounts.over)} over" if amounts.over else f"{number(amounts.free)} free"


def usage_style(amounts: Amounts) -> str:
    if amounts.over:
        return "red"
    return "yellow" if (amounts.share or 0) > FULL_SHARE else "green"


def inventory_notes(inventory: Inventory) -> str:
    """What is unusual about an inventory."""
    notes = []
    if inventory.allocation_ratio != 1.0:
        notes.append(f"{number(inventory.total)} x {inventory.allocation_ratio:g}")
    if inventory.min_unit != 1 or inventory.step_size != 1:
        notes.append(f"from {number(inventory.min_unit)} by {number(inventory.step_size)}")
    return f"  {', '.join(notes)}" if notes else ""


def right_aligned(texts: list[str]) -> list[str]:
    """Numbers with a unit below each other."""
    width = max(map(len, texts))
    return [text.rjust(width) for text in texts]


def listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMES_MAX])
    more = len(names) - NAMES_MAX
    return f"{shown} and {more:,} more" if more > 0 else shown


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def beginning(text: str, width: int) -> str:
    """The beginning of a text that takes no more than this width."""
    taken = 0
    for position, character in enumerate(text):
        taken += cell_len(character)
        if taken > width:
            return text[:position]
    return text


def has_characters(encoding: str, characters: str) -> bool:
    try:
        characters.encode(encoding)
    except (UnicodeError, LookupError):
        return False
    return True
