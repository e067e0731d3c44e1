"""roost alone, on clouds of growing size: searches, start, memory, and the writes of others."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.client import Connection, Request
from benchmarks.databases import Database
from benchmarks.load import Dump, create_schema
from benchmarks.measure import Effort, measure, send
from benchmarks.processes import cpu_seconds, largest_memory
from benchmarks.requests import CASES, put_allocations
from benchmarks.results import GrowthResult
from benchmarks.sides import Roost
from benchmarks.worlds import World, build

SEARCHES = [case for case in CASES if case.key in ("limit-10", "limit-1000")]
PAIRS = 100


@contextlib.contextmanager
def served(
    name: str, database: Database, say: Callable[[str], None]
) -> Iterator[tuple[World, Roost, Callable[[], Roost]]]:
    """A world, a service with one worker that has it, and how to start one more."""
    say(f"{name}: making the world")
    world = build(name)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="roost-benchmark-")))
        url = database.create_database()
        stack.callback(database.drop_database, url)
        create_schema(url)
        dump = Dump(world, folder)
        say(f"{name}: loading {len(world.allocations):,} allocations")
        dump.load(url)
        say(f"{name}: starting")

        def start() -> Roost:
            return Roost(url, folder, processes=1)

        # The first start adopts the tables, which happens once in their life.
        with start():
            pass
        yield world, stack.enter_context(start()), start


def grow(
    hosts: int, database: Database, effort: Effort, say: Callable[[str], None]
) -> GrowthResult:
    """One point of the curve."""
    name = f"cloud-{hosts}"
    with served(name, database, say) as (world, roost, start):
        timings = {}
        for case in SEARCHES:
            say(f"{name}: {case.title}")
            timings[case.key] = measure(case, world, roost, database.process_id, effort)
        resident, share = largest_memory(roost.process_id)
        say(f"{name}: writes of another process")
        with start() as writer:
            quiet, caught_up = cost_of_others(world, roost, writer, database)
        return GrowthResult(
            world=name,
            database=database.title,
            hosts=hosts,
            providers=len(world.providers),
            allocations=len(world.allocations),
            start_seconds=roost.start_seconds,
            memory_resident=resident,
            memory_share=share,
            timings=timings,
            quiet_cpu_ms=quiet,
            caught_up_cpu_ms=caught_up,
        )


def cost_of_others(
    world: World, reader: Roost, writer: Roost, database: Database
) -> tuple[float, float]:
    """CPU milliseconds of a search by the reader: nobody wrote; another process just wrote."""
    search = SEARCHES[0].make(world, Connection(0), 1)[0]
    watched = [reader.process_id, *([database.process_id] if database.process_id else [])]
    with reader.connect() as reading, writer.connect() as writing:
        claims = put_allocations(world, writing, 2 * PAIRS)
        half = len(claims) // 2
        # Both have to have done it before.
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


def empty_memory(database: Database) -> int:
    """Bytes of a worker that serves an empty cloud."""
    with tempfile.TemporaryDirectory(prefix="roost-benchmark-") as path:
        url = database.create_database()
        try:
            create_schema(url)
            with Roost(url, Path(path), processes=1) as roost:
                return largest_memory(roost.process_id)[0]
        finally:
            database.drop_database(url)
