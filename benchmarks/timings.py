"""What one measurement says: times, processor time and rates."""

import statistics
from collections.abc import Sequence

import msgspec


class Timing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One case on one service: either the numbers, or the reason why there are none."""

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


class PlacementRate(msgspec.Struct, frozen=True, kw_only=True):
    """How many placements ten clients achieve that search, choose and claim."""

    placements: int
    conflicts: int
    failures: int
    seconds: float
    cpu_service_ms: float
    cpu_database_ms: float
    # One of the answers that were not successful, as a hint at the reason.
    example: str = ""

    @property
    def per_second(self) -> float:
        return self.placements / self.seconds


def percentiles(milliseconds: Sequence[float]) -> tuple[float, float]:
    """The median and the 95th percentile."""
    ordered = sorted(milliseconds)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]


def p50_and_p99(values: Sequence[float]) -> tuple[float, float]:
    """The median and the 99th percentile; of nothing, 0."""
    if not values:
        return 0.0, 0.0
    ordered = sorted(values)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]
