"""C1M: a million consumers, placed through POST /placements in jobs of a thousand.

Nomad's challenge of that name placed a million containers on 5,000 hosts. Afterwards every answer
is compared with the tables, and the tables with themselves.
"""

import multiprocessing
import sys
import time
from typing import NamedTuple

import numpy as np
import sqlalchemy

from benchmarks.durable.checks import compare_usages, find_over_allocated, run_db_check
from benchmarks.durable.clients import (
    PROCESSES,
    READY_SECONDS_MAX,
    START_DELAY_SECONDS,
    receive,
)
from benchmarks.durable.cloud import Cloud
from benchmarks.durable.holdings import HOLDINGS, compare_holdings, read_holdings
from benchmarks.durable.jobs import JobPlan, JobsReport, run_jobs
from benchmarks.durable.results import MillionResult
from benchmarks.measure import ShowProgress
from benchmarks.processes import cpu_seconds
from benchmarks.timings import p50_and_p99

LOOK_SECONDS = 0.2
# On a terminal a line replaces the one before. Elsewhere there should not be many.
PROGRESS_SECONDS = 0.5 if sys.stderr.isatty() else 10.0


class Placed(NamedTuple):
    reports: list[JobsReport]
    said: "np.ndarray[tuple[int], np.dtype[np.void]]"
    seconds: float
    cpu_service: float
    cpu_database: float


def measure_million(
    cloud: Cloud, plan: JobPlan, clients: int, show_progress: ShowProgress
) -> MillionResult:
    """Place all jobs, and check everything afterwards."""
    placed = place_jobs(cloud, plan, clients, show_progress)
    failed = sum(report.failed for report in placed.reports)
    findings = [
        f"{report.failed} jobs were not placed, such as: {report.example}"
        for report in placed.reports
        if report.failed
    ]
    findings += check_everything(cloud, placed.said, show_progress)
    count = (plan.jobs - failed) * plan.consumers
    milliseconds = [1000 * seconds for report in placed.reports for seconds in report.seconds]
    p50, p99 = p50_and_p99(milliseconds)
    cpu_clients = sum(report.cpu_seconds for report in placed.reports)
    cpu = (placed.cpu_service, placed.cpu_database, cpu_clients)
    service, database, own = (1000 * seconds / max(1, count) for seconds in cpu)
    return MillionResult(
        database=cloud.database.title,
        durable=cloud.database.durable,
        hosts=len(cloud.dataset.providers),
        jobs=plan.jobs,
        consumers=plan.consumers,
        workers=cloud.service.processes,
        threads=cloud.service.threads,
        clients=clients,
        placed=count,
        seconds=placed.seconds,
        p50_ms=p50,
        p99_ms=p99,
        repeated=sum(report.repeated for report in placed.reports),
        failed=failed,
        cpu_service_ms=service,
        cpu_database_ms=database,
        cpu_clients_ms=own,
        findings=findings,
    )


def place_jobs(cloud: Cloud, plan: JobPlan, clients: int, show_progress: ShowProgress) -> Placed:
    context = multiprocessing.get_context("spawn")
    taken, placed = context.Value("q", 0), context.Value("q", 0)
    pipes, processes, paths = [], [], []
    for first in range(min(PROCESSES, clients)):
        here, there = context.Pipe()
        path = cloud.folder / f"answers-{first}.npy"
        numbers = range(first, clients, PROCESSES)
        process = context.Process(
            target=run_jobs,
            args=(cloud.service.port, plan, numbers, taken, placed, path, there),
            daemon=True,
        )
        process.start()
        # So that the end of the process is the end of the pipe.
        there.close()
        pipes.append(here)
        processes.append(process)
        paths.append(path)
    for pipe in pipes:
        receive(pipe, READY_SECONDS_MAX)
    database_id = cloud.database.process_id
    groups = ([cloud.service.process_id], [database_id] if database_id else [])
    before = [cpu_seconds(ids) for ids in groups]
    began = time.monotonic() + START_DELAY_SECONDS
    for pipe in pipes:
        pipe.send(began)
    shown = began
    while placed.value < plan.jobs and not any(pipe.poll() for pipe in pipes):
        time.sleep(LOOK_SECONDS)
        if time.monotonic() - shown < PROGRESS_SECONDS:
            continue
        shown = time.monotonic()
        count, seconds = placed.value * plan.consumers, max(0.1, time.monotonic() - began)
        show_progress(
            f"{cloud.title}: {count:,} of {plan.jobs * plan.consumers:,} placed, "
            f"{count / seconds:,.0f} a second"
        )
    service, database = (
        cpu_seconds(ids) - spent for ids, spent in zip(groups, before, strict=True)
    )
    reports: list[JobsReport] = [pipe.recv() for pipe in pipes]
    for process in processes:
        process.join()
    said = np.concatenate([np.empty(0, HOLDINGS), *(np.load(path) for path in paths)])
    seconds = max(report.ended for report in reports) - began
    return Placed(reports, said, seconds, service, database)


def check_everything(
    cloud: Cloud,
    said: "np.ndarray[tuple[int], np.dtype[np.void]]",
    show_progress: ShowProgress,
) -> list[str]:
    """What is wrong, in sentences."""
    engine = sqlalchemy.create_engine(cloud.service.database_url)
    try:
        show_progress(f"{cloud.title}: comparing {len(said):,} amounts with the tables")
        findings = compare_holdings(said, read_holdings(engine))
        findings += find_over_allocated(engine)
        show_progress(f"{cloud.title}: comparing usages with the tables")
        findings += compare_usages(cloud.service, engine)
    finally:
        engine.dispose()
    show_progress(f"{cloud.title}: roost db check")
    return findings + run_db_check(cloud.service.database_url, cloud.folder)
