"""The whole plan of an update, for people: how the tree changes, and every move."""

import click

from roost.agent.tracker import Plan
from roost.agent.tree_diff import compare, render
from roost.cli.agent.moves import moves
from roost.cli.columns import Column, print_table
from roost.cli.output import printable, wrapping_console


def print_plan(plan: Plan) -> None:
    """Draw what changes, then list what each consumer holds elsewhere afterwards."""
    wrapping_console().print(render(compare(plan.before, plan.after)))
    found = [*moves(plan)]
    if found:
        click.echo("what consumers hold")
        columns = (
            Column("consumer"),
            Column("class"),
            Column("amount", right=True),
            Column("from", folds=True),
            Column("to", folds=True),
            Column(""),
        )
        print_table(
            columns,
            (
                (
                    move.consumer,
                    move.resource_class,
                    f"{move.amount:,}",
                    move.origin,
                    move.target,
                    "" if move.is_known else "guessed",
                )
                for move in found
            ),
        )
    settlement = plan.settlement
    if settlement.torn:
        fewest = "" if settlement.is_proven else " (fewer may be possible)"
        click.echo(f"consumers that are not kept together{fewest}:")
        for consumer in settlement.torn:
            click.echo(f"  {printable(consumer)}")
    for each in settlement.excess:
        click.echo(f"in excess: {printable(str(each))}")
