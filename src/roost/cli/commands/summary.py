"""`roost summary` and `roost usages`: how much there is, and how much of it is used."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from roost.cli.arguments import PROVIDER, RESOURCE_CLASS
from roost.cli.options import json_option, open_client, service_options
from roost.cli.output import BadInput, print_json, printable
from roost.cli.provider_names import find_provider

if TYPE_CHECKING:
    from roost.cli.columns import Cell
    from roost.client import ClassSummary, GroupSummary, Summary

GROUPS = ("aggregates", "traits")


@click.command()
@click.option(
    "--by",
    type=click.Choice(GROUPS),
    multiple=True,
    help="Also for each aggregate, or for each trait of roots. May be repeated.",
)
@click.option(
    "--class",
    "resource_classes",
    type=RESOURCE_CLASS,
    multiple=True,
    metavar="CLASS",
    help="Only this resource class. May be repeated.",
)
@json_option
@service_options
def summary(
    by: tuple[str, ...],
    resource_classes: tuple[str, ...],
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Show how much the whole cloud has, and how much of it is used.

    A provider counts for an aggregate if it or the root of its tree is in it, and for a trait if
    the root of its tree has it. Free is what can still be allocated: what is above the capacity of
    one provider does not count against the others.

    \b
    Examples:
      roost summary
      roost summary --by aggregates --class VCPU
    """
    from roost.cli.columns import print_line
    from roost.cli.commands.answers import Verbatim, need_extension
    from roost.cli.tree.parts import counted

    with open_client(url, token) as client:
        need_extension(client, "summary")
        if as_json:
            print_json(Verbatim(client).summary(by=by, resource_classes=resource_classes))
            return
        found = client.summary(by=by, resource_classes=resource_classes)
    _print_group(f"{counted(found.providers, 'provider')} in {counted(found.trees, 'tree')}", found)
    groups = [*(("aggregate", *each) for each in sorted(found.aggregates.items()))]
    groups += [("trait", *each) for each in sorted(found.traits.items())]
    for kind, name, group in groups:
        print_line("")
        counts = f"{counted(group.providers, 'provider')} in {counted(group.trees, 'tree')}"
        _print_group(f"{kind} {printable(name)}: {counts}", group)


def _print_group(title: str, group: "Summary | GroupSummary") -> None:
    from roost.cli.columns import Column, fold, print_line, print_table, styled
    from roost.cli.output import terminal_width

    for line in fold(title, terminal_width() or len(title)):
        print_line(styled(line, "bold"))
    columns = (
        Column("class", folds=True),
        Column("used"),
        Column("", right=True),
        Column("of", right=True),
        Column("free", right=True),
        Column("reserved", right=True),
        Column("providers", right=True),
    )
    print_table(columns, _rows(group.resources))


def _rows(resources: "Mapping[str, ClassSummary]") -> "Iterator[tuple[Cell, ...]]":
    from roost.cli.columns import Styled
    from roost.cli.commands.amounts import bar, short_amount, used_style

    for name, each in sorted(resources.items()):
        style = used_style(each.used, each.capacity)
        yield (
            name,
            Styled(bar(each.used, each.capacity), style),
            Styled(short_amount(name, each.used), style),
            short_amount(name, each.capacity),
            short_amount(name, each.free),
            short_amount(name, each.reserved),
            each.providers,
        )


# ---------------------------------------------------------------------------------------------
# Usages


@click.command()
@click.argument("project", required=False)
@click.option("--user", help="Only what this user of the project uses.")
@click.option("--type", "consumer_type", help="Only what consumers of this type use.")
@click.option("--provider", type=PROVIDER, help="What is used of a provider, instead of a project.")
@json_option
@service_options
def usages(
    project: str | None,
    user: str | None,
    consumer_type: str | None,
    provider: str | None,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Show what a project uses, or what is used of a provider.

    \b
    Examples:
      roost usages 1f0c8a5e2b7d4f6e9a3b5c7d9e1f3a5b
      roost usages 1f0c8a5e2b7d4f6e9a3b5c7d9e1f3a5b --type INSTANCE
      roost usages --provider compute-7
    """
    from roost.cli.columns import Column, print_table
    from roost.cli.commands.answers import Verbatim
    from roost.cli.commands.provider_view import print_inventories

    if (project is None) == (provider is None):
        raise BadInput("give the id of a project, or --provider")
    if provider is not None and (user is not None or consumer_type is not None):
        raise BadInput("--user and --type are for the usages of a project")
    with open_client(url, token) as client:
        if provider is not None:
            uuid = find_provider(client, provider).uuid
            if as_json:
                print_json(Verbatim(client).usages(uuid))
            else:
                print_inventories(client.inventories(uuid).inventories, client.usages(uuid))
            return
        selected = {"user_id": user, "consumer_type": consumer_type}
        if as_json:
            print_json(Verbatim(client).project_usages(project or "", **selected))
            return
        found = client.project_usages(project or "", **selected)
    columns = (
        Column("type", folds=True),
        Column("consumers", right=True),
        Column("class", folds=True),
        Column("used", right=True),
    )
    if not print_table(columns, _usage_rows(found)):
        click.echo("nothing is used")


def _usage_rows(found: Mapping[str, Any]) -> "Iterator[tuple[Cell, ...]]":
    """A row for each class; the type of consumers stands in the first of them."""
    for kind, numbers in sorted(found.items()):
        if isinstance(numbers, int):
            # Older services do not know types.
            yield ("", "", kind, numbers)
            continue
        title, count = kind, f"{numbers.get('consumer_count', 0):,}"
        for name, amount in sorted(numbers.items()):
            if name != "consumer_count":
                yield (title, count, name, amount)
                title, count = "", ""
