"""What the commands of `roost agent` do: load a driver, show plans, update, keep updating."""

import logging
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

from roost.agent.driver import Allocations, Driver, DriverError
from roost.agent.drivers import load_driver
from roost.agent.provider_tree import ProviderTree
from roost.agent.tracker import Plan, Tracker, run_periodically
from roost.agent.tree_diff import compare, render
from roost.agent.tree_update import UpdateFailed
from roost.cli.output import BadInput, Failure, one_line, wrapping_console
from roost.client import Client, ClientError, direct
from roost.settings import SettingsError


class LoadedDriver(NamedTuple):
    """A driver, and the root providers that it is asked for."""

    driver: Driver
    nodenames: list[str]


def load(name: str, options: Sequence[str], node: str | None) -> LoadedDriver:
    """Load a driver with its options, for one root or for all that it describes."""
    try:
        driver = load_driver(name, parse_options(options))
        return LoadedDriver(driver, driver.nodenames() if node is None else [node])
    except DriverError as error:
        raise BadInput(one_line(error)) from error


def parse_options(texts: Sequence[str]) -> Mapping[str, str]:
    options = {}
    for text in texts:
        name, mark, value = text.partition("=")
        if not mark or not name:
            raise BadInput(f"--option {text!r}: expected NAME=VALUE")
        options[name] = value
    return options


@contextmanager
def reported_failures() -> Iterator[None]:
    """Errors of drivers and updates end the command with one line."""
    try:
        yield
    except (DriverError, UpdateFailed) as error:
        raise Failure(one_line(error)) from error


@contextmanager
def open_direct(database: str | None, config_files: Sequence[Path]) -> Iterator[Client]:
    """A client without a server. Its errors end the command with one line."""
    try:
        with direct(database, config_files=config_files) as client:
            yield client
    except SettingsError as error:
        raise BadInput(one_line(error)) from error
    except ClientError as error:
        raise Failure(one_line(error)) from error


def make_trackers(client: Client, loaded: LoadedDriver, uuid: str | None) -> list[Tracker]:
    if uuid is not None and len(loaded.nodenames) != 1:
        raise BadInput("--uuid is for one root, and the driver describes several: say --node, too")
    return [
        Tracker(client, loaded.driver, node, uuid=uuid or loaded.driver.root_uuid(node))
        for node in loaded.nodenames
    ]


# ---------------------------------------------------------------------------------------------
# Updates


def start(trackers: Sequence[Tracker]) -> None:
    """Run the first update of each host, which may reshape."""
    console = wrapping_console()
    shown = track(
        trackers,
        description="updating",
        console=Console(stderr=True),
        transient=True,
        disable=len(trackers) < 2,
    )
    for tracker in shown:
        changed = tracker.update(startup=True)
        result = "updated" if changed else "nothing to do"
        console.print(f"{tracker.nodename}: {result}", markup=False)


def update_periodically(trackers: list[Tracker], interval: float) -> None:
    """Update periodically until SIGTERM or Ctrl-C."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    run_periodically(trackers, stop, interval=interval)


# ---------------------------------------------------------------------------------------------
# Plans


def show_plans(trackers: Sequence[Tracker]) -> None:
    console = wrapping_console()
    for tracker in trackers:
        _show(console, tracker.nodename, tracker.plan())


def _show(console: Console, nodename: str, plan: Plan) -> None:
    diff = compare(plan.before, plan.after)
    if not diff and plan.held_before == plan.held_after:
        console.print(f"{nodename}: nothing to do", markup=False)
        return
    console.print(render(diff))
    moves = list(_moves(plan))
    if moves:
        table = Table(title="what consumers hold", title_justify="left", box=None)
        for column in ("consumer", "class", "amount", "from", "to"):
            table.add_column(column, justify="right" if column == "amount" else "left")
        for move in moves:
            table.add_row(*move)
        console.print(table)


def _moves(plan: Plan) -> Iterator[tuple[str, str, str, str, str]]:
    """What each consumer holds elsewhere afterwards: consumer, class, amount, from, to."""
    before, after = plan.held_before or {}, plan.held_after or {}
    for consumer in sorted(before):
        old, new = _amounts(before, consumer), _amounts(after, consumer)
        removed = {key: n - new.get(key, 0) for key, n in old.items() if n > new.get(key, 0)}
        added = {key: n - old.get(key, 0) for key, n in new.items() if n > old.get(key, 0)}
        sources = ", ".join(f"{_name(plan, uuid)} {name}" for uuid, name in sorted(removed))
        for (uuid, name), amount in sorted(added.items()):
            yield consumer, name, f"{amount:,}", sources, _name(plan, uuid)


def _amounts(held: Allocations, consumer: str) -> dict[tuple[str, str], int]:
    return {
        (uuid, name): amount
        for uuid, each in held[consumer]["allocations"].items()
        for name, amount in each["resources"].items()
    }


def _name(plan: Plan, uuid: str) -> str:
    trees: tuple[ProviderTree, ...] = (plan.after, plan.before)
    return next((tree.data(uuid).name for tree in trees if tree.exists(uuid)), uuid)
