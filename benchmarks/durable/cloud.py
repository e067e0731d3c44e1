"""The cloud on which claims are measured, and the service on it."""

import contextlib
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.client import Request
from benchmarks.databases import Database
from benchmarks.datasets import Dataset
from benchmarks.durable.work import MEMORY_MB, RESOURCES, VCPU
from benchmarks.load import Dump, create_schema
from benchmarks.measure import ShowProgress
from benchmarks.services import RoostService

RATIO = 4.0
RESERVED_MB = 512
# Of the room for consumers: how much more than needed.
SPARE = 1.04
SEARCH = Request("GET", f"/allocation_candidates?resources={RESOURCES}&limit=10")


class Cloud(NamedTuple):
    dataset: Dataset
    database: Database
    service: RoostService
    folder: Path  # for files, until the service stops

    @property
    def title(self) -> str:
        return f"{self.dataset.name} on {self.database.title}"

    @property
    def providers(self) -> list[str]:
        return [provider_uuid for _, provider_uuid, *_ in self.dataset.providers]


def build_hosts(hosts: int, consumers: int) -> Dataset:
    """Empty hosts that together have room for that many consumers, and little more."""
    dataset = Dataset(f"empty-{hosts}")
    per_host = math.ceil(consumers * SPARE / hosts)
    for number in range(hosts):
        host = dataset.provider(f"host{number:06}")
        processors = math.ceil(per_host * VCPU / RATIO)
        dataset.inventory(host, "VCPU", processors, ratio=RATIO)
        memory = per_host * MEMORY_MB + RESERVED_MB
        dataset.inventory(host, "MEMORY_MB", memory, reserved=RESERVED_MB)
        dataset.inventory(host, "DISK_GB", 2000, reserved=100)
    return dataset


@contextlib.contextmanager
def running_cloud(
    dataset: Dataset,
    database: Database,
    *,
    workers: int,
    threads: int,
    show_progress: ShowProgress,
) -> Iterator[Cloud]:
    """roost, in the form in which it usually runs, on a fresh database with these rows."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="roost-benchmark-")))
        url = database.create_database()
        stack.callback(database.drop_database, url)
        show_progress(f"{dataset.name} on {database.title}: loading")
        create_schema(url)
        Dump(dataset, folder).load(url)
        show_progress(f"{dataset.name} on {database.title}: starting roost")
        service = RoostService(url, folder, processes=workers, threads=threads)
        stack.enter_context(service)
        # What a process does at its first request is not what is measured.
        service.warm_up(SEARCH)
        yield Cloud(dataset, database, service, folder)
