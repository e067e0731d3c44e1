"""Measures what clouds of several sizes take, and writes docs/operations/sizing.md.

scripts/sizing [--hosts N]... [--database NAME]... [--json FILE] [--write]
"""

import itertools
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import msgspec
import sqlalchemy as sa

from benchmarks.client import Request
from benchmarks.databases import Database, start_database
from benchmarks.datasets import Dataset, build
from benchmarks.load import Dump, create_schema
from benchmarks.processes import machine, process_tree
from benchmarks.requests import CASES, put_allocations
from benchmarks.services import RoostService
from benchmarks.sizing_page import write_page
from benchmarks.sizing_results import Load, Size, Sizes

DATABASES = ("postgresql", "mariadb")
SIZES = (1_000, 10_000, 100_000)
# How many workers share the load, on the first database with this many hosts.
WORKERS = (1, 2, 4)
WORKERS_HOSTS = 10_000
CLIENTS = 8
SEARCH = next(case for case in CASES if case.key == "limit-10")

# The bytes of the files of a database.
_DISK = {
    "postgresql": "SELECT pg_database_size(current_database())",
    "mysql": "SELECT sum(file_size) FROM information_schema.innodb_sys_tablespaces "
    "WHERE name LIKE concat(database(), '/%')",
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
}


@click.command()
@click.option("--hosts", "sizes", multiple=True, type=int, default=SIZES, show_default=True)
@click.option("--database", "kinds", multiple=True, type=click.Choice([*DATABASES, "sqlite"]))
@click.option("--seconds", default=8.0, show_default=True, help="For each rate of requests.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Save the results.")
@click.option("--write", is_flag=True, help="Write the page.")
def main(
    sizes: Sequence[int],
    kinds: Sequence[str],
    seconds: float,
    json_path: Path | None,
    write: bool,
) -> None:
    """Measure memory, disk, start and rates of requests for clouds of several sizes."""
    found = Sizes(machine=machine(), sizes=[], loads=[])
    for hosts in sizes:
        click.echo(f"{hosts:,} hosts: generating", err=True)
        dataset = build(f"cloud-{hosts}")
        with tempfile.TemporaryDirectory(prefix="roost-sizing-") as name:
            dump = Dump(dataset, Path(name))
            for kind in kinds or DATABASES:
                click.echo(f"{hosts:,} hosts: {kind}", err=True)
                size, loads = measure_size(kind, hosts, dataset, dump, Path(name), seconds)
                found.sizes.append(size)
                found.loads.extend(loads)
    text = msgspec.json.format(msgspec.json.encode(found), indent=2).decode()
    if json_path is not None:
        json_path.write_text(text + "\n")
    if write:
        write_page(found)
    else:
        click.echo(text)


def measure_size(
    kind: str, hosts: int, dataset: Dataset, dump: Dump, folder: Path, seconds: float
) -> tuple[Size, list[Load]]:
    """What a cloud takes on one kind of database, and what it answers."""
    with start_database(kind) as database:
        url = database.create_database()
        create_schema(url)
        began = time.monotonic()
        dump.load(url)
        click.echo(f"  loaded in {time.monotonic() - began:.0f} s", err=True)
        # The first start adopts the tables. That happens only once, so it must not be measured.
        with RoostService(url, folder, processes=1):
            pass
        with RoostService(url, folder, processes=1) as roost:
            started, highest = worker_memory(roost.process_id)
            load = measure_load(roost, dataset, hosts, database, seconds)
            busy, _ = worker_memory(roost.process_id)
            size = Size(
                hosts=hosts,
                providers=len(dataset.providers),
                allocations=len(dataset.allocations),
                database=database.title,
                disk_bytes=disk_bytes(url),
                start_seconds=roost.start_seconds,
                started_bytes=started,
                highest_bytes=highest,
                busy_bytes=busy,
                searches=load.searches,
                claims=load.claims,
            )
        loads = []
        if hosts == WORKERS_HOSTS and kind == DATABASES[0]:
            for count in WORKERS:
                with RoostService(url, folder, processes=count) as roost:
                    loads.append(measure_load(roost, dataset, hosts, database, seconds))
        database.drop_database(url)
    return size, loads


def disk_bytes(url: str) -> int:
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        found = int(connection.scalar(sa.text(_DISK[engine.dialect.name])) or 0)
    engine.dispose()
    return found


def worker_memory(process_id: int) -> tuple[int, int]:
    """Bytes of the largest process, a worker: resident now, and at most until now."""
    pairs = []
    for process in process_tree(process_id):
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        sizes = dict(line.split(":", 1) for line in lines)
        pairs.append(tuple(int(sizes[key].split()[0]) * 1024 for key in ("VmRSS", "VmHWM")))
    resident, highest = max(pairs)
    return resident, highest


def measure_load(
    roost: RoostService, dataset: Dataset, hosts: int, database: Database, seconds: float
) -> Load:
    """How many searches and claims are answered in a second, by how much memory."""
    with roost.connect() as connection:
        searches = SEARCH.make(dataset, connection, 100)
        # More than fit into the time.
        claims = list(put_allocations(dataset, connection, 100_000))
    return Load(
        hosts=hosts,
        database=database.title,
        workers=roost.processes,
        searches=rate(roost, itertools.cycle(searches), seconds),
        claims=rate(roost, iter(claims), seconds),
        shared_bytes=sum(
            process.memory_full_info().pss for process in process_tree(roost.process_id)
        ),
    )


def rate(roost: RoostService, requests: Iterator[Request], seconds: float) -> float:
    """Answers in a second to clients that each send one request after the other."""
    lock = threading.Lock()
    counts = [0] * CLIENTS
    deadline = time.monotonic() + seconds

    def following() -> Request | None:
        with lock:
            return next(requests, None)

    def send(number: int) -> None:
        with roost.connect() as connection:
            while time.monotonic() < deadline and (request := following()) is not None:
                status = connection.send(request).status
                assert status in (200, 204), status
                counts[number] += 1

    began = time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as pool:
        # Raises what any of them raised.
        list(pool.map(send, range(CLIENTS)))
    return sum(counts) / (time.monotonic() - began)


if __name__ == "__main__":
    main()
