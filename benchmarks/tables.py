"""Results as plain tables of text, for the terminal and for the documentation alike."""

from typing import NamedTuple

from benchmarks.beyond import CASES as BEYOND_CASES
from benchmarks.crowd import CASES as CROWD_CASES
from benchmarks.requests import PLACE_TITLE, cases_for
from benchmarks.results import (
    BeyondResult,
    CrowdPoint,
    CrowdResult,
    GrowthResult,
    Placing,
    Results,
    Timing,
    WorldResult,
)
from benchmarks.targets import SIDES, place_ratio, ratio, verdicts

NOTHING = "-"


class Table(NamedTuple):
    title: str
    # The first column is text, the others are numbers.
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def world_table(result: WorldResult) -> Table:
    """One row for each case, the two sides beside each other."""
    rows: list[tuple[str, ...]] = []
    for case in cases_for(result.world):
        theirs, ours = (result.timings.get(side, {}).get(case.key) for side in SIDES)
        if theirs is None and ours is None:
            continue
        bound = "> " if theirs is not None and theirs.failure else ""
        found = ratio(result, case.key)
        shown = NOTHING if found is None else bound + times(found)
        rows.append((case.title, *timing_cells(theirs), *timing_cells(ours), shown))
    if result.placing:
        cells = [cell for side in SIDES for cell in placing_cells(result.placing.get(side))]
        found = place_ratio(result)
        rows.append((PLACE_TITLE, *cells, NOTHING if found is None else times(found)))
    return Table(
        f"{result.world} on {result.database}: {result.providers:,} providers, "
        f"{result.allocations:,} allocations",
        (
            "request",
            *("reference p50 / p95 ms", "CPU ms"),
            *("roost p50 / p95 ms", "CPU ms"),
            "ratio",
        ),
        rows,
    )


def timing_cells(timing: Timing | None) -> tuple[str, str]:
    if timing is None:
        return NOTHING, NOTHING
    if timing.failure:
        return timing.failure.splitlines()[0][:60], NOTHING
    cpu = f"{number(timing.cpu_service_ms)} + {number(timing.cpu_database_ms)}"
    return f"{number(timing.p50_ms)} / {number(timing.p95_ms)}", cpu


def placing_cells(placing: Placing | None) -> tuple[str, str]:
    if placing is None:
        return NOTHING, NOTHING
    refused = f", {placing.conflicts} refused" if placing.conflicts else ""
    failed = f", {placing.failures} failed" if placing.failures else ""
    cpu = f"{number(placing.cpu_service_ms)} + {number(placing.cpu_database_ms)}"
    return f"{number(placing.per_second)} per second{refused}{failed}", cpu


def comparison_table(result: WorldResult) -> Table:
    # What is compared is the whole answer, and that is what the names should say.
    titles = {case.key: case.title.partition(", limit=")[0] for case in cases_for(result.world)}
    return Table(
        f"{result.world} on {result.database}: the same candidates?",
        ("search", "same", "found"),
        [(titles[one.key], "yes" if one.same else "NO", one.text) for one in result.comparisons],
    )


def growth_table(points: list[GrowthResult], memory_empty: int) -> Table:
    return Table(
        "roost alone, one worker, as the cloud grows",
        (
            "hosts",
            *("providers", "allocations"),
            *("limit=10 p50, CPU ms", "limit=1000 p50, CPU ms"),
            "start s",
            "worker MB (KB per provider)",
            "search CPU ms: nobody wrote, another wrote",
        ),
        [growth_row(point, memory_empty) for point in sorted(points, key=lambda p: p.hosts)],
    )


def growth_row(point: GrowthResult, memory_empty: int) -> tuple[str, ...]:
    per_provider = (point.memory_resident - memory_empty) / point.providers
    return (
        f"{point.hosts:,}",
        f"{point.providers:,}",
        f"{point.allocations:,}",
        *(
            f"{number(timing.p50_ms)}, {number(timing.cpu_ms)}"
            for timing in (point.timings["limit-10"], point.timings["limit-1000"])
        ),
        f"{point.start_seconds:.1f}",
        f"{point.memory_resident / 1e6:,.0f} ({per_provider / 1000:.2f})",
        f"{number(point.quiet_cpu_ms)}, {number(point.caught_up_cpu_ms)}",
    )


def crowd_table(result: CrowdResult) -> Table:
    """One row for each number of clients."""
    found = {
        (side, point.case, point.clients): point
        for side, points in result.points.items()
        for point in points
    }
    cases = dict.fromkeys((case, clients) for _, case, clients in found)
    rows: list[tuple[str, ...]] = []
    for case, clients in cases:
        theirs, ours = (found.get((side, case, clients)) for side in SIDES)
        both = theirs is not None and ours is not None and theirs.claims
        ratio = times(ours.per_second / theirs.per_second) if both else NOTHING  # type: ignore[union-attr]
        cells = [cell for point in (theirs, ours) for cell in crowd_cells(point)]
        rows.append((CROWD_CASES[case], str(clients), *cells, ratio))
    return Table(
        f"claims per second on {result.database} as clients are added",
        (
            "each claims",
            "clients",
            *("reference per second", "refused, failed"),
            *("roost per second", "refused, failed"),
            "ratio",
        ),
        rows,
    )


def crowd_cells(point: CrowdPoint | None) -> tuple[str, str]:
    if point is None:
        return NOTHING, NOTHING
    return number(point.per_second), f"{point.refused}, {point.failures}"


def beyond_table(result: BeyondResult) -> Table:
    rows: list[tuple[str, ...]] = []
    for case, beside in BEYOND_CASES:
        timing = result.timings[case.key]
        search = result.timings[beside] if beside else None
        share = NOTHING if search is None else times(timing.cpu_ms / search.cpu_ms)
        rows.append((case.title, *timing_cells(timing), share))
    return Table(
        f"Beyond the API: roost alone, one worker, {result.hosts:,} hosts "
        f"({result.providers:,} providers), {result.database}",
        ("request", "p50, p95 ms", "CPU ms", "CPU of its search"),
        rows,
    )


def verdict_table(results: Results) -> Table:
    return Table(
        "What must be reached",
        ("", "at least", "aim", "measured", ""),
        [(one.title, one.at_least, one.aim, one.measured, one.word) for one in verdicts(results)],
    )


def number(value: float) -> str:
    """Three digits that matter, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}"


def times(value: float) -> str:
    return f"{value:,.0f}x" if value >= 10 else f"{value:.1f}x"
