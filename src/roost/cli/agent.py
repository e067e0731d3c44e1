"""`roost agent`: what runs on, or for, every host."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from roost.cli.connection import open_client, service_options
from roost.cli.failure import BadInput
from roost.cli.options import config_file_option, database_option

Command = TypeVar("Command", bound=Callable[..., Any])


def driver_options(command: Command) -> Command:
    for decorate in (
        click.option("--uuid", help="The UUID of the root, where it is created."),
        click.option(
            "--node", help="The name of the root. Default: every one that the driver knows."
        ),
        click.option(
            "--option",
            "-o",
            "options",
            multiple=True,
            metavar="NAME=VALUE",
            help="An option of the driver. May be repeated.",
        ),
        click.option(
            "--driver",
            required=True,
            help="Who knows what there is: linux (this machine), file (a description in YAML), or "
            "one that is installed.",
        ),
    ):
        command = decorate(command)
    return command


@click.group()
def agent() -> None:
    """Report the resources of a host, and move them safely when their shape changes."""


@agent.command()
@driver_options
@click.option("--once", is_flag=True, help="Update once, and end.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@click.option(
    "--interval",
    default=60.0,
    show_default=True,
    type=click.FloatRange(1),
    help="Seconds between updates.",
)
@service_options
def run(
    driver: str,
    options: tuple[str, ...],
    node: str | None,
    uuid: str | None,
    once: bool,
    dry_run: bool,
    interval: float,
    url: str | None,
    token: str | None,
) -> None:
    """Tell the service what a host has: at start, and then again and again.

    Where the shape of its resources has changed, inventories are moved at start, together with
    what consumers hold of them. An update that fails at start ends the program; later it is
    logged and tried again.
    """
    from roost.cli import agent_work

    found = agent_work.load(driver, options, node)
    with open_client(url, token) as client, agent_work.explained():
        trackers = agent_work.trackers(client, found, uuid)
        if dry_run:
            agent_work.show_plans(trackers)
            return
        agent_work.start(trackers)
        if not once:
            agent_work.keep(trackers, interval)


@agent.command()
@driver_options
@click.option("--plan", is_flag=True, help="Show the moves, and do nothing.")
@service_options
def reshape(
    driver: str,
    options: tuple[str, ...],
    node: str | None,
    uuid: str | None,
    plan: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Move inventories, and what consumers hold of them, to where they are now."""
    from roost.cli import agent_work

    found = agent_work.load(driver, options, node)
    with open_client(url, token) as client, agent_work.explained():
        trackers = agent_work.trackers(client, found, uuid)
        agent_work.show_plans(trackers)
        if not plan:
            agent_work.start(trackers)


@agent.command()
@driver_options
@click.option("--offline", is_flag=True, help="Say that no service runs on the database.")
@click.option("--plan", is_flag=True, help="Show the moves, and do nothing.")
@database_option
@config_file_option
def migrate(
    driver: str,
    options: tuple[str, ...],
    node: str | None,
    uuid: str | None,
    offline: bool,
    plan: bool,
    database: str | None,
    config_files: tuple[Path, ...],
) -> None:
    """The same while the service is down: on nothing but its database.

    It can be stopped and run again at any time, and does nothing where nothing is needed.
    """
    from roost.cli import agent_work

    if not offline:
        raise BadInput("a migration works on the database itself: stop the service, say --offline")
    found = agent_work.load(driver, options, node)
    with agent_work.open_direct(database, config_files) as client, agent_work.explained():
        trackers = agent_work.trackers(client, found, uuid)
        agent_work.show_plans(trackers)
        if not plan:
            agent_work.start(trackers)
