"""`roost provider`: the nodes of trees."""

from typing import TYPE_CHECKING, Any

import click

from roost.cli.arguments import AGGREGATE, PROVIDER, TRAIT_RULE, provider_argument
from roost.cli.options import json_option, open_client, service_options
from roost.cli.output import BadInput, Failure, print_json, print_json_items
from roost.cli.provider_names import find_provider

if TYPE_CHECKING:
    from roost.client import Client, Provider


@click.group()
def provider() -> None:
    """Show, create, change and delete providers."""


@provider.command("list")
@click.option("--name", help="The provider with this name.")
@click.option("--tree", type=PROVIDER, metavar="PROVIDER", help="Those in the tree of a provider.")
@click.option(
    "--resources", metavar="CLASS:N,...", help="Those with so much free, such as VCPU:4,DISK_GB:20."
)
@click.option(
    "--required",
    type=TRAIT_RULE,
    multiple=True,
    metavar="TRAIT,...",
    help="Those with all of these traits; !TRAIT: without it. May be repeated.",
)
@click.option(
    "--member-of",
    type=AGGREGATE,
    multiple=True,
    metavar="AGGREGATE",
    help="Those in an aggregate; !AGGREGATE: not in it; in:A,B: in one of them. May be repeated.",
)
@click.option("--limit", type=click.IntRange(1), help="At most so many.")
@json_option
@service_options
def list_providers(
    name: str | None,
    tree: str | None,
    resources: str | None,
    required: tuple[str, ...],
    member_of: tuple[str, ...],
    limit: int | None,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """List providers.

    \b
    Examples:
      roost provider list
      roost provider list --tree compute-7
      roost provider list --resources VCPU:4 --required 'HW_CPU_X86_AVX,!CUSTOM_X'
    """
    from roost.cli.commands.provider_view import list_json, print_providers

    query: dict[str, Any] = {}
    query |= {"name": name} if name is not None else {}
    query |= {"resources": resources} if resources is not None else {}
    query |= {"required": _required(required)} if required else {}
    query |= {"member_of": list(member_of)} if member_of else {}
    with open_client(url, token) as client:
        if tree is not None:
            query["in_tree"] = find_provider(client, tree).uuid
        if as_json:
            print_json_items("resource_providers", list_json(client, query, limit))
        else:
            print_providers(client, query, limit)


def _required(traits: tuple[str, ...]) -> list[str]:
    """One value for all plain traits: older services take no second one."""
    plain = [each for each in traits if not each.startswith("in:")]
    return [*([",".join(plain)] if plain else []), *(each for each in traits if each not in plain)]


@provider.command()
@provider_argument()
@json_option
@service_options
def show(provider: str, as_json: bool, url: str | None, token: str | None) -> None:
    """Show one provider with everything that it has.

    \b
    Example:
      roost provider show compute-7
    """
    from roost.cli.commands.provider_view import print_provider, provider_json

    with open_client(url, token) as client:
        found = find_provider(client, provider)
        if as_json:
            print_json(provider_json(client, found.uuid))
        else:
            print_provider(client, found)


@provider.command()
@click.argument("name")
@click.option(
    "--parent", type=PROVIDER, metavar="PROVIDER", help="Create it below this one. Default: a root."
)
@click.option("--uuid", help="Its UUID. Default: a random one.")
@json_option
@service_options
def create(
    name: str,
    parent: str | None,
    uuid: str | None,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Create a provider. Prints its UUID.

    \b
    Examples:
      roost provider create compute-7
      roost provider create compute-7-numa0 --parent compute-7
    """
    from roost.cli.commands.answers import Verbatim

    with open_client(url, token) as client:
        parent_uuid = None if parent is None else find_provider(client, parent).uuid
        created = client.create_provider(name, uuid=uuid, parent_uuid=parent_uuid)
        if as_json:
            print_json(Verbatim(client).provider(created.uuid))
        else:
            click.echo(created.uuid)


@provider.command("set")
@provider_argument()
@click.option("--name", help="Rename it.")
@click.option("--parent", type=PROVIDER, metavar="PROVIDER", help="Move it below this one.")
@click.option("--root", is_flag=True, help="Make it the root of a tree of its own.")
@json_option
@service_options
def set_provider(
    provider: str,
    name: str | None,
    parent: str | None,
    root: bool,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Rename a provider, or move it with all that is below it.

    \b
    Examples:
      roost provider set compute-7 --name compute-8
      roost provider set nic-3 --parent compute-8
    """
    from roost.cli.commands.answers import Verbatim

    if parent is not None and root:
        raise BadInput("--parent and --root exclude each other")
    if name is None and parent is None and not root:
        raise BadInput("nothing to change: give --name, --parent or --root")
    with open_client(url, token) as client:
        found = find_provider(client, provider)
        parent_uuid = found.parent_uuid
        if parent is not None:
            parent_uuid = find_provider(client, parent).uuid
        elif root:
            parent_uuid = None
        new_name = found.name if name is None else name
        client.update_provider(found.uuid, name=new_name, parent_uuid=parent_uuid)
        if as_json:
            print_json(Verbatim(client).provider(found.uuid))


@provider.command()
@provider_argument(nargs=-1, required=True)
@click.option("--tree", is_flag=True, help="Also delete everything below each PROVIDER.")
@click.option("--yes", is_flag=True, help="Do not ask before a tree is deleted.")
@json_option
@service_options
def delete(
    provider: tuple[str, ...],
    tree: bool,
    yes: bool,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Delete providers that have neither children nor allocations.

    With --tree it deletes the leaves first, and asks before it begins. It stops at the first
    provider that it cannot delete, such as one with allocations.

    \b
    Examples:
      roost provider delete compute-7
      roost provider delete compute-7 --tree --yes
    """
    with open_client(url, token) as client:
        tops = [find_provider(client, each) for each in provider]
        doomed = [each for top in tops for each in (_leaves_first(client, top) if tree else [top])]
        # A provider may be named twice, or be below another one that is named.
        doomed = list({each.uuid: each for each in doomed}.values())
        if tree and len(doomed) > len(tops) and not yes:
            question = f"Delete {len(doomed):,} providers, with inventories, traits and aggregates?"
            if not click.confirm(question, err=True):
                raise Failure("nothing was deleted")
        for each in doomed:
            client.delete_provider(each.uuid)
    if as_json:
        print_json({"deleted": [each.uuid for each in doomed]})


def _leaves_first(client: "Client", top: "Provider") -> "list[Provider]":
    """The provider and everything below it, each after its children."""
    children: dict[str | None, list[Provider]] = {}
    for each in client.tree(top.uuid):
        children.setdefault(each.parent_uuid, []).append(each)
    found = [top]
    for each in found:
        found.extend(children.get(each.uuid, ()))
    return found[::-1]
