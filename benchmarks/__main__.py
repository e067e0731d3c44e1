"""The command line: `scripts/benchmark --help`."""

import contextlib
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.console import Console

from benchmarks.bulk_reads import measure_bulk_reads
from benchmarks.console import MOVE_SECONDS, measure_console
from benchmarks.contention import measure_contention
from benchmarks.databases import DATABASES, start_database
from benchmarks.durable.jobs import JobPlan
from benchmarks.durable.run import (
    DurablePlan,
    choose_clouds,
    measure_cloud,
    measure_placing,
    run_million,
)
from benchmarks.durable.tables import million_line
from benchmarks.extensions import measure_extensions
from benchmarks.growth import measure_empty_memory, measure_growth
from benchmarks.measure import ShowProgress
from benchmarks.plans import (
    FULL,
    GROWTH_DATABASE,
    PLACING_DATASET,
    QUICK,
    bulk_plan,
    with_time_limits,
)
from benchmarks.processes import machine
from benchmarks.report import print_results, write_documentation
from benchmarks.requests import CASES, PLACEMENT_KEY
from benchmarks.results import Results, read_results
from benchmarks.run import CHECK_HOSTS_MAX, SERVICES, run_dataset
from benchmarks.services import versions

DOCUMENTATION = Path(__file__).resolve().parent.parent / "docs" / "explanation"
MILLION_HOSTS, MILLION_JOBS = 5_000, 1_000
KEYS = [*(case.key for case in CASES), PLACEMENT_KEY]


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--world",
    "names",
    multiple=True,
    help="The dataset: flat-N, nested-N or cloud-N. Repeatable.",
)
@click.option(
    "--no-worlds",
    is_flag=True,
    help="Skip the datasets: measure growth, crowd, beyond and bulk only.",
)
@click.option("--database", "databases", multiple=True, type=click.Choice(DATABASES))
@click.option(
    "--requests", "keys", multiple=True, type=click.Choice(KEYS), help="Measure only these."
)
@click.option("--only", type=click.Choice(["reference", "roost"]), help="Measure one service only.")
@click.option(
    "--quick", is_flag=True, help="Few requests, one dataset: minutes instead of an hour."
)
@click.option(
    "--growth/--no-growth",
    default=None,
    help="Measure roost on clouds of growing size. Default: unless --world.",
)
@click.option(
    "--crowd/--no-crowd",
    "with_contention",
    default=None,
    help="Measure claims by growing numbers of concurrent clients. Default: unless --world or "
    "--requests.",
)
@click.option(
    "--beyond/--no-beyond",
    "with_extensions",
    default=None,
    help="Measure roost's extensions of the API. Default: if growth is measured.",
)
@click.option(
    "--bulk/--no-bulk",
    "with_bulk_reads",
    default=None,
    help="Measure how long it takes to read a whole cloud. Default: if growth is measured.",
)
@click.option(
    "--console",
    "only_console",
    is_flag=True,
    help="Measure the console in a browser, and nothing else.",
)
@click.option(
    "--durable",
    "only_durable",
    is_flag=True,
    help="Measure claims with COMMIT on disk, and nothing else. With --database or --hosts: on "
    "these.",
)
@click.option(
    "--million",
    is_flag=True,
    help="Place a million consumers with COMMIT on disk, check everything, and print one line.",
)
@click.option("--jobs", type=int, help="Of --million, --durable: how many jobs.")
@click.option("--consumers", type=int, help="Of --million, --durable: in a job. Default: 1,000.")
@click.option("--workers", type=int, help="Of --million, --durable: processes of roost.")
@click.option("--threads", type=int, help="Of --million, --durable: threads of each.")
@click.option("--clients", type=int, help="Of --million, --durable: clients that place jobs.")
@click.option("--hosts", "sizes", multiple=True, type=int, help="Sizes of the growing clouds.")
@click.option(
    "--check/--no-check",
    default=None,
    help=f"Compare the answers. Default: for datasets of up to {CHECK_HOSTS_MAX:,} hosts.",
)
@click.option("--seconds", type=float, help="Time limit for each case and service.")
@click.option("--give-up", type=float, help="Seconds after which the client gives up.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Save the results.")
@click.option(
    "--with",
    "earlier",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Add results that an earlier run saved. A case that is measured again replaces the "
    "earlier one. Repeatable.",
)
@click.option(
    "--report-only", is_flag=True, help="Measure nothing, and show the results of --with."
)
@click.option("--write-docs", is_flag=True, help="Write docs/explanation/performance.md.")
def main(
    names: Sequence[str],
    no_worlds: bool,
    databases: Sequence[str],
    keys: Sequence[str],
    only: str | None,
    quick: bool,
    growth: bool | None,
    with_contention: bool | None,
    with_extensions: bool | None,
    with_bulk_reads: bool | None,
    only_console: bool,
    only_durable: bool,
    million: bool,
    jobs: int | None,
    consumers: int | None,
    workers: int | None,
    threads: int | None,
    clients: int | None,
    sizes: Sequence[int],
    check: bool | None,
    seconds: float | None,
    give_up: float | None,
    json_path: Path | None,
    earlier: Sequence[Path],
    report_only: bool,
    write_docs: bool,
) -> None:
    """Measure roost and the reference side by side, and compare the candidates they find."""
    # SIGTERM must also stop the servers and remove their folders.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    plan = with_time_limits(QUICK if quick else FULL, seconds, give_up)
    given = {"consumers": consumers, "workers": workers, "threads": threads, "clients": clients}
    durable = plan.durable._replace(**{key: each for key, each in given.items() if each})
    if only_durable:
        durable = choose_clouds(durable, databases, sizes, jobs)
    chosen = plan.datasets
    if names or databases:
        wanted = names or list(dict.fromkeys(name for name, _ in chosen))
        kinds = databases or ["mariadb"]
        chosen = [(name, kind) for name in wanted for kind in kinds]
    if no_worlds:
        chosen = []
    if growth is None:
        growth = bool(sizes) or (not names and not databases and not keys and only is None)
    with_durable = only_durable or (growth and not sizes and not no_worlds)
    if with_contention is None:
        with_contention = not names and not keys and not sizes
    if with_extensions is None:
        with_extensions = growth
    if with_bulk_reads is None:
        with_bulk_reads = growth
    budgets = {name: plan.budgets[name] for name in plan.budgets if only in (None, name)}
    results = Results(machine=machine(), versions=versions())
    for path in earlier:
        results.add(read_results(path))
    began = time.monotonic()
    if million:
        run_million_alone(results, durable, databases, sizes, jobs or MILLION_JOBS, json_path)
        return
    if only_console and not report_only:
        with progress_display() as show_progress:
            for hosts in sizes or [plan.console]:
                results.console.append(
                    measure_console(hosts, seconds or MOVE_SECONDS, show_progress)
                )
                save(results, json_path)
    elif not report_only and not only_durable:
        with progress_display() as show_progress:
            for name, kind in chosen:
                with start_database(kind) as database:
                    hosts = int(name.partition("-")[2])
                    results.datasets.append(
                        run_dataset(
                            name,
                            database,
                            budgets,
                            plan.placement_seconds,
                            keys,
                            hosts <= CHECK_HOSTS_MAX if check is None else check,
                            show_progress,
                        )
                    )
                save(results, json_path)
            for kind in (databases or plan.contention) if with_contention else ():
                with start_database(kind) as database:
                    services = [SERVICES[name] for name in budgets]
                    results.contention.append(
                        measure_contention(
                            database, services, plan.contention_seconds, show_progress
                        )
                    )
                save(results, json_path)
            if growth:
                with start_database(databases[0] if databases else GROWTH_DATABASE) as database:
                    results.memory_empty = measure_empty_memory(database)
                    for hosts in sizes or plan.growth:
                        budget = plan.budgets["roost"]
                        results.growth.append(
                            measure_growth(hosts, database, budget, show_progress)
                        )
                        save(results, json_path)
            if with_extensions:
                with start_database(databases[0] if databases else GROWTH_DATABASE) as database:
                    budget = plan.budgets["roost"]
                    hosts = max(sizes, default=plan.extensions)
                    results.extensions.append(
                        measure_extensions(hosts, database, budget, show_progress)
                    )
                save(results, json_path)
            for hosts, kind in bulk_plan(plan, sizes, databases) if with_bulk_reads else ():
                with start_database(kind) as database:
                    results.bulk_reads.append(
                        measure_bulk_reads(
                            hosts, database, list(budgets), plan.single_reads, show_progress
                        )
                    )
                save(results, json_path)
    if with_durable and not report_only:
        with progress_display() as show_progress:
            for cloud in durable.clouds:
                results.durable.add_cloud(measure_cloud(cloud, durable, show_progress))
                save(results, json_path)
            for kind in durable.placing:
                results.durable.add_placing(
                    measure_placing(
                        kind, PLACING_DATASET, budgets, plan.placement_seconds, show_progress
                    )
                )
                save(results, json_path)
    console = Console(width=None if sys.stdout.isatty() else 160)
    print_results(results, console)
    if not report_only:
        console.print(f"Measured in {time.monotonic() - began:,.0f} seconds.")
    if write_docs:
        write_documentation(results, DOCUMENTATION)
    if any(not one.same for result in results.datasets for one in result.comparisons):
        raise click.ClickException("the two services do not find the same candidates")
    for bulk_reads in results.bulk_reads:
        if bulk_reads.difference:
            raise click.ClickException(f"the services differ: {bulk_reads.difference}")
    if results.durable.findings:
        raise click.ClickException("; ".join(results.durable.findings))


def run_million_alone(
    results: Results,
    plan: DurablePlan,
    databases: Sequence[str],
    sizes: Sequence[int],
    jobs: int,
    json_path: Path | None,
) -> None:
    """Print one line; what is wrong goes to the standard error."""
    kind = databases[0] if databases else GROWTH_DATABASE
    hosts = sizes[0] if sizes else MILLION_HOSTS
    with progress_display() as show_progress:
        result = run_million(kind, hosts, JobPlan(jobs, plan.consumers), plan, show_progress)
    results.durable.add_million(result)
    save(results, json_path)
    click.echo(million_line(result))
    if result.findings:
        raise click.ClickException("\n".join(result.findings))


def save(results: Results, path: Path | None) -> None:
    """Save after each part, so that a failure at the end does not lose an hour of measurements."""
    if path is not None:
        results.save(path)


@contextlib.contextmanager
def progress_display() -> Iterator[ShowProgress]:
    """Show progress: one line that changes on a terminal, otherwise one line for each step."""
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status("starting") as status:
            yield status.update
    else:
        yield lambda text: console.print(text, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
