"""The performance targets of roost, and whether it meets them."""

from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.results import DatasetResult, GrowthResult, Results

SERVICE_NAMES = ("reference", "roost")
LIMITED = ("limit-10", "limit-1000", "numa-port", "isolate", "three-vf")
UNLIMITED = ("no-limit", "rare")
READS = ("get-provider", "get-inventories", "get-traits", "get-usages")
WRITES = ("put-inventories", "put-traits", "put-aggregates")

# Why a target is missed, by the title of the target. Add the explanation here once it is known.
_ON_POSTGRESQL = (
    "the target was set from the reference on MariaDB. On PostgreSQL the reference, whose driver "
    "is written in C, takes a third less time. roost spends a third of its time sending the answer"
)
_AGGREGATES = (
    "the reference writes only the aggregates that differ, and announces nothing. roost takes "
    "five statements (guard, delete, insert, change record, writer's row), and a third of its time "
    "is in the database"
)
_EVERYTHING = (
    "roost and the database take 3 s of processor time each for the consumers. The next chunk is "
    "read while one is written, but the two overlap only in part"
)
# When the target was set, a search took 1.5 ms and a placement 16 ms.
_ONE_PLACEMENT = (
    "the target was set when such a search took 1.5 ms, so 2x was 3 ms. A placement takes a "
    "quarter of that now. The search takes a fifth of what it did, which is as long as the claim "
    "takes in the database alone"
)
REASONS: dict[str, str] = {
    "candidates, limit 10-1000, cloud-1000, PostgreSQL": _ON_POSTGRESQL,
    "candidates without limit, cloud-1000, PostgreSQL": _ON_POSTGRESQL,
    "candidates-then-PUT, ten clients, PostgreSQL, per second": (
        "the reference searches a third faster on PostgreSQL than on MariaDB. roost is equally "
        "fast on both, and all processors are busy"
    ),
    "PUT inventories, traits, aggregates, PostgreSQL": _AGGREGATES,
    **{
        f"CPU of one placement{title} against its search with limit=10, 10,000 hosts, {database}": (
            _ONE_PLACEMENT
        )
        for title in ("", ", order=spread")
        for database in ("MariaDB", "PostgreSQL")
    },
    "everything in cloud-10000 through pages, MariaDB": _EVERYTHING,
    "everything in cloud-10000 through pages, PostgreSQL": _EVERYTHING,
}

START_PROVIDERS = 100_000
BULK_DATASET = "cloud-10000"
PLACEMENT_HOSTS = 10_000
MEMORY_BASE = 60_000_000

# Smaller differences are within the noise of the measurement.
MEASURABLE_MS = 0.2


class Verdict(NamedTuple):
    title: str
    at_least: str
    aim: str
    measured: str
    met: bool
    aim_met: bool

    @property
    def text(self) -> str:
        if self.met:
            return "aim met" if self.aim_met else "met"
        reason = REASONS.get(self.title)
        return "not met" if reason is None else f"not met: {reason}"


def ratio(result: DatasetResult, key: str) -> float | None:
    """How many times less processor time roost takes. A lower bound if the reference gave up."""
    theirs = result.timings.get("reference", {}).get(key)
    ours = result.timings.get("roost", {}).get(key)
    if theirs is None or ours is None or not theirs.cpu_ms:
        return None
    if ours.failure:
        return 0.0
    return theirs.cpu_ms / max(ours.cpu_ms, 1e-6)


def placement_ratio(result: DatasetResult) -> float | None:
    theirs, ours = result.placement_rates.get("reference"), result.placement_rates.get("roost")
    if theirs is None or ours is None:
        return None
    # A reference without any placement is counted as if it had just finished one.
    return ours.per_second / (max(1, theirs.placements) / theirs.seconds)


def verdicts(results: Results) -> list[Verdict]:
    return [
        *_dataset_verdicts(results),
        *_growth_verdicts(results),
        *_bulk_verdicts(results),
        *_placement_verdicts(results),
    ]


def _dataset_verdicts(results: Results) -> Iterator[Verdict]:
    limited = "candidates, limit 10-1000"
    for dataset, at_least, aim in (("cloud-1000", 200, 1000), ("cloud-10000", 1000, 5000)):
        # Only cases that the reference finishes count.
        yield from _less_cpu(results, f"{limited}, {dataset}", dataset, LIMITED, at_least, aim)
    for key, title, at_least, aim in (
        ("limit-10", "candidates, limit=10, cloud-1000", 1600, 3000),
        ("limit-1000", "candidates, limit=1000, cloud-1000", 350, 500),
    ):
        yield from _less_cpu(results, title, "cloud-1000", (key,), at_least, aim)
    yield from _less_cpu(
        results, "candidates without limit, cloud-1000", "cloud-1000", UNLIMITED, 50, 100
    )
    for result in _results_of(results, "cloud-1000"):
        ours = result.timings.get("roost", {}).get("wide")
        if ours is not None:
            yield _at_most(
                f"8 devices by 8 groups, limit=1000, {result.database}",
                ours.failure or f"{ours.cpu_ms:.1f} ms of CPU",
                float("inf") if ours.failure else ours.cpu_ms,
                (10, "10 ms"),
                (2, "2 ms"),
            )
    yield from _less_cpu(results, "PUT /allocations", "cloud-1000", ("put-allocations",), 8, 12)
    for result in _results_of(results, "cloud-1000"):
        found = placement_ratio(result)
        if found is not None:
            yield _at_least_times(
                f"candidates-then-PUT, ten clients, {result.database}, per second", found, 200, 500
            )
    yield from _less_cpu(results, "GET of one provider's parts", "cloud-1000", READS, 5, 10)
    yield from _less_cpu(results, "GET of one provider", "cloud-1000", ("get-provider",), 10, 20)
    yield from _less_cpu(
        results, "PUT inventories, traits, aggregates", "cloud-1000", WRITES, 8, 15
    )
    yield from _less_cpu(results, "reshaper", "cloud-1000", ("reshaper",), 5, 10)


def _growth_verdicts(results: Results) -> Iterator[Verdict]:
    points = sorted(results.growth, key=lambda point: point.hosts)
    if not points:
        return
    first, last = points[0], points[-1]
    if first is not last:
        for key, title in (("limit-10", "limit=10"), ("limit-1000", "limit=1000")):
            times = last.timings[key].cpu_ms / first.timings[key].cpu_ms
            yield _at_most(
                f"growth of {title} from {first.hosts:,} to {last.hosts:,} hosts",
                f"{times:.1f}x",
                times,
                (10, "under 10x"),
                (3, "under 3x"),
            )
    per_provider = (last.memory_resident - MEMORY_BASE) / last.providers
    yield _at_most(
        "memory of one worker, beyond 60 MB, per provider",
        f"{per_provider / 1000:.2f} KB",
        per_provider,
        (1500, "1.5 KB"),
        (800, "0.8 KB"),
    )
    start = start_point(points)
    yield _at_most(
        f"start with {start.providers:,} providers, {start.database}",
        f"{start.start_seconds:.1f} s",
        start.start_seconds,
        (6, "6 s"),
        (3, "3 s"),
    )
    extra = [point.caught_up_cpu_ms - point.quiet_cpu_ms for point in (first, last)]
    yield _at_most(
        "a write of another process, seen at the next request",
        f"{extra[0]:.2f} ms at {first.hosts:,} hosts, {extra[1]:.2f} ms at {last.hosts:,}",
        extra[1] / max(extra[0], MEASURABLE_MS),
        (3, "proportional to the change"),
        (1.5, ""),
    )


def _bulk_verdicts(results: Results) -> Iterator[Verdict]:
    for result in results.bulk_reads:
        if result.dataset != BULK_DATASET:
            continue
        yield _at_most(
            f"everything in {result.dataset} through pages, {result.database}",
            f"{result.seconds:.1f} s",
            result.seconds,
            (5, "5 s"),
            (3, "3 s"),
        )
        grown = result.memory_peak - result.memory_before
        yield _at_most(
            f"memory that it adds to the worker, {result.database}",
            f"{grown / 1e6:.0f} MB",
            grown,
            (50_000_000, "50 MB"),
            (25_000_000, "25 MB"),
        )


def _placement_verdicts(results: Results) -> Iterator[Verdict]:
    for result in results.extensions:
        search = result.timings.get("place-search")
        for key, title in (("place-plain", ""), ("place-1", ", order=spread")):
            timing = result.timings.get(key)
            if result.hosts != PLACEMENT_HOSTS or search is None or timing is None:
                continue
            found = timing.cpu_ms / search.cpu_ms
            yield _at_most(
                f"CPU of one placement{title} against its search with limit=10, "
                f"{result.hosts:,} hosts, {result.database}",
                f"{found:.1f}x",
                found,
                (2, "2x"),
                (1.3, "1.3x"),
            )


def start_point(points: list[GrowthResult]) -> GrowthResult:
    """The result whose size is nearest to that of the target."""
    return min(points, key=lambda point: abs(point.providers - START_PROVIDERS))


def _results_of(results: Results, dataset: str) -> list[DatasetResult]:
    return [result for result in results.datasets if result.dataset == dataset]


def _less_cpu(
    results: Results, title: str, dataset: str, keys: tuple[str, ...], at_least: float, aim: float
) -> Iterator[Verdict]:
    """The worst of these cases, on each database on which all of them were measured."""
    for result in _results_of(results, dataset):
        if not all(
            key in result.timings.get(service, {}) for service in SERVICE_NAMES for key in keys
        ):
            continue
        found = {key: value for key in keys if (value := ratio(result, key)) is not None}
        if found:
            worst = min(found, key=lambda key: found[key])
            verdict = _at_least_times(f"{title}, {result.database}", found[worst], at_least, aim)
            yield verdict._replace(measured=f"{verdict.measured} ({worst})")


def _at_least_times(title: str, found: float, at_least: float, aim: float) -> Verdict:
    def show(value: float) -> str:
        return f"{value:,.0f}x" if value >= 10 else f"{value:.1f}x"

    return Verdict(title, show(at_least), show(aim), show(found), found >= at_least, found >= aim)


def _at_most(
    title: str, measured: str, found: float, at_least: tuple[float, str], aim: tuple[float, str]
) -> Verdict:
    return Verdict(title, at_least[1], aim[1], measured, found <= at_least[0], found <= aim[0])
