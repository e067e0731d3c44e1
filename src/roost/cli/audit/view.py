"""What an audit found and did: tables for people, plain data for programs."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from roost.audit.findings import Findings, Orphan, Outside, OverCommitted, held, total
from roost.audit.writing import Outcome, Result
from roost.cli.commands.amounts import age_text
from roost.cli.output import wrapping_console
from roost.client import Resources

# How many consumers of a provider or a tree are shown. JSON has all of them.
HOLDERS_MAX = 5

_SECTIONS = {
    "orphans": "orphans",
    "servers": "servers without allocations",
    "outside": "providers outside of the aggregates that consumers hold",
    "over_committed": "over-committed inventories",
}

_RESULTS = {
    Result.RELEASED: "given back",
    Result.GONE: "gone before it could be given back",
    Result.KNOWN: "left alone: nova knows it by now",
    Result.CHANGED: "left alone: somebody has written it since",
    Result.RESTORED: "put back",
    Result.THERE: "there already",
    Result.DIFFERENT: "left alone: it exists, and holds something else",
    Result.REFUSED: "refused by the service",
}
# Those that are not worth a line for each consumer.
_EXPECTED = (Result.RELEASED, Result.GONE, Result.RESTORED, Result.THERE)


# ---------------------------------------------------------------------------------------------
# Findings


def print_findings(found: Findings, now: datetime) -> None:
    console = wrapping_console()
    console.print(_totals(found))
    if found.orphans:
        _print_orphans(console, found, now)
    if found.servers:
        _print_title(console, _SECTIONS["servers"])
        for uuid in found.servers:
            console.print(_indented(Text(uuid)))
    if found.outside:
        _print_outside(console, found)
    if found.over_committed:
        _print_over_committed(console, found)
    if not found:
        console.print(Text("Nothing found.", style="bold green"))


def _totals(found: Findings) -> Table:
    table = _table()
    table.add_column(justify="right")
    table.add_column()
    table.show_header = False
    _add(table, f"{found.providers:,}", "providers")
    _add(table, f"{found.consumers:,}", "consumers")
    _add(table, f"{found.known:,}", "known to the cloud")
    if found.young:
        _add(table, f"{found.young:,}", "unknown, but too young to be judged")
    for field, title in _SECTIONS.items():
        count = len(getattr(found, field))
        if field == "outside" and not count:
            # Nobody asked, or all is well.
            continue
        style = "bold red" if count else "green"
        _add(table, Text(f"{count:,}", style=style), Text(_with_total(found, field, title)))
    return table


def _with_total(found: Findings, field: str, title: str) -> str:
    if field == "orphans" and found.orphans:
        return f"{title}, which hold {_amounts(_held(found.orphans))}"
    return title


def _print_orphans(console: Console, found: Findings, now: datetime) -> None:
    _print_title(console, _SECTIONS["orphans"])
    for (kind, project), group in groupby(found.orphans, key=_group):
        orphans = list(group)
        title = Text.assemble(
            (f"type {kind or 'unknown'}, project {project or 'unknown'}", "bold"),
            f": {_count(len(orphans), 'orphan')} with {_amounts(_held(orphans))}",
        )
        console.print(_indented(title))
        table = _table("age", "consumer", "holds")
        table.columns[0].justify = "right"
        for column in table.columns[:2]:
            column.no_wrap = True
        for orphan in orphans:
            _add(
                table,
                age_text(orphan.changed_at, now),
                orphan.consumer.uuid,
                _holdings(found, orphan.consumer.allocations),
            )
        console.print(_indented(table, 4))


def _group(orphan: Orphan) -> tuple[str | None, str | None]:
    return orphan.consumer.consumer_type, orphan.consumer.project_id


def _print_outside(console: Console, found: Findings) -> None:
    """A tree at a time: a host is drained as a whole."""
    _print_title(console, _SECTIONS["outside"])
    for root_uuid, group in groupby(found.outside, key=lambda each: each.root_uuid):
        shares: dict[str, list[Resources]] = defaultdict(list)
        for each in group:
            for uuid, resources in each.holders.items():
                shares[uuid].append(resources)
        held_here = {uuid: total(shares[uuid]) for uuid in sorted(shares)}
        title = Text.assemble(
            (found.name(root_uuid), "bold"),
            f": {_count(len(held_here), 'consumer')} with {_amounts(total(held_here.values()))}",
        )
        console.print(_indented(title))
        _print_holders(console, {uuid: _amounts(sums) for uuid, sums in held_here.items()})


def _print_over_committed(console: Console, found: Findings) -> None:
    _print_title(console, _SECTIONS["over_committed"])
    for each in found.over_committed:
        title = Text.assemble(
            (f"{found.name(each.provider_uuid)} {each.resource_class}", "bold"),
            f": {each.used:,} used of {each.capacity:,}, {each.excess:,} too many",
        )
        console.print(_indented(title))
        _print_holders(console, {uuid: f"{amount:,}" for uuid, amount in each.holders.items()})


def _print_holders(console: Console, amounts: Mapping[str, str]) -> None:
    table = _table("consumer", "holds")
    table.show_header = False
    table.columns[0].no_wrap = True
    for uuid, amount in islice(amounts.items(), HOLDERS_MAX):
        _add(table, uuid, amount)
    if len(amounts) > HOLDERS_MAX:
        _add(table, f"and {len(amounts) - HOLDERS_MAX:,} more: --json has all", "")
    console.print(_indented(table, 4))


# ---------------------------------------------------------------------------------------------
# Giving back, and putting back


def print_plan(orphans: Sequence[Orphan], *, left_alone: int, to_stderr: bool) -> None:
    console = wrapping_console(to_stderr=to_stderr)
    if not to_stderr:
        console.print()
    if orphans:
        amounts = _amounts(_held(orphans))
        console.print(Text(f"To be given back: {amounts}, of {_count(len(orphans), 'orphan')}."))
    if left_alone:
        console.print(
            f"{_count(left_alone, 'orphan')} of unknown type will be left alone: another service "
            "may own them. If none does, say --type unknown."
        )


def print_outcomes(outcomes: Sequence[Outcome], record: Path | None) -> None:
    console = wrapping_console()
    console.print()
    counts = Counter(each.result for each in outcomes)
    for result, title in _RESULTS.items():
        if counts[result]:
            style = "green" if result in _EXPECTED else "yellow"
            count = _count(counts[result], "consumer")
            console.print(Text(f"{count} {title}", style=style))
        if result not in _EXPECTED:
            for each in outcomes:
                if each.result is result:
                    reason = f": {each.reason}" if each.reason else ""
                    console.print(_indented(Text(f"{each.uuid}{reason}")))
    if not outcomes:
        console.print("Nothing to do.")
    if record is not None:
        console.print(Text(f"Undo it with: roost audit --restore {record}"))


# ---------------------------------------------------------------------------------------------
# Programs


def as_plain_data(
    found: Findings, now: datetime, outcomes: Sequence[Outcome], record: Path | None
) -> dict[str, Any]:
    """All of it, for JSON."""
    return {
        "totals": {
            "providers": found.providers,
            "consumers": found.consumers,
            "known": found.known,
            "young": found.young,
            **{field: len(getattr(found, field)) for field in _SECTIONS},
            "held_by_orphans": _held(found.orphans),
        },
        "orphans": [
            {
                "uuid": each.consumer.uuid,
                "consumer_type": each.consumer.consumer_type,
                "project_id": each.consumer.project_id,
                "user_id": each.consumer.user_id,
                "consumer_generation": each.consumer.generation,
                "changed_at": each.changed_at,
                "age_seconds": int((now - each.changed_at).total_seconds()),
                "allocations": each.consumer.allocations,
            }
            for each in found.orphans
        ],
        "servers": list(found.servers),
        "outside": [
            {**_provider(found, each), "consumers": each.holders} for each in found.outside
        ],
        "over_committed": [
            {
                **_provider(found, each),
                "resource_class": each.resource_class,
                "capacity": each.capacity,
                "used": each.used,
                "excess": each.excess,
                "consumers": each.holders,
            }
            for each in found.over_committed
        ],
        "names": found.names,
        "outcomes": outcomes,
        "record": None if record is None else str(record),
    }


def _provider(found: Findings, each: Outside | OverCommitted) -> dict[str, str]:
    return {
        "resource_provider": each.provider_uuid,
        "name": found.name(each.provider_uuid),
        "tree": each.root_uuid,
    }


# ---------------------------------------------------------------------------------------------
# Words


def _held(orphans: Iterable[Orphan]) -> dict[str, int]:
    return held(each.consumer for each in orphans)


def _amounts(resources: Resources) -> str:
    return ", ".join(f"{name} {amount:,}" for name, amount in resources.items()) or "nothing"


def _holdings(found: Findings, allocations: Mapping[str, Resources]) -> str:
    return "\n".join(
        f"{found.name(uuid)}: {_amounts(dict(sorted(resources.items())))}"
        for uuid, resources in allocations.items()
    )


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _print_title(console: Console, title: str) -> None:
    console.print()
    console.print(Text(title, style="bold underline"))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        # Names may be long; no part of them is left out.
        table.add_column(column, overflow="fold")
    return table


def _add(table: Table, *cells: str | Text) -> None:
    """Adds a row. Names are shown as they are, even if they look like markup."""
    table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in cells))


def _indented(content: Text | Table, by: int = 2) -> Padding:
    return Padding(content, (0, 0, 0, by), expand=False)
