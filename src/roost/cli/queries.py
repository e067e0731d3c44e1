"""`roost tree`, `roost explain` and `roost capacity`: commands that read from a running service."""

import click

from roost.cli.options import json_option, open_client, service_options
from roost.cli.output import print_json


@click.command()
@click.argument("provider", required=False)
@click.option("--traits/--no-traits", default=True, show_default=True, help="Show traits.")
@json_option
@service_options
def tree(
    provider: str | None, traits: bool, as_json: bool, url: str | None, token: str | None
) -> None:
    """Show provider trees with their inventories and usage.

    PROVIDER is the name or UUID of any provider of the tree to show. Default: all trees.

    \b
    Examples:
      roost tree
      roost tree compute-7 --no-traits
    """
    from roost.cli.tree_view import as_plain_data, print_trees, read_trees

    with open_client(url, token) as client:
        found = read_trees(client, provider)
    if as_json:
        print_json(as_plain_data(found))
    else:
        print_trees(found, with_traits=traits)


@click.command()
@click.argument("query")
@click.option(
    "--tree", "provider", metavar="PROVIDER", help="Explain for one tree: a name or UUID in it."
)
@json_option
@service_options
def explain(
    query: str, provider: str | None, as_json: bool, url: str | None, token: str | None
) -> None:
    """Explain why a request fits or does not.

    If it does not, says which tree comes nearest and which change would make the request fit.

    QUERY is the query string of GET /allocation_candidates. The exit code is 0 whether the request
    fits or not, and 2 if QUERY is wrong.

    \b
    Examples:
      roost explain 'resources=VCPU:4,MEMORY_MB:8192&required=HW_CPU_X86_AVX2'
      roost explain 'resources=VCPU:4' --tree compute-7
    """
    from roost.cli.explain_view import parse_query, print_explanation
    from roost.cli.tree_view import find_provider

    with open_client(url, token) as client:
        tree_uuid = None if provider is None else find_provider(client, provider).uuid
        found = client.explain(parse_query(query), tree_uuid=tree_uuid)
    if as_json:
        print_json(found)
    else:
        print_explanation(found)


@click.command()
@click.argument("query")
@json_option
@service_options
def capacity(query: str, as_json: bool, url: str | None, token: str | None) -> None:
    """Count how many more of a request fit.

    Prints the total and the count of each tree. QUERY is the query string of
    GET /allocation_candidates; `limit` in it stops the count early.

    \b
    Example:
      roost capacity 'resources=VCPU:4,MEMORY_MB:8192'
    """
    from roost.cli.explain_view import parse_query, print_capacity

    with open_client(url, token) as client:
        found = client.capacity(parse_query(query))
    if as_json:
        print_json(found)
    else:
        print_capacity(found)
