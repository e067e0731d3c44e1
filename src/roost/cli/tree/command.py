"""The command `roost tree` and its options."""

import os
import sys
from typing import TYPE_CHECKING

import click

from roost.cli.arguments import AGGREGATE, RESOURCE_CLASS, TRAIT, provider_argument
from roost.cli.options import json_option, open_client, service_options
from roost.cli.output import BadInput, Failure, printable

if TYPE_CHECKING:
    from roost.cli.tree.cloud import Cloud
    from roost.cli.tree.forest import Selection


@click.command()
@provider_argument(required=False)
@click.option("--depth", type=click.IntRange(min=1), help="Show so many levels; sum up the rest.")
@click.option(
    "--sort",
    type=click.Choice(("name", "used", "free")),
    default="name",
    show_default=True,
    help="`used`: the fullest first; `free`: the emptiest first.",
)
@click.option(
    "--class",
    "classes",
    type=RESOURCE_CLASS,
    metavar="CLASS",
    multiple=True,
    help="Show inventories of this resource class only, and sort by it. May be repeated.",
)
@click.option(
    "--aggregate",
    "aggregates",
    type=AGGREGATE,
    metavar="UUID",
    multiple=True,
    help="Show what is in this aggregate. The beginning of the UUID is enough. May be repeated: "
    "what is in any of them.",
)
@click.option(
    "--required",
    "required",
    type=TRAIT,
    metavar="TRAIT",
    multiple=True,
    help="Show providers with this trait, and what is below them. May be repeated: with all.",
)
@click.option("--traits/--no-traits", default=False, help="List traits instead of counting them.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help="Show so many trees; 0 for all. Default: 50 on a terminal, all elsewhere.",
)
@click.option("--watch", is_flag=True, help="Stay, and show changes as they happen.")
@json_option
@service_options
def tree(
    provider: str | None,
    depth: int | None,
    sort: str,
    classes: tuple[str, ...],
    aggregates: tuple[str, ...],
    required: tuple[str, ...],
    traits: bool,
    limit: int | None,
    watch: bool,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Show provider trees with their inventories and usage.

    PROVIDER is the name or UUID of any provider of the tree to show. Default: all trees.

    A bar shows what is used, what is reserved and what is free, to scale. The percentage is the
    share of the capacity that is used. Providers that an option selects are shown with all their
    ancestors.

    \b
    Examples:
      roost tree
      roost tree compute-7 --traits
      roost tree --depth 1 --class VCPU --sort used
      roost tree --aggregate 8d0f1e2a --watch
    """
    from roost.cli.progress_view import shown_progress
    from roost.cli.provider_names import find_provider
    from roost.cli.tree.cloud import Cloud
    from roost.cli.tree.forest import Selection, Sort
    from roost.cli.tree.printing import print_trees, print_trees_as_json

    selection = Selection(
        classes=classes,
        aggregates=tuple(map(_beginning, aggregates)),
        traits=required,
        depth=depth,
        sort=Sort(sort),
    )
    is_terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    if watch and (as_json or not is_terminal):
        raise BadInput("--watch needs a terminal; programs can read GET /events")
    with open_client(url, token) as client:
        tree_uuid = None if provider is None else find_provider(client, provider).uuid
        cloud = Cloud(client, tree_uuid)
        if watch:
            _watch(cloud, selection, limit=limit, with_traits=traits)
            return
        with shown_progress(as_json=as_json) as progress:
            cloud.read(progress)
            progress.stage("selecting trees")
            trees = cloud.trees(selection)
    if as_json:
        print_trees_as_json(trees, limit=limit)
    elif trees:
        print_trees(trees, limit=limit, with_traits=traits)
    else:
        click.echo(printable(cloud.why_nothing(selection)))


def _watch(cloud: "Cloud", selection: "Selection", *, limit: int | None, with_traits: bool) -> None:
    from roost.cli.progress_view import shown_progress
    from roost.cli.tree.watching import Feed, Screen, watch
    from roost.client import NotFound, VersionUnavailable

    try:
        feed = Feed(cloud)
    except (NotFound, VersionUnavailable) as error:
        raise Failure("--watch needs the change feed, which only roost has") from error
    try:
        with shown_progress() as progress:
            cloud.read(progress)
        watch(cloud, feed, selection, Screen(limit=limit, with_traits=with_traits))
    except KeyboardInterrupt:
        # How a person ends it.
        pass


def _beginning(text: str) -> str:
    """The beginning of a UUID, as it is stored."""
    from roost.quoting import quote_value
    from roost.uuids import canonical_uuid

    beginning = canonical_uuid(text).lower()
    if not beginning or not set(beginning) <= set("0123456789abcdef-"):
        raise BadInput(f"--aggregate: {quote_value(text)} is not the beginning of a UUID")
    return beginning
