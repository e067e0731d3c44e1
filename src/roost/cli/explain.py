"""`roost explain` and `roost capacity`: why a request does not fit, and how often it does."""

import click

from roost.cli.connection import open_client, service_options


@click.command()
@click.argument("query")
@click.option("--tree", "provider", metavar="PROVIDER", help="A provider of the tree to ask about.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@service_options
def explain(
    query: str, provider: str | None, as_json: bool, url: str | None, token: str | None
) -> None:
    """Tell why a request fits or does not, and what would let it.

    QUERY is what stands behind the question mark of GET /allocation_candidates, such as
    'resources=VCPU:4,MEMORY_MB:8192&required=HW_CPU_X86_AVX2'. PROVIDER is a name or a UUID.
    """
    from roost.cli.explain_view import parse_query, print_explanation, print_json
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
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@service_options
def capacity(query: str, as_json: bool, url: str | None, token: str | None) -> None:
    """Count how many more of a request fit, in all and in each tree.

    QUERY is what stands behind the question mark of GET /allocation_candidates.
    """
    from roost.cli.explain_view import parse_query, print_capacity, print_json

    with open_client(url, token) as client:
        found = client.capacity(parse_query(query))
    if as_json:
        print_json(found)
    else:
        print_capacity(found)
