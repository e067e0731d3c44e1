"""`roost candidates`, `roost explain` and `roost capacity`: where requests fit, and why not."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from roost.cli.arguments import PROVIDER
from roost.cli.options import json_option, open_client, service_options
from roost.cli.output import BadInput, Failure, print_json
from roost.cli.provider_names import find_provider
from roost.uuids import is_uuid

if TYPE_CHECKING:
    from roost.client import Client, Request

# How many candidates a table has, unless the query or --limit says it.
CANDIDATES_DEFAULT = 20

ORDERS = ("pack", "spread", "root", "random")

# With or without a suffix. Their value is a provider, which a command line may call by its name.
TREE_PARAMETERS = ("in_tree", "in_subtree")

# The exit code of a question whose answer is no.
NO = 3
UNDECIDED = "it is unknown whether the request fits: the search was given up"


def query_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.argument("query", nargs=-1, required=True, metavar="QUERY...")(command)


def exit_code_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--exit-code",
        is_flag=True,
        help=f"Exit with {NO} if the request does not fit, and with 1 if that is unknown.",
    )(command)


def parse_query(client: "Client", words: tuple[str, ...], *, limit: int | None = None) -> "Request":
    """The request that the words of a command line are, all of them together."""
    from roost.client import Request

    asked = Request.parse("&".join(word.strip("&") for word in words))
    for name, value in asked.parameters:
        if name.startswith(TREE_PARAMETERS) and not is_uuid(value):
            asked = asked.with_one(name, find_provider(client, value).uuid)
    if limit is None:
        return asked
    if "limit" in asked.query():
        raise BadInput("the limit is given twice: in the query and with --limit")
    return asked.limit(limit)


@click.command()
@query_argument
@click.option("--limit", type=click.IntRange(1), help="At most so many candidates.")
@click.option("--order", type=click.Choice(ORDERS), help="Which trees come first.")
@exit_code_option
@json_option
@service_options
def candidates(
    query: tuple[str, ...],
    limit: int | None,
    order: str | None,
    exit_code: bool,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Find where a request fits.

    QUERY is the query string of GET /allocation_candidates, in one word or in several, which are
    then joined with &. A table has at most 20 candidates, unless --limit or QUERY says otherwise.

    \b
    Examples:
      roost candidates resources=VCPU:4,MEMORY_MB:8192
      roost candidates resources=VCPU:4 required=HW_CPU_X86_AVX2 --order pack
      roost candidates 'resources=VCPU:4&resources_NET=SRIOV_NET_VF:1' --limit 5
      roost candidates resources=VCPU:4 in_tree=compute-7
      if roost candidates resources=VCPU:4 --exit-code >/dev/null; then ...; fi
    """
    from roost.cli.commands.answers import Verbatim, need_extension
    from roost.cli.commands.search_view import print_candidates

    with open_client(url, token) as client:
        asked = parse_query(client, query, limit=limit)
        if order is not None:
            if "order" in asked.query():
                raise BadInput("the order is given twice: in the query and with --order")
            need_extension(client, "order")
            asked = asked.order(order)
        if as_json:
            answered: Any = Verbatim(client).candidates(asked)
            print_json(answered)
            count = len(answered["allocation_requests"])
            complete = answered.get("complete", True)
        else:
            is_cut = "limit" not in asked.query()
            shown = asked.limit(CANDIDATES_DEFAULT) if is_cut else asked
            found = client.candidates(shown)
            count, complete = len(found.candidates), found.complete
            print_candidates(client, found)
            if is_cut and count == CANDIDATES_DEFAULT:
                click.echo(f"There may be more than {count}: see --limit.")
    if exit_code and not count:
        if not complete:
            raise Failure(UNDECIDED)
        raise SystemExit(NO)


@click.command()
@query_argument
@click.option(
    "--tree",
    "provider",
    type=PROVIDER,
    metavar="PROVIDER",
    help="Explain for one tree: a name or UUID in it.",
)
@exit_code_option
@json_option
@service_options
def explain(
    query: tuple[str, ...],
    provider: str | None,
    exit_code: bool,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Explain why a request fits or does not.

    If it does not, says which tree comes nearest and which change would make the request fit.

    QUERY is the query string of GET /allocation_candidates, in one word or in several, which are
    then joined with &. Without --exit-code the exit code is 0 whether the request fits or not.

    \b
    Examples:
      roost explain resources=VCPU:4,MEMORY_MB:8192 required=HW_CPU_X86_AVX2
      roost explain 'resources=VCPU:4&required=HW_CPU_X86_AVX2' --tree compute-7
    """
    from roost.cli.commands.answers import need_extension
    from roost.cli.commands.explain_view import print_explanation
    from roost.reasons import Verdict

    with open_client(url, token) as client:
        need_extension(client, "explain")
        tree_uuid = None if provider is None else find_provider(client, provider).uuid
        found = client.explain(parse_query(client, query), tree_uuid=tree_uuid)
    if as_json:
        print_json(found)
    else:
        print_explanation(found)
    if exit_code and Verdict(found.verdict) is Verdict.UNKNOWN:
        raise Failure(UNDECIDED)
    if exit_code and Verdict(found.verdict) is not Verdict.FITS:
        raise SystemExit(NO)


@click.command()
@query_argument
@json_option
@service_options
def capacity(query: tuple[str, ...], as_json: bool, url: str | None, token: str | None) -> None:
    """Count how many more of a request fit.

    Prints the total and the count of each tree. QUERY is the query string of
    GET /allocation_candidates, in one word or in several; `limit` in it stops the count early.

    \b
    Example:
      roost capacity resources=VCPU:4,MEMORY_MB:8192
    """
    from roost.cli.commands.answers import need_extension
    from roost.cli.commands.explain_view import print_capacity

    with open_client(url, token) as client:
        need_extension(client, "capacity")
        found = client.capacity(parse_query(client, query))
    if as_json:
        print_json(found)
    else:
        print_capacity(found)
