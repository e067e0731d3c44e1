"""Measures how long it takes to read a whole cloud: every provider and every consumer.

roost answers through pages. What the reference needs for the same is in `single_reads.py`.
"""

import contextlib
import itertools
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection as Pipe
from pathlib import Path

import msgspec

from benchmarks.client import Connection, Request
from benchmarks.databases import Database
from benchmarks.datasets import Dataset, build
from benchmarks.load import Dump, create_schema
from benchmarks.measure import ShowProgress, send
from benchmarks.processes import cpu_seconds, resident_memory
from benchmarks.requests import MACHINE, put_allocations
from benchmarks.results import BulkRead, BulkReadsResult
from benchmarks.services import ReferenceService, RoostService
from benchmarks.single_reads import PARTS, compare_sample, measure_single_reads
from benchmarks.timings import Timing, percentiles

PAGE_SIZE = 50_000
PROVIDERS = f"/resource_providers?include={','.join(PARTS)}"
LISTS = {
    "providers": ("resource_providers", PROVIDERS),
    "consumers": ("consumers", "/allocations?"),
}
# How often the whole is read. The fastest one counts: other load on the machine only adds to it.
ROUNDS = 3

MEMORY_LOOK_SECONDS = 0.02

# Of the neighbour: between two requests, and how long it is alone.
PACE_SECONDS = 0.02
ALONE_SECONDS = 4.0
CLAIMS_MAX = 600
SEARCH = Request("GET", f"/allocation_candidates?resources={MACHINE}&limit=10")


def measure_bulk_reads(
    hosts: int,
    database: Database,
    services: Sequence[str],
    sample_count: int,
    show_progress: ShowProgress,
) -> BulkReadsResult:
    """`services` names those to run; without the reference there is nothing to compare with.

    Of each kind of request that the reference needs, `sample_count` are sent.
    """
    name = f"cloud-{hosts}"
    show_progress(f"{name}: generating the dataset")
    dataset = build(name)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="roost-benchmark-")))
        dump = Dump(dataset, folder)

        def load() -> str:
            url = database.create_database()
            stack.callback(database.drop_database, url)
            create_schema(url)
            show_progress(f"{name}: loading {len(dataset.allocations):,} allocations")
            dump.load(url)
            return url

        url = load()
        # The first start adopts the tables. That happens only once, so it must not be measured.
        with RoostService(url, folder, processes=1):
            pass
        with RoostService(url, folder, processes=1) as roost:
            reference, difference = {}, ""
            if "reference" in services:
                with ReferenceService(load(), folder) as service:
                    show_progress(f"{name}: single reads of the reference")
                    reference = measure_single_reads(dataset, service, sample_count)
                    difference = compare_sample(dataset, service, roost, sample_count)
            show_progress(f"{name}: everything through pages")
            with watched_memory(roost) as memory:
                reads = measure_walks(roost, database)
            show_progress(f"{name}: everything through pages, and a neighbour")
            alone, beside = measure_neighbour(dataset, roost)
        return BulkReadsResult(
            dataset=name,
            database=database.title,
            providers=len(dataset.providers),
            allocations=len(dataset.allocations),
            page_size=PAGE_SIZE,
            reads=reads,
            memory_before=memory[0],
            memory_peak=max(memory),
            neighbour_alone=alone,
            neighbour_beside=beside,
            reference=reference,
            difference=difference,
        )


# ---------------------------------------------------------------------------------------------
# Through pages


def walk(connection: Connection, target: str) -> Iterator[bytes]:
    """Every page of a list."""
    after = ""
    while True:
        answer = send(connection, Request("GET", f"{target}&limit={PAGE_SIZE}{after}"))
        yield answer.body
        # Where `next` stands; to decode everything would take longer than the service does.
        end = answer.body[-1024:]
        _, found, token = end.rpartition(b'"next":')
        if not found:
            return
        after = "&after=" + msgspec.json.decode(token[:-1], type=str)


def measure_walks(roost: RoostService, database: Database) -> dict[str, BulkRead]:
    """Both lists one after the other, several times; of the fastest time."""
    rounds = [{name: measure_walk(roost, database, name) for name in LISTS} for _ in range(ROUNDS)]
    return min(rounds, key=lambda reads: sum(read.seconds for read in reads.values()))


def measure_walk(roost: RoostService, database: Database, name: str) -> BulkRead:
    key, target = LISTS[name]
    databases = [database.process_id] if database.process_id else []
    with roost.connect() as connection:
        service, stored = cpu_seconds([roost.process_id]), cpu_seconds(databases)
        began = time.monotonic()
        pages = list(walk(connection, target))
        seconds = time.monotonic() - began
        service, stored = (
            cpu_seconds([roost.process_id]) - service,
            cpu_seconds(databases) - stored,
        )
    return BulkRead(
        pages=len(pages),
        entries=sum(len(msgspec.json.decode(page)[key]) for page in pages),
        answer_bytes=sum(map(len, pages)),
        seconds=seconds,
        cpu_service=service,
        cpu_database=stored,
    )


@contextlib.contextmanager
def watched_memory(roost: RoostService) -> Iterator[list[int]]:
    """Looks at the memory of the worker again and again, in bytes; the first is from before."""
    memory = [resident_memory(roost.process_id)]
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(MEMORY_LOOK_SECONDS):
            memory.append(resident_memory(roost.process_id))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield memory
    finally:
        stop.set()
        thread.join()


# ---------------------------------------------------------------------------------------------
# The neighbour


def measure_neighbour(
    dataset: Dataset, roost: RoostService
) -> tuple[dict[str, Timing], dict[str, Timing]]:
    """What a client of small searches and claims sees: alone, and while everything is read."""
    with roost.connect() as connection:
        claims = put_allocations(dataset, connection, CLAIMS_MAX)
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    neighbour = context.Process(target=be_neighbour, args=(roost.port, claims, there), daemon=True)
    neighbour.start()
    here.recv()
    time.sleep(ALONE_SECONDS)
    began = time.monotonic()
    with roost.connect() as connection:
        for _, target in LISTS.values():
            for _ in walk(connection, target):
                pass
    ended = time.monotonic()
    here.send("stop")
    samples: list[tuple[str, float, float]] = here.recv()
    neighbour.join()
    return (
        timings((kind, until - since) for kind, since, until in samples if until < began),
        timings((kind, until - since) for kind, since, until in samples if began < until < ended),
    )


def be_neighbour(port: int, claims: Sequence[Request], pipe: Pipe) -> None:
    """Runs in a process of its own until it is told to stop, and sends what it saw."""
    requests = itertools.cycle((("search, limit=10", SEARCH), ("claim", None)))
    waiting = iter(claims)
    samples = []
    with Connection(port) as connection:
        send(connection, SEARCH)
        pipe.send("ready")
        for kind, request in requests:
            if pipe.poll(PACE_SECONDS):
                break
            # After the last claim only searches are left.
            request = request or next(waiting, None)
            if request is not None:
                began = time.monotonic()
                send(connection, request)
                samples.append((kind, began, time.monotonic()))
    pipe.send(samples)


def timings(samples: Iterator[tuple[str, float]]) -> dict[str, Timing]:
    by_kind: dict[str, list[float]] = {}
    for kind, seconds in samples:
        by_kind.setdefault(kind, []).append(seconds * 1000)
    found = {}
    for kind, milliseconds in by_kind.items():
        p50, p95 = percentiles(milliseconds)
        found[kind] = Timing(count=len(milliseconds), p50_ms=p50, p95_ms=p95)
    return found
