"""The command `roost audit` and its options."""

from datetime import timedelta
from pathlib import Path

import click

from roost.cli.arguments import AGE
from roost.cli.options import json_option, open_client, service_options
from roost.cli.output import BadInput

# The exit code for findings, as `diff` and `grep` would have 1 for.
FOUND = 3


@click.command()
@click.option(
    "--known",
    "lists",
    multiple=True,
    metavar="FILE",
    help="The servers that the cloud knows, one UUID a line, or the CSV or JSON of the openstack "
    "command; - is standard input. May be repeated.",
)
@click.option(
    "--also-known",
    "more_lists",
    multiple=True,
    metavar="FILE",
    help="Other consumers that the cloud knows, which may hold something or nothing: migrations, "
    "servers that can still be restored, containers. May be repeated.",
)
@click.option(
    "--nova",
    is_flag=True,
    help="Ask nova for its servers and migrations, as the administrator that OS_AUTH_URL, "
    "OS_USERNAME, ... name.",
)
@click.option("--allow-empty", is_flag=True, help="Go on even if no consumer is known.")
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="A type of consumers that can be orphans. May be repeated. Default: INSTANCE and unknown, "
    "with --nova MIGRATION, too. --release leaves unknown alone unless it is given here.",
)
@click.option(
    "--older-than",
    type=AGE,
    default="1h",
    show_default=True,
    metavar="AGE",
    help="Only consumers that nobody has written for so long before the list of known consumers "
    "was made can be orphans: 90m, 12h, 1d, 2w.",
)
@click.option(
    "--aggregate",
    "aggregates",
    multiple=True,
    metavar="UUID",
    help="An aggregate that providers are expected in. May be repeated. What consumers hold "
    "outside of all of them is reported.",
)
@click.option(
    "--allow-many",
    is_flag=True,
    help="Give back even if more than half of all consumers are orphans.",
)
@click.option("--release", is_flag=True, help="Give back what the orphans hold, after a question.")
@click.option("--yes", is_flag=True, help="Give back without a question.")
@click.option(
    "--record",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A new file that --release writes what it gives back to. Default: "
    "roost-audit-TIME.jsonl in the current folder.",
)
@click.option(
    "--restore",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Put back what such a file says was given back. Does nothing else.",
)
@json_option
@service_options
@click.pass_context
def audit(
    context: click.Context,
    lists: tuple[str, ...],
    more_lists: tuple[str, ...],
    nova: bool,
    allow_empty: bool,
    types: tuple[str, ...],
    older_than: timedelta,
    aggregates: tuple[str, ...],
    allow_many: bool,
    release: bool,
    yes: bool,
    record: Path | None,
    restore: Path | None,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Compare what consumers hold with what a cloud knows.

    Reports orphans (consumers that the cloud does not know, such as servers that were deleted while
    the service was away), servers that hold nothing, what is held of providers outside of
    aggregates, and providers of which more is used than there is. Without --release it only reads.

    Exit code 0: nothing found; 1: failed; 2: wrong usage or input; 3: there are findings, or with
    --release and --restore, something is left to do.

    \b
    Examples:
      openstack server list --all-projects -f value -c ID | roost audit --known -
      roost audit --nova --older-than 1d
      roost audit --nova --type unknown --release
      roost audit --restore roost-audit-20260102T030405Z.jsonl
    """
    from roost.cli.audit import actions, looking
    from roost.cli.audit.sources import Sources

    if restore is not None:
        others = (lists, more_lists, nova, allow_empty, types, aggregates)
        if any((*others, release, yes, record, allow_many)):
            raise BadInput("--restore goes with --json, --url and --token only")
        with open_client(url, token) as client:
            is_done = actions.put_back(client, restore, as_json=as_json)
        context.exit(0 if is_done else FOUND)
    if not lists and not nova:
        raise BadInput("who is known? Say --known FILE, --known - for standard input, or --nova")
    if not release and (yes or record or allow_many):
        raise BadInput("--yes, --record and --allow-many go with --release")
    sources = Sources(lists=lists, more_lists=more_lists, nova=nova)
    wanted = looking.Wanted(
        types=looking.parse_types(types),
        older_than=older_than,
        aggregates=looking.parse_aggregates(aggregates),
        allow_empty=allow_empty,
    )
    giving_back = None
    if release:
        giving_back = actions.GivingBack(record=record, yes=yes, allow_many=allow_many)
    with open_client(url, token) as client:
        is_clean = actions.run(client, sources, wanted, giving_back, as_json=as_json)
    context.exit(0 if is_clean else FOUND)
