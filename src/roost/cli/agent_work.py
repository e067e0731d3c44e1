"""What the commands of `roost agent` do."""

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
from roost.cli.failure import BadInput, Failure
from roost.cli.terminal import wrapping_console
from roost.client import Client, ClientError, direct
from roost.settings import SettingsError

LOG = logging.getLogger(__name__)


class Found(NamedTuple):
    """A driver, and the roots that it answers for."""

    driver: Driver
    nodenames: list[str]


def load(name: str, options: Sequence[str], node: str | None) -> Found:
    try:
        driver = load_driver(name, parse_options(options))
        return Found(driver, driver.nodenames() if node is None else [node])
    except DriverError as error:
        raise BadInput(" ".join(str(error).split())) from error


def parse_options(texts: Sequence[str]) -> Mapping[str, str]:
    options = {}
    for text in texts:
        name, mark, value = text.partition("=")
        if not mark or not name:
            raise BadInput(f"--option {text!r}: expected NAME=VALUE")
        options[name] = value
    return options


@contextmanager
def explained() -> Iterator[None]:
    """What goes wrong is one line."""
    try:
        yield
    except (DriverError, UpdateFailed) as error:
        raise Failure(" ".join(str(error).split())) from error


@contextmanager
def open_direct(database: str | None, config_files: Sequence[Path]) -> Iterator[Client]:
    try:
        with direct(database, config_files=config_files) as client:
            yield client
    except SettingsError as error:
        raise BadInput(" ".join(str(error).split())) from error
    except ClientError as error:
        raise Failure(" ".join(str(error).split())) from error


def trackers(client: Client, found: Found, uuid: str | None) -> list[Tracker]:
    if uuid is not None and len(found.nodenames) != 1:
        raise BadInput("--uuid is for one root, and the driver knows several: say --node, too")
    return [
        Tracker(client, found.driver, node, uuid=uuid or found.driver.root_uuid(node))
        for node in found.nodenames
    ]


# ---------------------------------------------------------------------------------------------
# Doing


def start(all_trackers: Sequence[Tracker]) -> None:
    """The first update of each, which may reshape."""
    console = wrapping_console()
    shown = track(
        all_trackers,
        description="updating",
        console=Console(stderr=True),
        transient=True,
        disable=len(all_trackers) < 2,
    )
    for tracker in shown:
        changed = tracker.update(startup=True)
        console.print(f"{tracker.nodename}: {'updated' if changed else 'nothing to do'}")


def keep(all_trackers: list[Tracker], interval: float) -> None:
    """Update until SIGTERM or Ctrl-C."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    run_periodically(all_trackers, stop, interval=interval)


# ---------------------------------------------------------------------------------------------
# Showing


def show_plans(all_trackers: Sequence[Tracker]) -> None:
    console = wrapping_console()
    for tracker in all_trackers:
        _show(console, tracker.nodename, tracker.plan())


def _show(console: Console, nodename: str, plan: Plan) -> None:
    difference = compare(plan.before, plan.after)
    if not difference and plan.held_before == plan.held_after:
        console.print(f"{nodename}: nothing to do")
        return
    console.print(render(difference))
    moves = list(_moves(plan))
    if moves:
        table = Table(title="what consumers hold", title_justify="left", box=None)
        for column in ("consumer", "class", "amount", "from", "to"):
            table.add_column(column, justify="right" if column == "amount" else "left")
        for move in moves:
            table.add_row(*move)
        console.print(table)


def _moves(plan: Plan) -> Iterator[tuple[str, str, str, str, str]]:
    """Who holds what elsewhere afterwards."""
    before, after = plan.held_before or {}, plan.held_after or {}
    for consumer in sorted(before):
        old, new = _amounts(before, consumer), _amounts(after, consumer)
        lost = {key: n - new.get(key, 0) for key, n in old.items() if n > new.get(key, 0)}
        won = {key: n - old.get(key, 0) for key, n in new.items() if n > old.get(key, 0)}
        sources = ", ".join(f"{_name(plan, uuid)} {name}" for uuid, name in sorted(lost))
        for (uuid, name), amount in sorted(won.items()):
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
