"""What became of all nodes, in few words: of each one, and of what consumers hold."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

import click

from roost.agent.rounds import Update, describe
from roost.agent.tracker import Plan
from roost.agent.tree_diff import ProviderDiff, compare
from roost.cli.agent.moves import MoveCount, MoveCounts, count_moves, moves
from roost.cli.columns import Column, Styled, print_table
from roost.cli.output import printable

# Pairs of providers that are shown. A large reshape has thousands; --plan and --json show all.
PAIRS_MAX = 20
# Nodes that the last line names.
NAMES_MAX = 10


class Result(StrEnum):
    """How an update of a node ended."""

    UPDATED = "updated"
    UNCHANGED = "unchanged"
    PLANNED = "planned"
    FAILED = "failed"


_STYLES = {
    Result.UPDATED: "green",
    Result.UNCHANGED: "dim",
    Result.PLANNED: "yellow",
    Result.FAILED: "red",
}


def result_of(update: Update, *, only_planned: bool = False) -> Result:
    if update.error is not None:
        return Result.FAILED
    if update.plan is None:
        return Result.UNCHANGED
    return Result.PLANNED if only_planned else Result.UPDATED


class Row(NamedTuple):
    """One node."""

    result: Result
    words: str
    seconds: float


class Summary:
    """Adds up the results of nodes. It keeps words and numbers, not the plans."""

    def __init__(self, nodenames: Iterable[str], *, nothing: str, only_planned: bool) -> None:
        """`nothing` is said of a node of which nothing changes."""
        self._nodenames = list(nodenames)
        self._nothing = nothing
        self._only_planned = only_planned
        self._rows: dict[str, Row] = {}
        self.errors: dict[str, str] = {}  # by node
        self.moves: MoveCounts = {}

    @property
    def nodes_total(self) -> int:
        return len(self._nodenames)

    @property
    def nodes_done(self) -> int:
        return len(self._rows)

    def count(self, result: Result) -> int:
        return sum(row.result is result for row in self._rows.values())

    def add(self, update: Update) -> None:
        result = result_of(update, only_planned=self._only_planned)
        words = self._nothing
        if update.error is not None:
            words = self.errors[update.nodename] = describe(update.error)
        elif update.plan is not None:
            words = describe_plan(update.plan)
            for key, count in count_moves(moves(update.plan)).items():
                self.moves[key] = self.moves.get(key, MoveCount(0, 0, 0)).plus(count)
        self._rows[update.nodename] = Row(result, words, update.seconds)

    # -- for people ----------------------------------------------------------------------------

    def print(self) -> None:
        """Every node, then what moved between providers."""
        columns = (
            Column("node"),
            Column("result"),
            Column("what", folds=True),
            Column("seconds", right=True),
        )
        rows = ((name, self._rows[name]) for name in self._nodenames if name in self._rows)
        print_table(
            columns,
            (
                (name, Styled(row.result, _STYLES[row.result]), row.words, f"{row.seconds:.1f}")
                for name, row in rows
            ),
        )
        self.print_moves()

    def print_moves(self) -> None:
        if not self.moves:
            return
        click.echo()
        columns = (
            Column("class"),
            Column("from", folds=True),
            Column("to", folds=True),
            Column("moves", right=True),
            Column("amount", right=True),
            Column("guessed", right=True),
        )
        largest = sorted(self.moves.items(), key=lambda item: (-item[1].moves, item[0]))
        print_table(
            columns,
            (
                (*key, f"{count.moves:,}", f"{count.amount:,}", f"{count.guessed:,}")
                for key, count in largest[:PAIRS_MAX]
            ),
        )
        if len(largest) > PAIRS_MAX:
            others = len(largest) - PAIRS_MAX
            click.echo(f"... and between {others:,} other pairs of providers: --json shows all")

    def failure(self) -> str:
        """Which nodes failed, in a line; the reasons are in the table, or in the lines of JSON."""
        if self.nodes_total == 1:
            return printable(*self.errors.values())
        names = [name for name in self._nodenames if name in self.errors]
        more = ", ..." if len(names) > NAMES_MAX else ""
        return printable(
            f"{len(names):,} of {self.nodes_total:,} nodes failed: "
            f"{', '.join(names[:NAMES_MAX])}{more}"
        )


def describe_plan(plan: Plan) -> str:
    """What a plan changes: how many providers, and how much of what consumers hold."""
    changes = compare(plan.before, plan.after).changes
    parts = [*_provider_words(changes), *_content_words(changes)]
    held = [*moves(plan)]
    if held:
        parts.append(_counted(len(held), "move"))
        guessed = sum(not move.is_known for move in held)
        parts += [f"{guessed:,} of them guessed"] if guessed else []
    settlement = plan.settlement
    if settlement.torn:
        parts.append(f"{_counted(len(settlement.torn), 'consumer')} torn")
    parts += [f"in excess: {each}" for each in settlement.excess]
    return ", ".join(parts) or "sent"


def _provider_words(changes: list[ProviderDiff]) -> Iterable[str]:
    """How many providers come, go, or are changed in themselves."""
    added = sum(each.before is None for each in changes)
    removed = sum(each.after is None for each in changes)
    lasting = [each for each in changes if each.before is not None and each.after is not None]
    for count, word in ((added, "added"), (removed, "removed")):
        if count:
            yield f"{_counted(count, 'provider')} {word}"
    for count, word in (
        (sum(each.renamed for each in lasting), "renamed"),
        (sum(each.moved for each in lasting), "with another parent"),
    ):
        if count:
            yield f"{count:,} {word}"


def _content_words(changes: list[ProviderDiff]) -> Iterable[str]:
    """Of how many providers that stay the contents change."""
    lasting = [each for each in changes if each.before is not None and each.after is not None]
    for word, count in (
        ("inventories", sum(bool(each.inventories) for each in lasting)),
        ("traits", sum(bool(each.traits_added or each.traits_removed) for each in lasting)),
        (
            "aggregates",
            sum(bool(each.aggregates_added or each.aggregates_removed) for each in lasting),
        ),
    ):
        if count:
            yield f"{word} of {count:,} changed"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
