"""The results of a run, as values that can be saved to a file and read back.

Field names in the file stay the same, so that results of earlier versions can still be read.
"""

from pathlib import Path

import msgspec

from benchmarks.durable.results import DurableResult
from benchmarks.timings import PlacementRate, Timing


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Whether both services found the same candidates."""

    key: str
    same: bool
    text: str


class DatasetResult(msgspec.Struct, kw_only=True):
    """All results for one dataset on one kind of database."""

    dataset: str = msgspec.field(name="world")
    database: str
    database_version: str = ""
    providers: int
    allocations: int
    # By service, then by the key of the case.
    timings: dict[str, dict[str, Timing]] = {}
    placement_rates: dict[str, PlacementRate] = msgspec.field(default_factory=dict, name="placing")
    comparisons: list[Comparison] = []

    def add(self, more: "DatasetResult") -> None:
        """Add what another run measured on the same dataset."""
        for service, timings in more.timings.items():
            self.timings.setdefault(service, {}).update(timings)
        self.placement_rates.update(more.placement_rates)
        self.comparisons = more.comparisons or self.comparisons


class GrowthResult(msgspec.Struct, frozen=True, kw_only=True):
    """roost alone, on a cloud of one size."""

    dataset: str = msgspec.field(name="world")
    database: str
    hosts: int
    providers: int
    allocations: int
    start_seconds: float
    memory_resident: int
    memory_share: int
    timings: dict[str, Timing]
    # CPU of the reader for one search: without a write, and after a write by another process.
    quiet_cpu_ms: float
    caught_up_cpu_ms: float


class ContentionPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A number of clients that claim concurrently for some time."""

    case: str
    clients: int
    claims: int
    refused: int
    failures: int
    seconds: float

    @property
    def per_second(self) -> float:
        return self.claims / self.seconds


class ContentionResult(msgspec.Struct, kw_only=True):
    """Growing numbers of concurrent clients on one kind of database."""

    database: str
    points: dict[str, list[ContentionPoint]] = {}  # by service


class ExtensionsResult(msgspec.Struct, frozen=True, kw_only=True):
    """roost's extensions of the API, on a cloud of one size."""

    database: str
    hosts: int
    providers: int
    timings: dict[str, Timing]


class BulkRead(msgspec.Struct, frozen=True, kw_only=True):
    """One list, read to its end through pages."""

    pages: int
    entries: int
    answer_bytes: int
    seconds: float
    cpu_service: float  # seconds, like the next
    cpu_database: float


class SingleReads(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of request that the reference needs: how many, and how long each takes."""

    count: int
    sample: int  # how many were measured
    mean_ms: float

    @property
    def seconds(self) -> float:
        return self.count * self.mean_ms / 1000


class BulkReadsResult(msgspec.Struct, frozen=True, kw_only=True):
    """Everything in a cloud: from roost through pages, from the reference one by one."""

    dataset: str
    database: str
    providers: int
    allocations: int
    page_size: int
    reads: dict[str, BulkRead]  # by list
    memory_before: int  # of the worker, in bytes
    memory_peak: int
    # A client that searches and claims, by kind of request.
    neighbour_alone: dict[str, Timing]
    neighbour_beside: dict[str, Timing]
    reference: dict[str, SingleReads] = {}  # by kind of request
    # Whether both services say the same of a sample; empty if they do, or were not compared.
    difference: str = ""

    @property
    def seconds(self) -> float:
        return sum(read.seconds for read in self.reads.values())

    @property
    def pages(self) -> int:
        return sum(read.pages for read in self.reads.values())

    @property
    def reference_requests(self) -> int:
        return sum(single.count for single in self.reference.values())

    @property
    def reference_seconds(self) -> float:
        return sum(single.seconds for single in self.reference.values())


class Frames(msgspec.Struct, frozen=True, kw_only=True):
    """What a browser drew while somebody moved something."""

    seconds: float
    frames: int
    # Between two frames.
    p50_ms: float
    p95_ms: float
    max_ms: float
    # Of the page's thread: how many would be noticed, and the longest.
    long_tasks: int
    longest_task_ms: float


class ConsoleResult(msgspec.Struct, frozen=True, kw_only=True):
    """The console's heat map on a cloud of one size."""

    hosts: int
    browser: str
    load_seconds: float
    heap_bytes: int
    moves: dict[str, Frames]  # by what was done


class Results(msgspec.Struct, kw_only=True):
    machine: str
    versions: dict[str, str]
    datasets: list[DatasetResult] = msgspec.field(default_factory=list, name="worlds")
    growth: list[GrowthResult] = []
    contention: list[ContentionResult] = msgspec.field(default_factory=list, name="crowds")
    extensions: list[ExtensionsResult] = msgspec.field(default_factory=list, name="beyond")
    bulk_reads: list[BulkReadsResult] = []
    console: list[ConsoleResult] = []
    durable: DurableResult = msgspec.field(default_factory=DurableResult)
    # The memory of a worker that serves an empty cloud.
    memory_empty: int = 0

    def add(self, more: "Results") -> None:
        """Add the results of another run. Cases that it measured again replace the ones here."""
        for dataset in more.datasets:
            for known in self.datasets:
                if (known.dataset, known.database) == (dataset.dataset, dataset.database):
                    known.add(dataset)
                    break
            else:
                self.datasets.append(dataset)
        self.growth += more.growth
        measured = {one.database for one in more.contention}
        kept = [one for one in self.contention if one.database not in measured]
        self.contention = [*kept, *more.contention]
        self.extensions += more.extensions
        self.bulk_reads += more.bulk_reads
        self.console += more.console
        self.durable.add(more.durable)
        self.memory_empty = more.memory_empty or self.memory_empty

    def save(self, path: Path) -> None:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self)) + b"\n")


def read_results(path: Path) -> Results:
    return msgspec.json.decode(path.read_bytes(), type=Results)
