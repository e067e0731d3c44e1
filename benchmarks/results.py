"""What was measured, as values that survive a file."""

import statistics
from collections.abc import Sequence
from pathlib import Path

import msgspec


class Timing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One case on one side; either the numbers or why there are none."""

    count: int = 0
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    cpu_service_ms: float = 0.0
    cpu_database_ms: float = 0.0
    answer_bytes: int = 0
    failure: str = ""

    @property
    def cpu_ms(self) -> float:
        return self.cpu_service_ms + self.cpu_database_ms


class Placing(msgspec.Struct, frozen=True, kw_only=True):
    """Ten clients that search, choose and claim."""

    placements: int
    conflicts: int
    failures: int
    seconds: float
    cpu_service_ms: float
    cpu_database_ms: float
    # One answer of those that were no success, for whoever wonders why.
    example: str = ""

    @property
    def per_second(self) -> float:
        return self.placements / self.seconds


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Whether both found the same."""

    key: str
    same: bool
    text: str


class WorldResult(msgspec.Struct, kw_only=True):
    """Everything about one world on one kind of database."""

    world: str
    database: str
    database_version: str = ""
    providers: int
    allocations: int
    # By side, then by the key of the case.
    timings: dict[str, dict[str, Timing]] = {}
    placing: dict[str, Placing] = {}
    comparisons: list[Comparison] = []

    def add(self, more: "WorldResult") -> None:
        """Take over what another run measured on the same world."""
        for side, timings in more.timings.items():
            self.timings.setdefault(side, {}).update(timings)
        self.placing.update(more.placing)
        self.comparisons = more.comparisons or self.comparisons


class GrowthResult(msgspec.Struct, frozen=True, kw_only=True):
    """roost alone, on a cloud of some size."""

    world: str
    database: str
    hosts: int
    providers: int
    allocations: int
    start_seconds: float
    memory_resident: int
    memory_share: int
    timings: dict[str, Timing]
    # CPU of the reader for one search: nobody wrote; another process wrote just before.
    quiet_cpu_ms: float
    caught_up_cpu_ms: float


class CrowdPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Some clients at once that claim, for some time."""

    case: str
    clients: int
    claims: int
    refused: int
    failures: int
    seconds: float

    @property
    def per_second(self) -> float:
        return self.claims / self.seconds


class CrowdResult(msgspec.Struct, kw_only=True):
    """More and more clients on one kind of database."""

    database: str
    points: dict[str, list[CrowdPoint]] = {}  # by side


class BeyondResult(msgspec.Struct, frozen=True, kw_only=True):
    """What roost does beyond the API, on a cloud of some size."""

    database: str
    hosts: int
    providers: int
    timings: dict[str, Timing]


class Results(msgspec.Struct, kw_only=True):
    machine: str
    versions: dict[str, str]
    worlds: list[WorldResult] = []
    growth: list[GrowthResult] = []
    crowds: list[CrowdResult] = []
    beyond: list[BeyondResult] = []
    # The memory of a worker that serves an empty cloud.
    memory_empty: int = 0

    def add(self, more: "Results") -> None:
        """Add the results of another run; what it measured again replaces what is here."""
        for world in more.worlds:
            for known in self.worlds:
                if (known.world, known.database) == (world.world, world.database):
                    known.add(world)
                    break
            else:
                self.worlds.append(world)
        self.growth += more.growth
        measured = {crowd.database for crowd in more.crowds}
        self.crowds = [*(one for one in self.crowds if one.database not in measured), *more.crowds]
        self.beyond += more.beyond
        self.memory_empty = more.memory_empty or self.memory_empty

    def save(self, path: Path) -> None:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self)) + b"\n")


def read_results(path: Path) -> Results:
    return msgspec.json.decode(path.read_bytes(), type=Results)


def percentiles(milliseconds: Sequence[float]) -> tuple[float, float]:
    """The median and the 95th percentile."""
    ordered = sorted(milliseconds)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
