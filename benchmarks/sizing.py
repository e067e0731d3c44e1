"""Measures what clouds of several sizes take, and writes docs/operations/sizing.md.

scripts/sizing [--hosts N]... [--database NAME]... [--json FILE] [--with FILE]... [--write]
"""

import itertools
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import click
import msgspec
import sqlalchemy as sa

from benchmarks.client import Request
from benchmarks.databases import Database, start_database
from benchmarks.datasets import Dataset, build
from benchmarks.load import Dump, create_schema
from benchmarks.processes import cpu_seconds, machine, process_tree
from benchmarks.requests import CASES, put_allocations
from benchmarks.services import RoostService
from benchmarks.sizing_page import write_page
from benchmarks.sizing_results import Cost, Load, Size, Sizes

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

_CONNECTIONS = {
    "postgresql": "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()",
    "mysql": "SELECT count(*) FROM information_schema.processlist WHERE db = database()",
}


@click.command()
@click.option("--hosts", "sizes", multiple=True, type=int, default=SIZES, show_default=True)
@click.option("--database", "kinds", multiple=True, type=click.Choice([*DATABASES, "sqlite"]))
@click.option("--seconds", default=8.0, show_default=True, help="For each kind of request.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Save the results.")
@click.option(
    "--with",
    "earlier",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Add results that an earlier run saved.",
)
@click.option("--write", is_flag=True, help="Write the page.")
def main(
    sizes: Sequence[int],
    kinds: Sequence[str],
    seconds: float,
    json_path: Path | None,
    earlier: Sequence[Path],
    write: bool,
) -> None:
    """Measure memory, disk, start and the processor time of requests, for several sizes."""
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
    for path in earlier:
        added = msgspec.json.decode(path.read_bytes(), type=Sizes)
        found.sizes += added.sizes
        found.loads += added.loads
    found.sizes.sort(key=lambda size: (size.hosts, size.database))
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
            # The time on a clock depends on what else the machine does.
            start_seconds = cpu_seconds([roost.process_id])
            started, highest = worker_memory(roost.process_id)
            load = measure_load(roost, dataset, hosts, database, seconds)
            busy, _ = worker_memory(roost.process_id)
            size = Size(
                hosts=hosts,
                providers=len(dataset.providers),
                allocations=len(dataset.allocations),
                database=database.title,
                disk_bytes=disk_bytes(url),
                start_seconds=start_seconds,
                started_bytes=started,
                highest_bytes=highest,
                busy_bytes=busy,
                search=load.search,
                claim=load.claim,
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
    """What searches and claims take while several clients send them."""
    with roost.connect() as connection:
        searches = SEARCH.make(dataset, connection, 100)
        # More than fit into the time.
        claims = list(put_allocations(dataset, connection, 100_000))
    watched = Watched(roost.process_id, database.process_id)
    search = cost(roost, itertools.cycle(searches), seconds, watched)
    claim = cost(roost, iter(claims), seconds, watched)
    return Load(
        hosts=hosts,
        database=database.title,
        workers=roost.processes,
        search=search,
        claim=claim,
        connections=count_connections(roost.database_url),
        shared_bytes=sum(
            process.memory_full_info().pss for process in process_tree(roost.process_id)
        ),
    )


class Watched(NamedTuple):
    """The processes whose time is measured."""

    roost: int
    database: int | None

    def seconds(self) -> tuple[float, float]:
        """Processor time until now, of roost and of the database."""
        database = [] if self.database is None else [self.database]
        return cpu_seconds([self.roost]), cpu_seconds(database)


def cost(
    roost: RoostService, requests: Iterator[Request], seconds: float, watched: Watched
) -> Cost:
    """The processor time of a request, while each client sends one after the other."""
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

    before = watched.seconds()
    with ThreadPoolExecutor(CLIENTS) as pool:
        # Raises what any of them raised.
        list(pool.map(send, range(CLIENTS)))
    used = [after - earlier for earlier, after in zip(before, watched.seconds(), strict=True)]
    roost_ms, database_ms = (1000 * each / sum(counts) for each in used)
    return Cost(roost_ms=roost_ms, database_ms=database_ms)


def count_connections(url: str) -> int:
    """How many connections to the database there are, without the one that counts."""
    engine = sa.create_engine(url)
    statement = _CONNECTIONS.get(engine.dialect.name)
    found = 0
    if statement is not None:
        with engine.connect() as connection:
            found = int(connection.scalar(sa.text(statement)) or 0) - 1
    engine.dispose()
    return found


if __name__ == "__main__":
    main()
