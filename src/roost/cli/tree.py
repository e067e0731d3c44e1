"""`roost tree`: providers, and what they have."""

import click

from roost.cli.connection import open_client, service_options


@click.command()
@click.argument("provider", required=False)
@click.option("--traits/--no-traits", default=True, help="Show traits.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@service_options
def tree(
    provider: str | None, traits: bool, as_json: bool, url: str | None, token: str | None
) -> None:
    """Show trees of providers with what they have and how much of it is used.

    PROVIDER is the name or the UUID of any provider of the tree to show. Default: all trees.
    """
    from roost.cli.tree_view import print_json, print_trees, read_trees

    with open_client(url, token) as client:
        found = read_trees(client, provider)
    if as_json:
        print_json(found)
    else:
        print_trees(found, with_traits=traits)
