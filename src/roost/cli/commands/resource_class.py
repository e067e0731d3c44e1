"""`roost class`: kinds of resources."""

import click

from roost.cli.arguments import CUSTOM_CLASS, RESOURCE_CLASS
from roost.cli.options import json_option, open_client, service_options
from roost.cli.output import BadInput, print_json


@click.group("class")
def resource_class() -> None:
    """Show, create and delete resource classes."""


@resource_class.command("list")
@click.option("--prefix", default="", help="Those whose names begin with this, such as CUSTOM_.")
@json_option
@service_options
def list_classes(prefix: str, as_json: bool, url: str | None, token: str | None) -> None:
    """List resource classes.

    \b
    Example:
      roost class list --prefix CUSTOM_
    """
    with open_client(url, token) as client:
        names = sorted(each for each in client.resource_classes() if each.startswith(prefix))
    if as_json:
        print_json({"resource_classes": [{"name": name} for name in names]})
    else:
        for name in names:
            click.echo(name)


@resource_class.command()
@click.argument("name", type=RESOURCE_CLASS)
@json_option
@service_options
def show(name: str, as_json: bool, url: str | None, token: str | None) -> None:
    """Show whether a resource class exists.

    `roost summary` shows how much of it there is.

    \b
    Example:
      roost class show CUSTOM_LICENCE
    """
    from roost.cli.columns import print_fields

    with open_client(url, token) as client:
        if name not in client.resource_classes():
            raise BadInput(f"there is no resource class {name}")
    is_custom = name.startswith("CUSTOM_")
    if as_json:
        print_json({"name": name, "custom": is_custom})
    else:
        print_fields([("name", name), ("custom", "yes" if is_custom else "no")])


@resource_class.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True, type=CUSTOM_CLASS)
@json_option
@service_options
def create(names: tuple[str, ...], as_json: bool, url: str | None, token: str | None) -> None:
    """Make sure that custom resource classes exist.

    \b
    Example:
      roost class create CUSTOM_LICENCE
    """
    with open_client(url, token) as client:
        for name in names:
            client.create_resource_class(name)
    if as_json:
        print_json({"resource_classes": [{"name": name} for name in names]})


@resource_class.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True, type=RESOURCE_CLASS)
@json_option
@service_options
def delete(names: tuple[str, ...], as_json: bool, url: str | None, token: str | None) -> None:
    """Delete custom resource classes that no provider has.

    \b
    Example:
      roost class delete CUSTOM_LICENCE
    """
    with open_client(url, token) as client:
        for name in names:
            client.delete_resource_class(name)
    if as_json:
        print_json({"deleted": list(names)})
