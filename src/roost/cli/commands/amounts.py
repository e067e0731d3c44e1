"""Amounts and ages for people: short numbers, bars, and spans of time."""

import sys
from collections.abc import Mapping
from datetime import UTC, datetime

from roost.cli.tree.drawing import ASCII, BAR_WIDTH, UNICODE
from roost.cli.tree.parts import FULL_SHARE, has_characters, scaled

# What one of a resource class is, in the units that people use for larger amounts.
_UNITS = {"MEMORY_MB": ("MB", "GB", "TB", "PB"), "DISK_GB": ("GB", "TB", "PB", "EB")}
_THOUSANDS = ("", "k", "M", "G", "T")
# Numbers below this are shown in full.
_SHORT_MIN = 1_000_000


def short_amount(resource_class: str, amount: int) -> str:
    """`1.5 TB` for MEMORY_MB, `12,345` for a count, and `1.2 M` for a large one."""
    if resource_class in _UNITS:
        return _scaled(amount, 1024, _UNITS[resource_class])
    return f"{amount:,}" if abs(amount) < _SHORT_MIN else _scaled(amount, 1000, _THOUSANDS)


def _scaled(amount: int, base: int, units: tuple[str, ...]) -> str:
    number, power = float(amount), 0
    while abs(number) >= base and power < len(units) - 1:
        number, power = number / base, power + 1
    digits = f"{number:,.1f}".removesuffix(".0") if abs(number) < 100 else f"{number:.0f}"
    return f"{digits} {units[power]}".rstrip()


def resources_text(resources: Mapping[str, int]) -> str:
    """`MEMORY_MB:4096, VCPU:2`, in the order of the classes; a query has them in this form."""
    return ", ".join(f"{name}:{amount}" for name, amount in sorted(resources.items()))


def used_style(used: int, capacity: int) -> str:
    return "red" if used > capacity else "yellow" if used > FULL_SHARE * capacity else "green"


def bar(used: int, capacity: int, width: int = BAR_WIDTH) -> str:
    """How much of a capacity is used, as `roost tree` draws it."""
    encoding = sys.stdout.encoding or "ascii"
    glyphs = UNICODE if has_characters(encoding, "".join(UNICODE)) else ASCII
    full, empty = scaled((used, max(0, capacity - used)), width)
    return (glyphs.used * full + glyphs.free * empty) or glyphs.free * width


def age_text(since: datetime, now: datetime | None = None) -> str:
    """How long ago something was, in the largest unit of which there is more than one."""
    seconds = max(0, int(((now or datetime.now(UTC)) - since).total_seconds()))
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length:,} {unit}"
    return f"{seconds} s"
