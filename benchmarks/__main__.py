"""The command line: `scripts/benchmark --help`."""

import contextlib
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click
from rich.console import Console

from benchmarks.beyond import measure_beyond
from benchmarks.crowd import crowd
from benchmarks.databases import DATABASES, serve
from benchmarks.growth import empty_memory, grow
from benchmarks.measure import Effort
from benchmarks.processes import machine
from benchmarks.report import print_results, write_documentation
from benchmarks.requests import CASES, PLACE_KEY
from benchmarks.results import Results, read_results
from benchmarks.run import CHECK_HOSTS_MAX, SIDES, Say, run_world
from benchmarks.sides import REQUEST_SECONDS_MAX, versions

DOCUMENTATION = Path(__file__).resolve().parent.parent / "docs"
KEYS = [*(case.key for case in CASES), PLACE_KEY]


class Plan(NamedTuple):
    """What a run does."""

    worlds: Sequence[tuple[str, str]]  # world, kind of database
    growth: Sequence[int]  # numbers of hosts
    efforts: dict[str, Effort]
    place_seconds: dict[str, float]
    crowds: Sequence[str]  # kinds of database
    crowd_seconds: float
    beyond: int  # hosts


# The reference takes seconds for what roost does in less than a millisecond, so it gets fewer
# requests and more time.
QUICK = Plan(
    worlds=[("cloud-1000", "mariadb")],
    growth=[1_000, 12_000],
    efforts={
        "reference": Effort(1, 20, 2.0, 15.0),
        "roost": Effort(20, 200, 2.0, 15.0),
    },
    place_seconds={"reference": 12.0, "roost": 5.0},
    crowds=["mariadb"],
    crowd_seconds=1.0,
    beyond=1_000,
)
FULL = Plan(
    worlds=[
        ("cloud-1000", "mariadb"),
        ("cloud-1000", "postgresql"),
        ("cloud-10000", "mariadb"),
        ("flat-10000", "mariadb"),
        ("nested-1000", "mariadb"),
    ],
    # The second has 100,000 providers, the last has 0.84 million.
    growth=[1_000, 12_000, 100_000],
    efforts={
        "reference": Effort(2, 100, 15.0, REQUEST_SECONDS_MAX),
        "roost": Effort(50, 1000, 15.0, REQUEST_SECONDS_MAX),
    },
    place_seconds={"reference": 60.0, "roost": 10.0},
    crowds=["mariadb", "postgresql"],
    crowd_seconds=5.0,
    beyond=10_000,
)
GROWTH_DATABASE = "postgresql"


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--world", "worlds", multiple=True, help="flat-N, nested-N or cloud-N. Repeatable.")
@click.option("--no-worlds", is_flag=True, help="No world: growth, crowd and beyond alone.")
@click.option("--database", "databases", multiple=True, type=click.Choice(DATABASES))
@click.option("--requests", "keys", multiple=True, type=click.Choice(KEYS), help="Only these.")
@click.option("--only", type=click.Choice(["reference", "roost"]), help="One side alone.")
@click.option("--quick", is_flag=True, help="Few requests, one world: minutes instead of an hour.")
@click.option(
    "--growth/--no-growth", default=None, help="roost on growing clouds. Default: unless --world."
)
@click.option(
    "--crowd/--no-crowd",
    "with_crowd",
    default=None,
    help="Claims of more and more clients. Default: unless --world or --requests.",
)
@click.option(
    "--beyond/--no-beyond",
    "with_beyond",
    default=None,
    help="What roost does beyond the API. Default: where there is growth.",
)
@click.option("--hosts", "sizes", multiple=True, type=int, help="Sizes of the growing clouds.")
@click.option(
    "--check/--no-check",
    default=None,
    help=f"Compare the answers. Default: for worlds of up to {CHECK_HOSTS_MAX:,} hosts.",
)
@click.option("--seconds", type=float, help="At most that long for each request and side.")
@click.option("--give-up", type=float, help="Seconds until an answer is not waited for.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Save the results.")
@click.option(
    "--with",
    "earlier",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Add results that an earlier run saved; a case that was measured again replaces the "
    "earlier one. Repeatable.",
)
@click.option("--report-only", is_flag=True, help="Measure nothing: show the results of --with.")
@click.option("--write-docs", is_flag=True, help="Write docs/performance.md.")
def main(
    worlds: Sequence[str],
    no_worlds: bool,
    databases: Sequence[str],
    keys: Sequence[str],
    only: str | None,
    quick: bool,
    growth: bool | None,
    with_crowd: bool | None,
    with_beyond: bool | None,
    sizes: Sequence[int],
    check: bool | None,
    seconds: float | None,
    give_up: float | None,
    json_path: Path | None,
    earlier: Sequence[Path],
    report_only: bool,
    write_docs: bool,
) -> None:
    """Measure roost and the reference side by side, and check that they find the same."""
    # An end by SIGTERM, too, has to stop the servers and remove their folders.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    plan = shortened(QUICK if quick else FULL, seconds, give_up)
    chosen = plan.worlds
    if worlds or databases:
        names = worlds or list(dict.fromkeys(world for world, _ in chosen))
        kinds = databases or ["mariadb"]
        chosen = [(name, kind) for name in names for kind in kinds]
    if no_worlds:
        chosen = []
    if growth is None:
        growth = bool(sizes) or (not worlds and not databases and not keys and only is None)
    if with_crowd is None:
        with_crowd = not worlds and not keys and not sizes
    if with_beyond is None:
        with_beyond = growth
    efforts = {name: plan.efforts[name] for name in plan.efforts if only in (None, name)}
    results = Results(machine=machine(), versions=versions())
    for path in earlier:
        results.add(read_results(path))
    began = time.monotonic()
    if not report_only:
        with progress() as say:
            for name, kind in chosen:
                with serve(kind) as database:
                    hosts = int(name.partition("-")[2])
                    results.worlds.append(
                        run_world(
                            name,
                            database,
                            efforts,
                            plan.place_seconds,
                            keys,
                            hosts <= CHECK_HOSTS_MAX if check is None else check,
                            say,
                        )
                    )
                save(results, json_path)
            for kind in (databases or plan.crowds) if with_crowd else ():
                with serve(kind) as database:
                    sides = [SIDES[name] for name in efforts]
                    results.crowds.append(crowd(database, sides, plan.crowd_seconds, say))
                save(results, json_path)
            if growth:
                with serve(databases[0] if databases else GROWTH_DATABASE) as database:
                    results.memory_empty = empty_memory(database)
                    for hosts in sizes or plan.growth:
                        results.growth.append(grow(hosts, database, plan.efforts["roost"], say))
                        save(results, json_path)
            if with_beyond:
                with serve(databases[0] if databases else GROWTH_DATABASE) as database:
                    effort = plan.efforts["roost"]
                    hosts = max(sizes, default=plan.beyond)
                    results.beyond.append(measure_beyond(hosts, database, effort, say))
                save(results, json_path)
    console = Console(width=None if sys.stdout.isatty() else 160)
    print_results(results, console)
    if not report_only:
        console.print(f"Measured in {time.monotonic() - began:,.0f} seconds.")
    if write_docs:
        write_documentation(results, DOCUMENTATION)
    if any(not one.same for result in results.worlds for one in result.comparisons):
        raise click.ClickException("the two sides do not find the same candidates")


def shortened(plan: Plan, seconds: float | None, give_up: float | None) -> Plan:
    """The plan, with other times where they are given."""
    efforts = {
        name: effort._replace(
            seconds_max=effort.seconds_max if seconds is None else seconds,
            request_seconds_max=effort.request_seconds_max if give_up is None else give_up,
        )
        for name, effort in plan.efforts.items()
    }
    place_seconds = plan.place_seconds if seconds is None else dict.fromkeys(efforts, seconds)
    crowd_seconds = plan.crowd_seconds if seconds is None else seconds
    return plan._replace(efforts=efforts, place_seconds=place_seconds, crowd_seconds=crowd_seconds)


def save(results: Results, path: Path | None) -> None:
    """After each part: an hour's work should not be lost with its last minute."""
    if path is not None:
        results.save(path)


@contextlib.contextmanager
def progress() -> Iterator[Say]:
    """Say what is being done: a line that changes on a terminal, otherwise one line for each."""
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status("starting") as status:
            yield status.update
    else:
        yield lambda text: console.print(text, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
