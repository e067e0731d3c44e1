"""`roost aggregate`: sets of providers, known by their UUIDs."""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import click

from roost.cli.arguments import AGGREGATE, provider_argument
from roost.cli.options import json_option, open_client, service_options
from roost.cli.output import BadInput, print_json, print_json_items, print_names, quoted
from roost.cli.provider_names import find_provider
from roost.uuids import canonical_uuid, canonical_uuids, is_uuid

if TYPE_CHECKING:
    from roost.client import Client


@click.group()
def aggregate() -> None:
    """Show aggregates, and change which providers are in them."""


@aggregate.command("list")
@provider_argument(required=False)
@json_option
@service_options
def list_aggregates(
    provider: str | None, as_json: bool, url: str | None, token: str | None
) -> None:
    """List all aggregates, or those of a provider.

    All aggregates are listed with the number of providers that are in them, or in a tree whose root
    is; `roost aggregate members` lists only those that are in them.

    \b
    Examples:
      roost aggregate list
      roost aggregate list compute-7
    """
    from roost.cli.columns import Column, print_table
    from roost.cli.commands.answers import need_extension

    with open_client(url, token) as client:
        if provider is not None:
            uuid = find_provider(client, provider).uuid
            own = client.provider_aggregates(uuid).aggregates
            print_names("aggregates", own, as_json=as_json)
            return
        need_extension(client, "summary")
        found = client.summary(by=["aggregates"]).aggregates
    if as_json:
        numbers = {
            name: {"providers": each.providers, "trees": each.trees} for name, each in found.items()
        }
        print_json({"aggregates": numbers})
        return
    columns = (Column("aggregate"), Column("providers", right=True), Column("trees", right=True))
    rows = ((name, each.providers, each.trees) for name, each in sorted(found.items()))
    if not print_table(columns, rows):
        click.echo("there are no aggregates")


@aggregate.command()
@click.argument("aggregate", type=AGGREGATE)
@click.option("--limit", type=click.IntRange(1), help="At most so many.")
@json_option
@service_options
def members(
    aggregate: str, limit: int | None, as_json: bool, url: str | None, token: str | None
) -> None:
    """List the providers in an aggregate.

    \b
    Example:
      roost aggregate members $RACK
    """
    from roost.cli.commands.provider_view import list_json, print_providers

    _check([aggregate])
    query = {"member_of": aggregate}
    with open_client(url, token) as client:
        if as_json:
            print_json_items("resource_providers", list_json(client, query, limit))
        else:
            print_providers(client, query, limit)


@aggregate.command("set")
@provider_argument()
@click.argument("aggregates", metavar="UUID...", nargs=-1, type=AGGREGATE)
@click.option("--replace", is_flag=True, help="Take it out of all aggregates that are not named.")
@json_option
@service_options
def set_aggregates(
    provider: str,
    aggregates: tuple[str, ...],
    replace: bool,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Put a provider into aggregates, beside those that it is in.

    An aggregate exists as soon as a provider is in it. If another client writes at the same time,
    the change is made again on top of what that client wrote. With --replace it is refused instead.

    \b
    Examples:
      roost aggregate set compute-7 $RACK
      roost aggregate set compute-7 --replace $RACK
    """
    if not aggregates and not replace:
        raise BadInput("nothing to set: give the UUIDs of aggregates after the provider")
    _check(aggregates)

    def change(present: Collection[str]) -> Collection[str]:
        if replace:
            return {*aggregates}
        # An aggregate keeps the spelling in which it is stored.
        new = {each for each in aggregates if canonical_uuid(each) not in canonical_uuids(present)}
        return {*present} | new

    with open_client(url, token) as client:
        after = _change(client, provider, change, replace=replace)
    print_names("aggregates", after, as_json=as_json)


@aggregate.command()
@provider_argument()
@click.argument("aggregates", metavar="UUID...", nargs=-1, type=AGGREGATE)
@click.option("--all", "all_of_them", is_flag=True, help="Take it out of all aggregates.")
@json_option
@service_options
def unset(
    provider: str,
    aggregates: tuple[str, ...],
    all_of_them: bool,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Take a provider out of aggregates.

    \b
    Examples:
      roost aggregate unset compute-7 $RACK
      roost aggregate unset compute-7 --all
    """
    if all_of_them == bool(aggregates):
        raise BadInput("name the aggregates to leave, or give --all")

    def change(present: Collection[str]) -> Collection[str]:
        if not aggregates:
            return set()
        there = canonical_uuids(present)
        missing = [each for each in aggregates if canonical_uuid(each) not in there]
        if missing:
            raise BadInput(f"{provider} is not in {', '.join(missing)}")
        return {each for each in present if canonical_uuid(each) not in canonical_uuids(aggregates)}

    with open_client(url, token) as client:
        after = _change(client, provider, change, replace=False)
    print_names("aggregates", after, as_json=as_json)


def _check(aggregates: Collection[str]) -> None:
    for each in aggregates:
        if not is_uuid(each):
            raise BadInput(f"not the UUID of an aggregate: {quoted(each)}")


def _change(
    client: "Client",
    provider: str,
    change: Callable[[Collection[str]], Collection[str]],
    *,
    replace: bool,
) -> Collection[str]:
    from roost.cli.commands.answers import amend_names

    uuid = find_provider(client, provider).uuid

    def read() -> tuple[Collection[str], int]:
        found = client.provider_aggregates(uuid)
        return found.aggregates, found.generation

    def write(names: Collection[str], generation: int) -> Collection[str]:
        return client.set_provider_aggregates(uuid, names, generation).aggregates

    return amend_names(read, change, write, replace=replace)
