"""Measures roost on clouds of growing size: searches, startup, memory, and catching up."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.client import Connection, Request
from benchmarks.databases import Database
from benchmarks.datasets import Dataset, build
from benchmarks.load import Dump, create_schema
from benchmarks.measure import Budget, ShowProgress, measure, send
from benchmarks.processes import cpu_seconds, largest_memory
from benchmarks.requests import CASES, put_allocations
from benchmarks.results import GrowthResult
from benchmarks.services import RoostService

SEARCHES = [case for case in CASES if case.key in ("limit-10", "limit-1000")]
PAIRS = 100


@contextlib.contextmanager
def running_service(
    name: str, database: Database, show_progress: ShowProgress
) -> Iterator[tuple[Dataset, RoostService, Callable[[], RoostService]]]:
    """A dataset, a service with one worker on it, and a function that starts another one."""
    show_progress(f"{name}: generating the dataset")
    dataset = build(name)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="roost-benchmark-")))
        url = database.create_database()
        stack.callback(database.drop_database, url)
        create_schema(url)
        dump = Dump(dataset, folder)
        show_progress(f"{name}: loading {len(dataset.allocations):,} allocations")
        dump.load(url)
        show_progress(f"{name}: starting")

        def start() -> RoostService:
            return RoostService(url, folder, processes=1)

        # The first start adopts the tables. That happens only once, so it must not be measured.
        with start():
            pass
        yield dataset, stack.enter_context(start()), start


def measure_growth(
    hosts: int, database: Database, budget: Budget, show_progress: ShowProgress
) -> GrowthResult:
    """Measure roost on a cloud of one size."""
    name = f"cloud-{hosts}"
    with running_service(name, database, show_progress) as (dataset, roost, start):
        timings = {}
        for case in SEARCHES:
            show_progress(f"{name}: {case.title}")
            timings[case.key] = measure(case, dataset, roost, database.process_id, budget)
        resident, share = largest_memory(roost.process_id)
        show_progress(f"{name}: writes by another process")
        with start() as writer:
            quiet, caught_up = catch_up_cost(dataset, roost, writer, database)
        return GrowthResult(
            dataset=name,
            database=database.title,
            hosts=hosts,
            providers=len(dataset.providers),
            allocations=len(dataset.allocations),
            start_seconds=roost.start_seconds,
            memory_resident=resident,
            memory_share=share,
            timings=timings,
            quiet_cpu_ms=quiet,
            caught_up_cpu_ms=caught_up,
        )


def catch_up_cost(
    dataset: Dataset, reader: RoostService, writer: RoostService, database: Database
) -> tuple[float, float]:
    """CPU milliseconds of a search: without a write, and after a write by another process."""
    search = SEARCHES[0].make(dataset, Connection(0), 1)[0]
    watched = [reader.process_id, *([database.process_id] if database.process_id else [])]
    with reader.connect() as reading, writer.connect() as writing:
        claims = put_allocations(dataset, writing, 2 * PAIRS)
        half = len(claims) // 2
        # Warm up both processes.
        cpu_of_searches(reading, search, watched, claims[:half], writing)
        quiet = cpu_of_searches(reading, search, watched, [None] * half, writing)
        caught_up = cpu_of_searches(reading, search, watched, claims[half:], writing)
    return quiet, caught_up


def cpu_of_searches(
    reading: Connection,
    search: Request,
    watched: Sequence[int],
    writes: Sequence[Request | None],
    writing: Connection,
) -> float:
    used = 0.0
    for write in writes:
        if write is not None:
            send(writing, write)
        before = cpu_seconds(watched)
        send(reading, search)
        used += cpu_seconds(watched) - before
    return used * 1000 / len(writes)


def measure_empty_memory(database: Database) -> int:
    """The memory of a worker that serves an empty cloud, in bytes."""
    with tempfile.TemporaryDirectory(prefix="roost-benchmark-") as path:
        url = database.create_database()
        try:
            create_schema(url)
            with RoostService(url, Path(path), processes=1) as roost:
                return largest_memory(roost.process_id)[0]
        finally:
            database.drop_database(url)
