"""`roost agent`: reports the resources of hosts to a service."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from roost.cli.options import config_file_option, database_option, open_client, service_options
from roost.cli.output import BadInput

Command = TypeVar("Command", bound=Callable[..., Any])


def driver_options(command: Command) -> Command:
    for decorate in (
        click.option("--uuid", help="The UUID of the root, if it is created."),
        click.option(
            "--node", help="The name of one root. Default: all roots that the driver describes."
        ),
        click.option(
            "--option",
            "-o",
            "options",
            multiple=True,
            metavar="NAME=VALUE",
            help="An option of the driver, such as numa=never. May be repeated.",
        ),
        click.option(
            "--driver",
            required=True,
            help="What to report: linux (this machine), file (providers described in YAML), or a "
            "driver of an installed package.",
        ),
    ):
        command = decorate(command)
    return command


@click.group()
def agent() -> None:
    """Report the resources of hosts to a service.

    When the resources of a host move to other providers, what consumers hold of them moves along.

    Exit code 0: done; 1: the update failed; 2: wrong usage, or the driver cannot be loaded.
    """


@agent.command()
@driver_options
@click.option("--once", is_flag=True, help="Exit after the first update.")
@click.option("--dry-run", is_flag=True, help="Show what would change, write nothing, and exit.")
@click.option(
    "--interval",
    default=60.0,
    show_default=True,
    type=click.FloatRange(1),
    help="Seconds between two updates of a host.",
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
    """Report the resources of hosts, at start and then periodically.

    If the shape of a host's resources has changed, the update at start moves inventories together
    with what consumers hold of them. If the update at start fails, the command exits with code 1.
    Later failures are logged, and the host is tried again after a longer pause.

    \b
    Examples:
      roost agent run --driver linux --dry-run
      roost agent run --driver file -o path=/etc/roost/pools.yaml --interval 300
    """
    from roost.cli import agent_actions

    loaded = agent_actions.load(driver, options, node)
    with open_client(url, token) as client, agent_actions.reported_failures():
        trackers = agent_actions.make_trackers(client, loaded, uuid)
        if dry_run:
            agent_actions.show_plans(trackers)
            return
        agent_actions.start(trackers)
        if not once:
            agent_actions.update_periodically(trackers, interval)


@agent.command()
@driver_options
@click.option("--plan", is_flag=True, help="Show the moves, and write nothing.")
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
    """Move inventories with what consumers hold of them.

    Shows the moves, then does what `roost agent run` does at start.

    \b
    Example:
      roost agent reshape --driver linux --plan
    """
    from roost.cli import agent_actions

    loaded = agent_actions.load(driver, options, node)
    with open_client(url, token) as client, agent_actions.reported_failures():
        trackers = agent_actions.make_trackers(client, loaded, uuid)
        agent_actions.show_plans(trackers)
        if not plan:
            agent_actions.start(trackers)


@agent.command()
@driver_options
@click.option("--offline", is_flag=True, help="Confirm that no service uses the database.")
@click.option("--plan", is_flag=True, help="Show the moves, and write nothing.")
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
    """Update and reshape while the service is down.

    Works directly on the database, without a server. The command can be interrupted and run again
    at any time, and does nothing if nothing is needed.

    \b
    Example:
      roost agent migrate --offline --driver linux --database postgresql://roost:secret@db/roost
    """
    from roost.cli import agent_actions

    if not offline:
        raise BadInput("a migration works on the database itself: stop the service, say --offline")
    loaded = agent_actions.load(driver, options, node)
    with (
        agent_actions.open_direct(database, config_files) as client,
        agent_actions.reported_failures(),
    ):
        trackers = agent_actions.make_trackers(client, loaded, uuid)
        agent_actions.show_plans(trackers)
        if not plan:
            agent_actions.start(trackers)
