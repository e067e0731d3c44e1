"""`roost agent`: reports the resources of hosts to a service."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from roost.cli.options import (
    config_file_option,
    database_option,
    json_option,
    open_client,
    service_options,
)
from roost.cli.output import BadInput

Command = TypeVar("Command", bound=Callable[..., Any])


def driver_options(command: Command) -> Command:
    for decorate in (
        click.option(
            "--driver-timeout",
            default=60.0,
            show_default=True,
            type=click.FloatRange(0, min_open=True),
            metavar="SECONDS",
            help="How long to wait for an answer of the driver before that node has failed.",
        ),
        click.option(
            "--debug", is_flag=True, help="Show the traceback of whatever a driver raises."
        ),
        click.option(
            "--allow-excess",
            is_flag=True,
            help="Also write an inventory that is smaller than what consumers hold of it.",
        ),
        click.option(
            "--uuid",
            help="The UUID of the root. If the service knows it under another name, it is renamed.",
        ),
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
            help="What to report: linux (this machine), libvirt, file (providers described in "
            "YAML), a driver of an installed package, or module:Class, also of a module in the "
            "current folder.",
        ),
    ):
        command = decorate(command)
    return command


def timeout_option(command: Command) -> Command:
    return click.option(
        "--timeout",
        default=30.0,
        show_default=True,
        type=click.FloatRange(0, min_open=True),
        metavar="SECONDS",
        help="How long to wait for the answer to a request.",
    )(command)


@click.group()
def agent() -> None:
    """Report the resources of hosts to a service.

    When the resources of a host move to other providers, what consumers hold of them moves along.

    Each node, that is each root that the driver describes, is by itself: one that fails neither
    stops nor delays another.

    Exit code 0: done; 1: a node, or the service, failed; 2: wrong usage, or the driver cannot be
    loaded; 130 or 143: ended by Ctrl-C or SIGTERM, after the current request.
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
    help="Seconds between two updates of a node.",
)
@json_option
@timeout_option
@service_options
def run(
    driver: str,
    options: tuple[str, ...],
    node: str | None,
    uuid: str | None,
    allow_excess: bool,
    debug: bool,
    driver_timeout: float,
    once: bool,
    dry_run: bool,
    interval: float,
    as_json: bool,
    timeout: float,
    url: str | None,
    token: str | None,
) -> None:
    """Report the resources of hosts, at start and then periodically.

    If the shape of a host's resources has changed, the update at start moves inventories together
    with what consumers hold of them; later updates do not. A node that fails is logged and tried
    again after a longer pause; if its start has failed, then as at start. In each interval the
    driver is asked again which nodes there are. SIGTERM and Ctrl-C end the command with exit code
    0.

    With --once it prints in the end what became of each node, and exits with 1 if any failed.

    With --json it prints a line with one JSON object for each update of a root: its time, its
    result (updated, unchanged, failed, or planned with --dry-run), what changed, and what
    consumers hold elsewhere now. With --once or --dry-run the last line is a summary.

    \b
    Examples:
      roost agent run --driver linux --dry-run
      roost agent run --driver linux --json | jq 'select(.result != "unchanged")'
      roost agent run --driver file -o path=/etc/roost/pools.yaml --interval 300
      roost agent run --driver licences:LicenceDriver --once
    """
    from roost.cli.agent import actions
    from roost.cli.agent.log import log_lines, log_to_stderr
    from roost.cli.progress_view import shown_progress

    if not once and not dry_run:
        log_to_stderr(debug=debug)
        nodes = actions.load(
            driver,
            options,
            node,
            uuid,
            allow_excess=allow_excess,
            driver_timeout=driver_timeout,
        )
        with open_client(url, token, timeout=timeout) as client:
            actions.update_periodically(client, nodes, interval, as_json=as_json)
        return
    with (
        shown_progress(as_json=as_json) as progress,
        log_lines(progress, is_quiet=as_json or dry_run, debug=debug),
    ):
        nodes = actions.load(
            driver,
            options,
            node,
            uuid,
            allow_excess=allow_excess,
            driver_timeout=driver_timeout,
        )
        task = actions.PLAN_UPDATE if dry_run else actions.UPDATE
        with open_client(url, token, timeout=timeout) as client:
            actions.do_once(client, nodes, task, progress, as_json=as_json)


@agent.command()
@driver_options
@click.option("--plan", is_flag=True, help="Show every change and every move, and write nothing.")
@json_option
@timeout_option
@service_options
def reshape(
    driver: str,
    options: tuple[str, ...],
    node: str | None,
    uuid: str | None,
    allow_excess: bool,
    debug: bool,
    driver_timeout: float,
    plan: bool,
    as_json: bool,
    timeout: float,
    url: str | None,
    token: str | None,
) -> None:
    """Move inventories with what consumers hold of them.

    Nodes that need no reshape are left alone, also if something else of them has changed. Of a
    node that needs one, everything that the driver describes is written, traits and aggregates
    included, as `roost agent run` does at start.

    It prints what became of each node, and what has moved between which providers. --plan shows
    everything, and marks moves for which nobody said where the resource is as guessed. With --json
    it prints a line for each root, as `roost agent run` does, and in the end a summary. It can be
    interrupted and run again at any time.

    \b
    Example:
      roost agent reshape --driver linux --plan
    """
    from roost.cli.agent import actions
    from roost.cli.agent.log import log_lines
    from roost.cli.progress_view import shown_progress

    with (
        shown_progress(as_json=as_json) as progress,
        log_lines(progress, is_quiet=as_json or plan, debug=debug),
    ):
        nodes = actions.load(
            driver,
            options,
            node,
            uuid,
            allow_excess=allow_excess,
            driver_timeout=driver_timeout,
        )
        task = actions.PLAN_RESHAPE if plan else actions.RESHAPE
        with open_client(url, token, timeout=timeout) as client:
            actions.do_once(client, nodes, task, progress, as_json=as_json)


@agent.command()
@driver_options
@click.option("--offline", is_flag=True, help="Confirm that no service uses the database.")
@click.option("--plan", is_flag=True, help="Show every change and every move, and write nothing.")
@json_option
@database_option
@config_file_option
def migrate(
    driver: str,
    options: tuple[str, ...],
    node: str | None,
    uuid: str | None,
    allow_excess: bool,
    debug: bool,
    driver_timeout: float,
    offline: bool,
    plan: bool,
    as_json: bool,
    database: str | None,
    config_files: tuple[Path, ...],
) -> None:
    """Update and reshape while the service is down.

    Works directly on the database, without a server. The tables must exist. It prints what became
    of each node, and what has moved; --plan shows everything. The command can be interrupted and
    run again at any time, and does nothing if nothing is needed. With --json it prints a line for
    each root, as `roost agent run` does, and in the end a summary.

    \b
    Example:
      roost agent migrate --offline --driver linux --database sqlite:///roost.db
    """
    from roost.cli.agent import actions
    from roost.cli.agent.log import log_lines
    from roost.cli.agent.offline import open_direct
    from roost.cli.progress_view import shown_progress

    if not offline:
        raise BadInput("a migration works on the database itself: stop the service, say --offline")
    with (
        shown_progress(as_json=as_json) as progress,
        log_lines(progress, is_quiet=as_json or plan, debug=debug),
    ):
        nodes = actions.load(
            driver,
            options,
            node,
            uuid,
            allow_excess=allow_excess,
            driver_timeout=driver_timeout,
        )
        task = actions.PLAN_UPDATE if plan else actions.UPDATE
        with open_direct(database, config_files, progress) as client:
            actions.do_once(client, nodes, task, progress, as_json=as_json)
