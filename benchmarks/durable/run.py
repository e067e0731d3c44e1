"""Runs the durable measurements: each cloud twice, with COMMIT on disk and in memory."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from benchmarks.databases import Database, PostgreSQL, start_database
from benchmarks.durable.cases import CASES, measure_case
from benchmarks.durable.cloud import build_hosts, running_cloud
from benchmarks.durable.jobs import JobPlan
from benchmarks.durable.million import measure_million
from benchmarks.durable.pgbench import PgBench
from benchmarks.durable.results import (
    ClaimRate,
    CloudRates,
    MillionResult,
    PlacingRates,
)
from benchmarks.measure import Budget, ShowProgress
from benchmarks.requests import PLACEMENT_KEY
from benchmarks.run import run_dataset

# The workers and threads of roost, and the clients of a million placements.
WORKERS, THREADS, CLIENTS = 2, 4, 4
# The hosts of C1M are full when that many consumers are placed; in shorter forms they are not.
MILLION = 1_000_000
# Elsewhere no host gets full, so the only thing that slows clients down is other clients.
CONSUMERS_PER_HOST = 100_000


class CloudPlan(NamedTuple):
    database: str
    hosts: int
    keys: Sequence[str]  # of the cases
    jobs: int  # of a million placements, in a shorter form


class DurablePlan(NamedTuple):
    clouds: Sequence[CloudPlan]
    consumers: int  # of each job
    seconds: float  # of each case
    transaction_seconds: int  # of each measurement of P
    placing: Sequence[str] = ()  # kinds of database
    in_memory: bool = True  # also without waiting for the disk
    workers: int = WORKERS
    threads: int = THREADS
    clients: int = CLIENTS  # that place jobs


CLAIMS = ("put-1", "put-10", "put-50", "same-50")
QUICK = DurablePlan(
    clouds=[CloudPlan("postgresql", 5_000, ("put-10", "place-1"), jobs=5)],
    consumers=1_000,
    seconds=1.0,
    transaction_seconds=1,
    in_memory=False,
)
FULL = DurablePlan(
    clouds=[
        CloudPlan("postgresql", 5_000, (*CLAIMS, "place-1", "place-10"), jobs=200),
        CloudPlan("mariadb", 5_000, (*CLAIMS, "place-1", "place-10"), jobs=200),
        CloudPlan("postgresql", 100_000, tuple(CASES), jobs=200),
    ],
    consumers=1_000,
    seconds=5.0,
    transaction_seconds=3,
    placing=["mariadb", "postgresql"],
)


def choose_clouds(
    plan: DurablePlan, databases: Sequence[str], sizes: Sequence[int], jobs: int | None
) -> DurablePlan:
    """The plan for these kinds of database and numbers of hosts alone, if any are given."""
    planned = {(cloud.database, cloud.hosts): cloud for cloud in plan.clouds}
    if databases or sizes:
        kinds = databases or ["postgresql"]
        hosts = sizes or sorted({cloud.hosts for cloud in plan.clouds})
        clouds = [
            planned.get((kind, count), plan.clouds[0]._replace(database=kind, hosts=count))
            for kind in kinds
            for count in hosts
        ]
        plan = plan._replace(clouds=clouds, placing=())
    if jobs is not None:
        plan = plan._replace(clouds=[cloud._replace(jobs=jobs) for cloud in plan.clouds])
    return plan


# Measures P once more.
MeasureTransactions = Callable[[], None]


@contextlib.contextmanager
def durable_database(
    kind: str, seconds: int
) -> Iterator[tuple[Database, list[float], MeasureTransactions]]:
    """A server that waits for the disk, samples of P, and a function that adds one more.

    P is always that of PostgreSQL. Beside another server, one runs for P alone.
    """
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(start_database(kind, durable=True))
        if isinstance(database, PostgreSQL):
            server: Database = database
        else:
            server = stack.enter_context(start_database("postgresql", durable=True))
        assert isinstance(server, PostgreSQL)
        pgbench = PgBench(server)
        yield database, pgbench.samples, lambda: pgbench.measure(seconds)


def run_million(
    kind: str, hosts: int, jobs: JobPlan, plan: DurablePlan, show_progress: ShowProgress
) -> MillionResult:
    """C1M on a server that waits for the disk, with P before and after."""
    with durable_database(kind, plan.transaction_seconds) as (database, samples, measure_p):
        show_progress("small transactions a second")
        measure_p()
        result = place_million(database, hosts, jobs, plan, show_progress)
        show_progress("small transactions a second")
        measure_p()
    return msgspec.structs.replace(result, transactions=samples)


def place_million(
    database: Database, hosts: int, jobs: JobPlan, plan: DurablePlan, show_progress: ShowProgress
) -> MillionResult:
    dataset = build_hosts(hosts, max(MILLION, jobs.jobs * jobs.consumers))
    with running_cloud(
        dataset,
        database,
        workers=plan.workers,
        threads=plan.threads,
        show_progress=show_progress,
    ) as cloud:
        return measure_million(cloud, jobs, plan.clients, show_progress)


def measure_cloud(
    cloud_plan: CloudPlan, plan: DurablePlan, show_progress: ShowProgress
) -> CloudRates:
    """All cases on one cloud: with COMMIT on disk and, if the plan says so, in memory."""
    kind = cloud_plan.database
    with durable_database(kind, plan.transaction_seconds) as (database, samples, measure_p):
        result = CloudRates(
            database=database.title,
            hosts=cloud_plan.hosts,
            workers=plan.workers,
            threads=plan.threads,
        )
        measure_p()
        if cloud_plan.jobs:
            jobs = JobPlan(cloud_plan.jobs, plan.consumers)
            million = place_million(database, cloud_plan.hosts, jobs, plan, show_progress)
            measure_p()
            # P beside these placements, not beside the claims further down.
            result.million_on_disk = msgspec.structs.replace(million, transactions=list(samples))
        result.on_disk = measure_cases(cloud_plan, plan, database, show_progress)
        measure_p()
        result.transactions = samples
    if not plan.in_memory:
        return result
    with start_database(kind) as database:
        if cloud_plan.jobs:
            jobs = JobPlan(cloud_plan.jobs, plan.consumers)
            result.million_in_memory = place_million(
                database, cloud_plan.hosts, jobs, plan, show_progress
            )
        result.in_memory = measure_cases(cloud_plan, plan, database, show_progress)
    return result


def measure_cases(
    cloud_plan: CloudPlan, plan: DurablePlan, database: Database, show_progress: ShowProgress
) -> dict[str, ClaimRate]:
    rates: dict[str, ClaimRate] = {}
    if not cloud_plan.keys:
        return rates
    dataset = build_hosts(cloud_plan.hosts, cloud_plan.hosts * CONSUMERS_PER_HOST)
    with running_cloud(
        dataset,
        database,
        workers=plan.workers,
        threads=plan.threads,
        show_progress=show_progress,
    ) as cloud:
        for key in cloud_plan.keys:
            waits = "on disk" if database.durable else "in memory"
            show_progress(f"{cloud.title}, COMMIT {waits}: {CASES[key].title}")
            rates[key] = measure_case(CASES[key], cloud, plan.seconds)
    return rates


def measure_placing(
    kind: str,
    dataset: str,
    budgets: dict[str, Budget],
    seconds: dict[str, float],
    show_progress: ShowProgress,
) -> PlacingRates:
    """Ten clients that search, choose and claim: roost and the reference."""
    rates = {}
    title = ""
    for durable in (True, False):
        with start_database(kind, durable=durable) as database:
            found = run_dataset(
                dataset, database, budgets, seconds, [PLACEMENT_KEY], False, show_progress
            )
            rates[durable], title = found.placement_rates, database.title
    return PlacingRates(
        database=title, dataset=dataset, on_disk=rates[True], in_memory=rates[False]
    )
