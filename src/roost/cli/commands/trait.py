"""`roost trait`: qualities, those that a cloud knows and those that providers have."""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import click

from roost.cli.arguments import CUSTOM_TRAIT, TRAIT, provider_argument
from roost.cli.options import json_option, open_client, service_options
from roost.cli.output import BadInput, print_json, print_names
from roost.cli.provider_names import find_provider

if TYPE_CHECKING:
    from roost.client import Client


@click.group()
def trait() -> None:
    """Show and change traits, of the cloud and of providers."""


@trait.command("list")
@provider_argument(required=False)
@click.option("--prefix", help="Those whose names begin with this, such as CUSTOM_.")
@click.option("--used", is_flag=True, help="Those that some provider has.")
@json_option
@service_options
def list_traits(
    provider: str | None,
    prefix: str | None,
    used: bool,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """List all traits, or those of a provider.

    \b
    Examples:
      roost trait list --prefix CUSTOM_ --used
      roost trait list compute-7
    """
    with open_client(url, token) as client:
        if provider is not None:
            # What a provider has is used.
            found = client.provider_traits(find_provider(client, provider).uuid).traits
            names = sorted(each for each in found if each.startswith(prefix or ""))
        else:
            query = {"name": f"startswith:{prefix}"} if prefix is not None else {}
            names = sorted(client.traits({**query, **({"associated": "true"} if used else {})}))
    print_names("traits", names, as_json=as_json)


@trait.command()
@click.argument("trait", type=TRAIT)
@json_option
@service_options
def show(trait: str, as_json: bool, url: str | None, token: str | None) -> None:
    """Show whether a trait exists, and whether providers have it.

    `roost provider list --required TRAIT` lists the providers.

    \b
    Example:
      roost trait show HW_CPU_X86_AVX2
    """
    from roost.cli.columns import print_fields

    with open_client(url, token) as client:
        if trait not in client.traits({"name": f"in:{trait}"}):
            raise BadInput(f"there is no trait {trait}")
        used = trait in client.traits({"name": f"in:{trait}", "associated": "true"})
    found = {"name": trait, "custom": trait.startswith("CUSTOM_"), "used": used}
    if as_json:
        print_json(found)
    else:
        print_fields((name, _text(value)) for name, value in found.items())


def _text(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


@trait.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True, type=CUSTOM_TRAIT)
@json_option
@service_options
def create(names: tuple[str, ...], as_json: bool, url: str | None, token: str | None) -> None:
    """Make sure that custom traits exist.

    \b
    Example:
      roost trait create CUSTOM_RACK_7
    """
    with open_client(url, token) as client:
        for name in names:
            client.create_trait(name)
    if as_json:
        print_json({"traits": list(names)})


@trait.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True, type=TRAIT)
@json_option
@service_options
def delete(names: tuple[str, ...], as_json: bool, url: str | None, token: str | None) -> None:
    """Delete custom traits that no provider has.

    \b
    Example:
      roost trait delete CUSTOM_RACK_7
    """
    with open_client(url, token) as client:
        for name in names:
            client.delete_trait(name)
    if as_json:
        print_json({"deleted": list(names)})


@trait.command("set")
@provider_argument()
@click.argument("names", metavar="TRAIT...", nargs=-1, type=TRAIT)
@click.option("--replace", is_flag=True, help="Take away all traits that are not named.")
@json_option
@service_options
def set_traits(
    provider: str,
    names: tuple[str, ...],
    replace: bool,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Give traits to a provider, beside those that it has.

    The traits must exist: `roost trait create` makes custom ones. If another client writes at the
    same time, the change is made again on top of what that client wrote. With --replace it is
    refused instead.

    \b
    Examples:
      roost trait set compute-7 HW_CPU_X86_AVX2 CUSTOM_RACK_7
      roost trait set compute-7 --replace CUSTOM_RACK_7
    """
    if not names and not replace:
        raise BadInput("nothing to set: give traits after the provider")

    def change(present: Collection[str]) -> Collection[str]:
        return {*names} if replace else {*present, *names}

    with open_client(url, token) as client:
        after = _change(client, provider, change, replace=replace)
    print_names("traits", after, as_json=as_json)


@trait.command()
@provider_argument()
@click.argument("names", metavar="TRAIT...", nargs=-1, type=TRAIT)
@click.option("--all", "all_of_them", is_flag=True, help="Take away all traits.")
@json_option
@service_options
def unset(
    provider: str,
    names: tuple[str, ...],
    all_of_them: bool,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Take traits away from a provider.

    \b
    Examples:
      roost trait unset compute-7 CUSTOM_RACK_7
      roost trait unset compute-7 --all
    """
    if all_of_them == bool(names):
        raise BadInput("name the traits to take away, or give --all")

    def change(present: Collection[str]) -> Collection[str]:
        missing = sorted({*names} - {*present})
        if missing:
            raise BadInput(f"{provider} does not have {', '.join(missing)}")
        return {*present} - {*names} if names else set()

    with open_client(url, token) as client:
        after = _change(client, provider, change, replace=False)
    print_names("traits", after, as_json=as_json)


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
        found = client.provider_traits(uuid)
        return found.traits, found.generation

    def write(names: Collection[str], generation: int) -> Collection[str]:
        return client.set_provider_traits(uuid, names, generation).traits

    return amend_names(read, change, write, replace=replace)
