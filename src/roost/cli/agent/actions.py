"""What the commands of `roost agent` do: load a driver, act on every node, keep updating."""

import logging
import threading
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

import click

from roost.agent.driver import Driver, DriverError
from roost.agent.drivers import load_driver
from roost.agent.guarded_driver import GuardedDriver
from roost.agent.rounds import (
    Act,
    MakeTracker,
    Rounds,
    Update,
    describe,
    run_once,
    update_at_start,
)
from roost.agent.stopping import StoppableClient
from roost.agent.tracker import Plan, Tracker
from roost.agent.tree_diff import compare
from roost.cli.agent import updates
from roost.cli.agent.plan_view import print_plan
from roost.cli.agent.signals import Signals
from roost.cli.agent.summary import Summary, describe_plan
from roost.cli.output import BadInput, Failure, printable, quoted, wrapping_console
from roost.cli.progress_view import CommandProgress
from roost.client import (
    AuthenticationFailed,
    Client,
    Unauthorized,
    Unreachable,
    VersionUnavailable,
)

LOG = logging.getLogger("roost.agent.command")

# Errors that say nothing of the node in whose update they happened.
SERVICE_ERRORS = (AuthenticationFailed, Unauthorized, Unreachable, VersionUnavailable)

# How many nodes a message names.
NAMES_SHOWN = 5


class Nodes(NamedTuple):
    """The root providers that a driver is asked for, and how they are to be updated."""

    driver: Driver
    names: list[str]
    are_all: bool  # that the driver describes, and not one that the user has named
    uuid: str | None  # of the only one, if the user has given it
    allow_excess: bool
    stop: threading.Event  # once it is set, neither the driver nor the service is asked anything


def load(
    name: str,
    options: Sequence[str],
    node: str | None,
    uuid: str | None,
    *,
    allow_excess: bool,
    driver_timeout: float,
) -> Nodes:
    """Load a driver with its options, for one root or for all that it describes."""
    stop = threading.Event()
    try:
        loaded = load_driver(name, parse_options(options))
        driver = GuardedDriver(loaded, name, stop, seconds_max=driver_timeout)
        names = driver.nodenames()
    except DriverError as error:
        LOG.debug("the driver cannot be loaded", exc_info=True)
        raise BadInput(printable_lines(str(error))) from error
    if node is not None:
        if node not in names:
            # Its root would be created before the driver could say that it knows none.
            raise BadInput(f"--node {quoted(node)}: the driver describes {_listed(names)}")
        names = [node]
    if uuid is not None:
        uuid = _read_uuid(uuid)
        if len(names) != 1:
            raise BadInput(
                "--uuid is for one root, and the driver describes several: say --node, too"
            )
    are_all = node is None and uuid is None
    return Nodes(driver, names, are_all, uuid, allow_excess, stop)


def _listed(names: Sequence[str]) -> str:
    """A few of the names, for a message."""
    if not names:
        return "no nodes"
    shown = ", ".join(map(quoted, names[:NAMES_SHOWN]))
    more = len(names) - NAMES_SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


def _read_uuid(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise BadInput(f"--uuid {quoted(text)}: expected a UUID") from None


def printable_lines(message: str) -> str:
    """A message of a driver, which may have several lines."""
    return "\n".join(printable(line) for line in message.splitlines())


def parse_options(texts: Sequence[str]) -> Mapping[str, str]:
    options = {}
    for text in texts:
        name, mark, value = text.partition("=")
        if not mark or not name:
            raise BadInput(f"--option {text!r}: expected NAME=VALUE")
        options[name] = value
    return options


# ---------------------------------------------------------------------------------------------
# Once


class Task(NamedTuple):
    """What to do with every node."""

    title: str  # for the progress
    act: Act
    nothing: str  # what is said of a node of which nothing changes
    only_plans: bool = False


def plan_update(tracker: Tracker) -> Plan | None:
    plan = tracker.plan()
    is_change = compare(plan.before, plan.after) or plan.held_before != plan.held_after
    return plan if is_change else None


def plan_reshape(tracker: Tracker) -> Plan | None:
    plan = tracker.plan()
    return None if plan.held_after is None else plan


UPDATE = Task("updating nodes", update_at_start, "nothing to do")
PLAN_UPDATE = Task("comparing nodes", plan_update, "nothing to do", only_plans=True)
RESHAPE = Task("reshaping nodes", Tracker.reshape, "nothing to move")
PLAN_RESHAPE = Task("comparing nodes", plan_reshape, "nothing to move", only_plans=True)


def do_once(
    client: Client, nodes: Nodes, task: Task, progress: CommandProgress, *, as_json: bool
) -> None:
    """Do a task with every node, each by itself, and print what became of them."""
    summary = Summary(nodes.names, nothing=task.nothing, only_planned=task.only_plans)
    with Signals(nodes.stop.set) as signals:
        progress.stage("connecting to the service")
        # Which every client does first. If it fails, that is no failure of a node.
        _ = client.version
        _collect(client, nodes, task, progress, summary, as_json=as_json)
    is_interrupted = summary.nodes_done < summary.nodes_total
    with progress.printing():
        if as_json:
            updates.print_summary(summary, is_interrupted=is_interrupted)
        elif not nodes.names:
            click.echo("the driver describes no nodes")
        elif not task.only_plans:
            summary.print()
    if is_interrupted:
        raise Failure(
            f"interrupted: {summary.nodes_done:,} of {summary.nodes_total:,} nodes are done; run "
            "it again for the others",
            exit_code=signals.exit_code,
        )
    if summary.errors:
        raise Failure(summary.failure())


def _collect(
    client: Client,
    nodes: Nodes,
    task: Task,
    progress: CommandProgress,
    summary: Summary,
    *,
    as_json: bool,
) -> None:
    progress.stage(task.title, len(nodes.names))
    make_tracker = tracker_maker(client, nodes)
    # People read plans, and compare them.
    results = run_once(nodes.names, make_tracker, task.act, in_order=task.only_plans)
    try:
        for update in results:
            if isinstance(update.error, SERVICE_ERRORS) and not summary.nodes_done:
                # The others would fail in the same way, each after its time.
                raise update.error
            summary.add(update)
            progress.advance()
            with progress.printing():
                if as_json:
                    updates.print_update(update, only_planned=task.only_plans)
                elif task.only_plans:
                    _print_planned(update, task)
    finally:
        # If something is raised here, for example because the disk is full, others end soon.
        nodes.stop.set()
        results.close()


def _print_planned(update: Update, task: Task) -> None:
    if update.plan is not None:
        print_plan(update.plan)
    else:
        words = task.nothing if update.error is None else f"failed: {describe(update.error)}"
        wrapping_console().print(printable(f"{update.nodename}: {words}"), markup=False)


def tracker_maker(client: Client, nodes: Nodes) -> MakeTracker:
    """Creates the tracker of a node."""
    stoppable = StoppableClient(client, nodes.stop)

    def make(name: str) -> Tracker:
        uuid = nodes.uuid or nodes.driver.root_uuid(name)
        return Tracker(stoppable, nodes.driver, name, uuid=uuid, allow_excess=nodes.allow_excess)

    return make


# ---------------------------------------------------------------------------------------------
# Periodically


def update_periodically(client: Client, nodes: Nodes, interval: float, *, as_json: bool) -> None:
    """Update at start and then periodically, until SIGTERM or Ctrl-C."""
    rounds = Rounds(
        nodes.names,
        tracker_maker(client, nodes),
        find_nodenames=nodes.driver.nodenames if nodes.are_all else None,
        interval=interval,
        report=updates.print_update if as_json else _log_update,
        stop=nodes.stop,
    )
    with Signals(rounds.stop):
        rounds.run()


def _log_update(update: Update) -> None:
    # Failures are logged where they happen.
    if update.plan is not None:
        LOG.info("%s: updated: %s", update.nodename, describe_plan(update.plan))
