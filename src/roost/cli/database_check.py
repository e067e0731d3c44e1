"""What `roost db check` does: it checks the tables, shows the findings, and repairs."""

import json
import sys
from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from roost.cli.output import BadInput
from roost.cli.progress_view import CommandProgress, shown_progress
from roost.cli.tables import open_tables
from roost.configured_store import incomplete_ids
from roost.health.check import check
from roost.health.findings import Finding, FindingKind
from roost.health.repair import REPAIRS, repair
from roost.progress import track
from roost.settings import Settings
from roost.store.connection.shown_url import database_name
from roost.store.store import Store

# How many findings of one kind a table shows. JSON has all of them.
SHOWN_MAX = 20


def check_tables(settings: Settings, *, fix: bool, yes: bool, as_json: bool) -> bool:
    """Check, show and with `fix` repair. Returns whether nothing is wrong afterwards."""
    with open_tables(settings) as store:
        findings = _find(store, as_json=as_json)
        if not as_json:
            _show(findings, settings)
        repaired: dict[str, int] = {}
        # All kinds, because a repair may remove what is in the way of another one.
        kinds = [kind for kind in REPAIRS if any(each.kind == kind for each in findings)]
        kinds = kinds if any(each.repair for each in findings) else []
        if fix and kinds and (yes or _confirm(kinds, findings)):
            with shown_progress(as_json=as_json) as progress:
                for kind in track(progress, "repairing", kinds):
                    repaired[kind] = _repair(store, kind, settings, progress)
                    if not as_json:
                        with progress.printing():
                            click.echo(f"repaired: {kind.repair} ({repaired[kind]})")
            # A repair may leave findings, and may reveal others.
            findings = _find(store, as_json=as_json)
            if not as_json:
                _show(findings, settings)
        if as_json:
            click.echo(_as_json(findings, repaired))
        return not findings


def _find(store: Store, *, as_json: bool) -> list[Finding]:
    with shown_progress(as_json=as_json) as progress:
        return check(store, progress)


def _repair(store: Store, kind: FindingKind, settings: Settings, progress: CommandProgress) -> int:
    def tell_failure(what: str) -> None:
        with progress.printing():
            click.echo(f"not repaired: {what}", err=True)

    return repair(store, kind, incomplete_ids(settings), tell_failure)


def _confirm(kinds: Sequence[FindingKind], findings: Sequence[Finding]) -> bool:
    for kind in kinds:
        count = sum(each.kind == kind for each in findings)
        click.echo(f"--fix would {kind.repair} ({count} findings)")
    if not sys.stdin.isatty():
        raise BadInput("cannot ask for confirmation without a terminal: say --yes")
    return click.confirm("Repair?", default=False)


def _show(findings: Sequence[Finding], settings: Settings) -> None:
    where = database_name(settings.database_url)
    if not findings:
        click.echo(f"{where}: nothing found")
        return
    console = Console(highlight=False, soft_wrap=True)
    for kind in FindingKind:
        found = [each for each in findings if each.kind is kind]
        if not found:
            continue
        table = Table(
            title=f"{kind.summary} ({len(found)})", title_style="bold", title_justify="left"
        )
        table.add_column("what", no_wrap=True)
        table.add_column("detail")
        for each in found[:SHOWN_MAX]:
            table.add_row(Text(each.subject), Text(each.detail))
        if len(found) > SHOWN_MAX:
            table.add_row("...", f"and {len(found) - SHOWN_MAX} more: --json shows all")
        console.print(table)
        console.print(kind.advice, markup=False)
        if any(each.repair for each in found):
            console.print(f"--fix can {kind.repair}", style="green")
        console.print()
    fixable = sum(1 for each in findings if each.repair)
    console.print(
        f"{where}: {len(findings)} findings, {fixable} of them can be repaired", markup=False
    )


def _as_json(findings: Sequence[Finding], repaired: dict[str, int]) -> str:
    return json.dumps(
        {
            "findings": [
                {
                    "kind": each.kind,
                    "subject": each.subject,
                    "detail": each.detail,
                    "advice": each.kind.advice,
                    "repair": each.repair or None,
                }
                for each in findings
            ],
            "repaired": repaired,
        },
        indent=2,
    )
