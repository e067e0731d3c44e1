"""Results as tables of text, for the terminal and for the documentation."""

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.contention import CASES as CONTENTION_CASES
from benchmarks.extensions import CASES as EXTENSION_CASES
from benchmarks.requests import PLACEMENT_TITLE, cases_for
from benchmarks.results import (
    BulkReadsResult,
    ConsoleResult,
    ContentionPoint,
    ContentionResult,
    DatasetResult,
    ExtensionsResult,
    GrowthResult,
)
from benchmarks.targets import SERVICE_NAMES, Verdict, placement_ratio, ratio
from benchmarks.timings import PlacementRate, Timing

NOTHING = "-"


class Table(NamedTuple):
    title: str
    # The first column is text, the others are numbers.
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def dataset_table(result: DatasetResult) -> Table:
    """One row for each case, with both services side by side."""
    rows: list[tuple[str, ...]] = []
    for case in cases_for(result.dataset):
        theirs, ours = (result.timings.get(service, {}).get(case.key) for service in SERVICE_NAMES)
        if theirs is None and ours is None:
            continue
        bound = "> " if theirs is not None and theirs.failure else ""
        found = ratio(result, case.key)
        shown = NOTHING if found is None else bound + times(found)
        rows.append((case.title, *timing_cells(theirs), *timing_cells(ours), shown))
    if result.placement_rates:
        rates = [result.placement_rates.get(service) for service in SERVICE_NAMES]
        cells = [cell for rate in rates for cell in placement_cells(rate)]
        found = placement_ratio(result)
        rows.append((PLACEMENT_TITLE, *cells, NOTHING if found is None else times(found)))
    return Table(
        f"{result.dataset} on {result.database}: {result.providers:,} providers, "
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


def placement_cells(rate: PlacementRate | None) -> tuple[str, str]:
    if rate is None:
        return NOTHING, NOTHING
    refused = f", {rate.conflicts} refused" if rate.conflicts else ""
    failed = f", {rate.failures} failed" if rate.failures else ""
    cpu = f"{number(rate.cpu_service_ms)} + {number(rate.cpu_database_ms)}"
    return f"{number(rate.per_second)} per second{refused}{failed}", cpu


def comparison_table(result: DatasetResult) -> Table:
    # The comparison covers whole answers, so the titles must not mention a limit.
    titles = {case.key: case.title.partition(", limit=")[0] for case in cases_for(result.dataset)}
    return Table(
        f"{result.dataset} on {result.database}: the same candidates?",
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
            "search CPU ms: without a write, after a write by another process",
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


def contention_table(result: ContentionResult) -> Table:
    """One row for each number of clients."""
    found = {
        (service, point.case, point.clients): point
        for service, points in result.points.items()
        for point in points
    }
    cases = dict.fromkeys((case, clients) for _, case, clients in found)
    rows: list[tuple[str, ...]] = []
    for case, clients in cases:
        theirs, ours = (found.get((service, case, clients)) for service in SERVICE_NAMES)
        both = theirs is not None and ours is not None and theirs.claims
        ratio = times(ours.per_second / theirs.per_second) if both else NOTHING  # type: ignore[union-attr]
        cells = [cell for point in (theirs, ours) for cell in contention_cells(point)]
        rows.append((CONTENTION_CASES[case], str(clients), *cells, ratio))
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


def contention_cells(point: ContentionPoint | None) -> tuple[str, str]:
    if point is None:
        return NOTHING, NOTHING
    return number(point.per_second), f"{point.refused}, {point.failures}"


def extensions_table(result: ExtensionsResult) -> Table:
    rows: list[tuple[str, ...]] = []
    for case, search_key in EXTENSION_CASES:
        timing = result.timings.get(case.key)
        if timing is None:
            # The results are of an earlier version, which had no such case.
            continue
        search = result.timings.get(search_key) if search_key else None
        share = NOTHING if search is None else times(timing.cpu_ms / search.cpu_ms)
        rows.append((case.title, *timing_cells(timing), share))
    return Table(
        f"Beyond the API: roost alone, one worker, {result.hosts:,} hosts "
        f"({result.providers:,} providers), {result.database}",
        ("request", "p50, p95 ms", "CPU ms", "CPU of its search"),
        rows,
    )


def bulk_reads_table(result: BulkReadsResult) -> Table:
    """The whole cloud from both services, and what the worker and its neighbour notice of it."""
    rows: list[tuple[str, ...]] = []
    for name, read in result.reads.items():
        title = f"roost: {read.entries:,} {name}, {read.answer_bytes / 1e6:,.0f} MB"
        cpu = f"{number(read.cpu_service)} + {number(read.cpu_database)}"
        rows.append((title, f"{read.pages:,}", number(read.seconds), cpu, NOTHING))
    rows.append(("roost: everything", f"{result.pages:,}", number(result.seconds), "", "1x"))
    for kind, single in result.reference.items():
        title = f"reference: {kind}, {number(single.mean_ms)} ms each"
        rows.append((title, f"{single.count:,}", number(single.seconds), NOTHING, NOTHING))
    if result.reference:
        count, seconds = result.reference_requests, result.reference_seconds
        ratio = times(seconds / result.seconds)
        rows.append(("reference: everything", f"{count:,}", number(seconds), "", ratio))
    return Table(
        f"Everything in {result.dataset}, {result.database}: {result.providers:,} providers, "
        f"{result.allocations:,} allocations",
        ("", "requests", "seconds", "CPU s", "time"),
        rows,
    )


def bulk_neighbour_table(result: BulkReadsResult) -> Table:
    rows: list[tuple[str, ...]] = []
    for kind in result.neighbour_alone:
        timings = (result.neighbour_alone[kind], result.neighbour_beside.get(kind))
        rows.append(
            (f"neighbour: {kind}, p50 / p95 ms", *(timing_cells(one)[0] for one in timings))
        )
    before, peak = (f"{each / 1e6:,.0f}" for each in (result.memory_before, result.memory_peak))
    rows.append(("memory of the worker, MB; at most while it is read", before, peak))
    return Table(
        f"Beside it, {result.database}: the worker, and a client that searches and claims",
        ("", "before, alone", "while everything is read"),
        rows,
    )


def console_table(result: ConsoleResult) -> Table:
    rows: list[tuple[str, ...]] = []
    for title, frames in result.moves.items():
        times_ms = " / ".join(map(number, (frames.p50_ms, frames.p95_ms, frames.max_ms)))
        rows.append(
            (
                f"the heat map is {title}",
                f"{frames.frames / frames.seconds:,.0f}",
                times_ms,
                f"{number(frames.longest_task_ms)}, {frames.long_tasks}",
            )
        )
    return Table(
        f"The console, {result.hosts:,} hosts, {result.browser} without a graphics card: loaded in "
        f"{number(result.load_seconds)} s, heap {result.heap_bytes / 1e6:,.0f} MB",
        ("", "frames/s", "between frames: p50, p95, max ms", "longest task ms, tasks over 50 ms"),
        rows,
    )


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    return Table(
        "Targets",
        ("", "at least", "aim", "measured", ""),
        [(one.title, one.at_least, one.aim, one.measured, one.text) for one in verdicts],
    )


def number(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}"


def times(value: float) -> str:
    return f"{value:,.0f}x" if value >= 10 else f"{value:.1f}x"
