"""Durable claims as tables of text, and whether they meet their targets."""

from collections.abc import Iterator

from benchmarks.durable.cases import CASES, ORDER_CLIENTS, ORDERS
from benchmarks.durable.results import ClaimRate, CloudRates, DurableResult, MillionResult
from benchmarks.tables import NOTHING, Table, number, times
from benchmarks.targets import Verdict
from benchmarks.timings import PlacementRate

# What is at least expected, and the aim.
MILLION_TARGETS = {
    ("PostgreSQL", 5_000): (1.0, 2.0),
    ("MariaDB", 5_000): (0.75, 1.5),
    ("PostgreSQL", 100_000): (0.8, 1.8),
}
CASE_TARGETS = {"put-10": (0.3, 0.5), "put-50": (0.3, 0.5), "same-50": (0.3, 0.6)}
ORDER_TARGETS = (0.8, 1.0)
ORDER_HOSTS = 100_000
PLACING_TARGETS = (600, 1_000)


def cloud_table(result: CloudRates) -> Table:
    """One row for each case. The ratio is to P, measured beside it."""
    rows: list[tuple[str, ...]] = []
    if result.million_on_disk is not None:
        rows.append(million_row(result.million_on_disk, result.million_in_memory))
    for key, rate in result.on_disk.items():
        rows.append(
            (
                CASES[key].title,
                rate_cell(rate),
                ratio_cell(result, key),
                f"{number(rate.p50_ms)} / {number(rate.p99_ms)}",
                " + ".join(
                    map(number, (rate.cpu_service_ms, rate.cpu_database_ms, rate.cpu_clients_ms))
                ),
                rate_cell(result.in_memory.get(key)),
            )
        )
    return Table(
        f"Claims on disk: {result.hosts:,} hosts, {result.database}, "
        f"P = {number(result.transactions_per_second)} a second",
        (
            "",
            "COMMIT on disk: a second",
            "ratio",
            "p50 / p99 ms",
            "CPU ms: roost + database + clients",
            "COMMIT in memory: a second",
        ),
        rows,
    )


def million_row(on_disk: MillionResult, in_memory: MillionResult | None) -> tuple[str, ...]:
    cpu = (on_disk.cpu_service_ms, on_disk.cpu_database_ms, on_disk.cpu_clients_ms)
    wrong = f", {len(on_disk.findings)} CHECKS FAILED" if on_disk.findings else ""
    return (
        f"POST /placements, {on_disk.jobs:,} jobs of {on_disk.consumers:,} consumers, "
        f"{on_disk.clients} clients",
        f"{number(on_disk.per_second)}{wrong}",
        NOTHING if on_disk.ratio is None else f"{on_disk.ratio:.2f} P",
        f"{number(on_disk.p50_ms)} / {number(on_disk.p99_ms)} (a job)",
        " + ".join(map(number, cpu)),
        NOTHING if in_memory is None else number(in_memory.per_second),
    )


def million_line(result: MillionResult) -> str:
    """The figure, in one line."""
    ratio = f" = {result.ratio:.2f} P" if result.ratio is not None else ""
    waits = "COMMIT on disk" if result.durable else "COMMIT in memory"
    repeated = f", {result.repeated:,} sent again" if result.repeated else ""
    verdict = f"{len(result.findings)} checks failed" if result.findings else "all checks passed"
    return (
        f"{result.placed:,} placements in {result.jobs:,} jobs on {result.hosts:,} hosts, "
        f"{result.database}, {waits}: {result.per_second:,.0f} a second{ratio}; "
        f"a job p50 {result.p50_ms:,.0f} ms, p99 {result.p99_ms:,.0f} ms{repeated}; {verdict}"
    )


def rate_cell(rate: ClaimRate | None) -> str:
    if rate is None:
        return NOTHING
    refused = f", {rate.refused} refused" if rate.refused else ""
    failed = f", {rate.failed} failed" if rate.failed else ""
    return f"{number(rate.per_second)}{refused}{failed}"


def ratio_cell(result: CloudRates, key: str) -> str:
    ratio = f"{result.on_disk[key].per_second / result.transactions_per_second:.2f} P"
    order = key.partition("-")[0]
    against = order_ratio(result, order) if order in ORDERS else None
    return ratio if against is None else f"{ratio}, {against:.2f}x without an order"


def order_ratio(result: CloudRates, order: str) -> float | None:
    """One placement in that order, against one without an order."""
    ordered = result.on_disk.get(f"{order}-{ORDER_CLIENTS}")
    plain = result.on_disk.get(f"place-{ORDER_CLIENTS}")
    if ordered is None or plain is None or not plain.claims:
        return None
    return ordered.per_second / plain.per_second


def placing_table(result: DurableResult) -> Table:
    rows: list[tuple[str, ...]] = []
    for one in result.placing:
        for title, rates in (("on disk", one.on_disk), ("in memory", one.in_memory)):
            found = placing_ratio(rates)
            cells = [
                number(rates[name].per_second) if name in rates else NOTHING
                for name in ("reference", "roost")
            ]
            shown = NOTHING if found is None else times(found)
            rows.append((f"{one.dataset}, {one.database}, COMMIT {title}", *cells, shown))
    return Table(
        "Claims on disk: candidates-then-PUT, ten clients",
        ("", "reference a second", "roost a second", "ratio"),
        rows,
    )


def placing_ratio(rates: dict[str, PlacementRate]) -> float | None:
    theirs, ours = rates.get("reference"), rates.get("roost")
    if theirs is None or ours is None:
        return None
    # A reference without any placement is counted as if it had just finished one.
    return ours.per_second / (max(1, theirs.placements) / theirs.seconds)


def durable_tables(result: DurableResult) -> Iterator[Table]:
    for cloud in result.clouds:
        yield cloud_table(cloud)
    if result.placing:
        yield placing_table(result)


def durable_verdicts(result: DurableResult) -> Iterator[Verdict]:
    for cloud in result.clouds:
        where = f"{cloud.hosts:,} hosts, {cloud.database}"
        million = cloud.million_on_disk
        targets = MILLION_TARGETS.get((cloud.database, cloud.hosts))
        if million is not None and million.ratio is not None and targets:
            title = f"durable: jobs of {million.consumers:,} placed, {where}"
            yield ratio_verdict(title, million.ratio, *targets, unit=" P")
        for key, (at_least, aim) in CASE_TARGETS.items():
            rate = cloud.on_disk.get(key)
            if rate is not None:
                ratio = rate.per_second / cloud.transactions_per_second
                title = f"durable: {CASES[key].title}, {where}"
                yield ratio_verdict(title, ratio, at_least, aim, unit=" P")
        for order in ORDERS if cloud.hosts == ORDER_HOSTS else ():
            found = order_ratio(cloud, order)
            if found is not None:
                title = f"durable: one placement, order={order} against none, {where}"
                yield ratio_verdict(title, found, *ORDER_TARGETS, unit="x")
    for placing in result.placing:
        found = placing_ratio(placing.on_disk)
        if found is not None:
            title = f"durable: candidates-then-PUT, {placing.dataset}, {placing.database}"
            at_least, aim = PLACING_TARGETS
            met, aim_met = found >= at_least, found >= aim
            yield Verdict(title, times(at_least), times(aim), times(found), met, aim_met)


def ratio_verdict(title: str, found: float, at_least: float, aim: float, *, unit: str) -> Verdict:
    shown = [f"{value:.2f}{unit}" for value in (at_least, aim, found)]
    return Verdict(title, *shown, found >= at_least, found >= aim)
