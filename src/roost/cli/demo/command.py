"""The command `roost demo` and its options."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from roost.cli.options import URL_DEFAULT, json_option, open_client, service_options
from roost.cli.output import BadInput, Failure

if TYPE_CHECKING:
    from roost.client import Client

# Without these the demo could not find out what there is of it.
NEEDED = ("include", "list_allocations")

# The exit code of a program that Ctrl-C has ended.
INTERRUPTED = 130


@click.command()
@click.option("--remove", is_flag=True, help="Remove what the demo has made, and nothing else.")
@click.option(
    "--live",
    is_flag=True,
    help="Stay, and claim and release something twice a second until Ctrl-C.",
)
@json_option
@service_options
@click.pass_context
def demo(
    context: click.Context,
    remove: bool,
    live: bool,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Load a small data centre to try roost with.

    44 hosts in four racks: compute hosts, NUMA nodes with SR-IOV NICs, GPUs, bare metal, shared
    storage, and servers of five projects on them. What is there already stays; what an interrupted
    run has left out, or somebody has changed, is put right.

    --remove refuses, and removes nothing, while consumers that are not of the demo hold something
    of its providers. Custom traits and classes go too, unless others use them.

    \b
    Examples:
      roost demo
      roost demo --live
      roost demo --remove
    """
    from roost.cli.commands.answers import amend, need_extension
    from roost.cli.demo.loading import load
    from roost.cli.demo.printing import (
        print_loaded,
        print_loaded_as_json,
        print_removed,
        print_removed_as_json,
    )
    from roost.cli.demo.removing import remove as remove_all
    from roost.cli.demo.visitors import come_and_go
    from roost.cli.progress_view import shown_progress

    if remove and live:
        raise BadInput("--remove and --live exclude each other")
    with open_client(url, token) as client:
        for extension in (*NEEDED, "placements") if live else NEEDED:
            need_extension(client, extension)
        if remove:
            with _interruptible(), shown_progress(as_json=as_json) as progress:
                removed = amend(lambda: remove_all(client, progress))
            (print_removed_as_json if as_json else print_removed)(removed)
            return
        with _interruptible(), shown_progress(as_json=as_json) as progress:
            written = amend(lambda: load(client, progress))
        console = _console(client, url, token)
        if as_json:
            print_loaded_as_json(written, console)
        else:
            given = context.get_parameter_source("url") is ParameterSource.COMMANDLINE
            print_loaded(written, console, options=f" --url {url}" if given else "")
        if live:
            click.echo("roost: claims come and go until Ctrl-C", err=True)
            come_and_go(client)


@contextmanager
def _interruptible() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Failure(
            "interrupted: `roost demo` completes the demo, and `roost demo --remove` removes it",
            exit_code=INTERRUPTED,
        ) from None


def _console(client: "Client", url: str | None, token: str | None) -> str | None:
    """The address of the console; None if the service has none, or its address is not known."""
    from roost.client import ApiError, NotUnderstood
    from roost.client.calls import Call

    if not url and token is None and {"OS_AUTH_URL", "OS_AUTH_TYPE"} & os.environ.keys():
        # Keystone's catalogue has the address of the API, which need not be one for browsers.
        return None
    try:
        client.send(Call(method="GET", path="/console/session", read=bool))
    except (ApiError, NotUnderstood):
        return None
    return f"{(url or URL_DEFAULT).rstrip('/')}/console/cloud"
