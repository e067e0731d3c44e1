"""Shows results on the terminal, and writes docs/explanation/performance.md with its picture."""

from collections.abc import Iterator
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.bulk_reads import PAGE_SIZE
from benchmarks.durable.pgbench import CLIENTS as PGBENCH_CLIENTS
from benchmarks.durable.results import DurableResult
from benchmarks.durable.tables import durable_tables, durable_verdicts, million_line
from benchmarks.requests import MACHINE
from benchmarks.results import Results
from benchmarks.services import (
    CONFIGURATION,
    PROCESSES,
    REFERENCE_THREADS,
    ROOST_THREADS,
)
from benchmarks.tables import (
    Table,
    bulk_neighbour_table,
    bulk_reads_table,
    comparison_table,
    console_table,
    contention_table,
    dataset_table,
    extensions_table,
    growth_table,
    verdict_table,
)
from benchmarks.targets import verdicts

PICTURE = "performance-growth.svg"


def measurement_tables(results: Results) -> Iterator[Table]:
    for result in results.datasets:
        yield dataset_table(result)
        if result.comparisons:
            yield comparison_table(result)
    if results.growth:
        yield growth_table(results.growth, results.memory_empty)
    for contention in results.contention:
        yield contention_table(contention)
    for extensions in results.extensions:
        yield extensions_table(extensions)
    for bulk_reads in results.bulk_reads:
        yield bulk_reads_table(bulk_reads)
        yield bulk_neighbour_table(bulk_reads)
    for console in results.console:
        yield console_table(console)


def target_tables(results: Results) -> Iterator[Table]:
    table = verdict_table([*verdicts(results), *durable_verdicts(results.durable)])
    if table.rows:
        yield table


def print_results(results: Results, console: Console) -> None:
    # On a terminal the last lines are the most visible, so the targets come last.
    measured = (*measurement_tables(results), *durable_tables(results.durable))
    for table in (*measured, *target_tables(results)):
        shown = RichTable(title=table.title, title_justify="left", box=box.SIMPLE)
        for position, column in enumerate(table.columns):
            # Besides the first column, these two contain text.
            numbers = position > 0 and column not in ("found", "")
            shown.add_column(column, justify="right" if numbers else "left", overflow="fold")
        for row in table.rows:
            shown.add_row(*row)
        console.print(shown)


def write_documentation(results: Results, folder: Path) -> None:
    if results.growth:
        draw_growth(results, folder / PICTURE)
    (folder / "performance.md").write_text("\n".join(documentation(results)))


def documentation(results: Results) -> Iterator[str]:
    yield "# Performance"
    yield ""
    yield "This page compares roost with the reference, OpenStack Placement. Both have the same"
    yield "rows, in two databases of one server, and get the same requests. The program in"
    yield "`benchmarks/` measured the numbers and wrote this page:"
    yield "`scripts/benchmark --write-docs`."
    yield ""
    yield "CPU is the processor time of service + database for one request, without that of the"
    yield "client. Other load on the machine disturbs it least, so the ratio is computed from it."
    yield "With ten clients the ratio is that of placements per second. A plain machine is"
    yield f"`resources={MACHINE}`; `benchmarks/datasets.py` describes the"
    yield "datasets."
    yield ""
    for table in (*target_tables(results), *measurement_tables(results)):
        yield from markdown(table)
    if results.growth:
        yield f"![CPU of one search as the cloud grows]({PICTURE})"
        yield ""
    yield from durable_documentation(results.durable)
    yield from _settings(results)


def durable_documentation(result: DurableResult) -> Iterator[str]:
    """Claims with COMMIT on disk, and what their numbers compare with."""
    if not (result.millions or result.clouds or result.placing):
        return
    yield "## Durable claims"
    yield ""
    yield "Here COMMIT waits for the disk, as it does in production: `fsync=on`,"
    yield "`full_page_writes=on` and `synchronous_commit=on` on PostgreSQL,"
    yield "`innodb_flush_log_at_trx_commit=1` on MariaDB. The last column is without, as in the"
    yield "tables above. Clients, service and database share the processors of one machine."
    yield ""
    yield "Disks and machines differ, so a rate is also given as a ratio to *P*: the transactions"
    yield f"a second of `pgbench -N` with {PGBENCH_CLIENTS} clients on a PostgreSQL that waits for"
    yield "the same disk. Each is an update, a read and an insert of one row. P is measured before,"
    yield "between and after; the median counts. Candidates-then-PUT is compared with the"
    yield "reference, and a placement with an order with one without."
    yield ""
    yield "The jobs are a shorter form of C1M, `scripts/benchmark --million`: a million consumers"
    yield "in a thousand jobs, on hosts with room for them and little more. After each run every"
    yield "consumer must hold what its answer said, nothing may be over-allocated, the service"
    yield "must report the usage that is in the tables, and `roost db check` must find nothing."
    yield ""
    yield "Others, as their authors report them: Nomad's C1M placed a million containers on 5,000"
    yield "hosts at 3,750 a second, with five servers; ByteDance's Gödel, sharded, places 5,000 a"
    yield "second; the floors of kube-scheduler's own tests are 800 to 1,100 a second. Those"
    yield "clusters differ from this machine and from each other, so these numbers are a"
    yield "horizon, not a ranking."
    yield ""
    for million in result.millions:
        yield f"- `scripts/benchmark --million`: {million_line(million)}."
    if result.millions:
        yield ""
    for cloud in result.clouds[:1]:
        yield f"roost runs as `roost serve --workers {cloud.workers} --threads {cloud.threads}`."
        yield ""
    for table in durable_tables(result):
        yield from markdown(table, level=3)


def _settings(results: Results) -> Iterator[str]:
    yield "## Machine, versions, settings"
    yield ""
    yield f"- {results.machine}. The client runs on the same machine; all traffic is on loopback."
    databases = {result.database: result.database_version for result in results.datasets}
    versions = results.versions | databases
    yield "- " + ", ".join(f"{name} {version}" for name, version in versions.items()) + "."
    yield f"- The reference runs under uwsgi without a router, with {PROCESSES} processes of"
    yield f"  {REFERENCE_THREADS} threads, and on PostgreSQL through psycopg2. The client gives up"
    yield "  a request that takes too long; the table says after which time, and the ratio is then"
    yield "  a lower bound."
    yield f"- roost runs as `roost serve --workers {PROCESSES} --threads {ROOST_THREADS}`, with one"
    yield "  worker in the tables about growth and about requests beyond the API."
    yield "- One client sends one request after the other, over eight connections in turn, so that"
    yield "  each process has to catch up with the writes of the others."
    yield f"- Everything in a cloud is read through pages of {PAGE_SIZE:,} entries, by one client"
    yield "  from one worker; the fastest of three times counts. The time of the reference is that"
    yield "  of a sample of each kind of request, multiplied: a client sends one after the other."
    yield "- The console's frames are those of the browser's own trace: five seconds of each move,"
    yield "  in a window of 1280 x 800."
    yield "- Except for durable claims the databases do not wait for the disk at COMMIT"
    yield "  (`fsync=off`, `innodb_flush_log_at_trx_commit=0`), so the numbers compare software,"
    yield "  not disks."
    yield "- Both services read this configuration. With ten clients candidates are randomized, as"
    yield "  in the reference's own performance jobs, so that clients rarely choose the same ones:"
    yield ""
    yield "```ini"
    yield CONFIGURATION.format(randomize=False).rstrip()
    yield "```"
    yield ""
    yield "## Repeating the measurements"
    yield ""
    yield "```"
    yield "scripts/benchmark --quick               # five minutes"
    yield "scripts/benchmark --write-docs          # everything, one hour"
    yield "scripts/benchmark --world cloud-1000 --database postgresql --requests limit-10"
    yield "scripts/benchmark --console             # the console alone"
    yield "scripts/benchmark --durable             # durable claims alone"
    yield "scripts/benchmark --million             # a million placements, checked; one line"
    yield "scripts/benchmark --help"
    yield "```"
    yield ""


def markdown(table: Table, level: int = 2) -> Iterator[str]:
    yield f"{'#' * level} {table.title}"
    yield ""
    yield "| " + " | ".join(table.columns) + " |"
    yield "|---" + "|--:" * (len(table.columns) - 1) + "|"
    for row in table.rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""


def draw_growth(results: Results, path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    # Without this, each run would write different ids into the file.
    matplotlib.rcParams["svg.hashsalt"] = "roost"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    points = sorted(results.growth, key=lambda point: point.hosts)
    for key, title, color in (
        ("limit-10", "limit=10", "tab:blue"),
        ("limit-1000", "limit=1000", "tab:orange"),
    ):
        axes.plot(
            [point.hosts for point in points],
            [point.timings[key].cpu_ms for point in points],
            marker="o",
            color=color,
            label=f"roost, {title}",
        )
        theirs = [
            (int(result.dataset.partition("-")[2]), timing.cpu_ms)
            for result in results.datasets
            if result.dataset.startswith("cloud-") and result.database == "MariaDB"
            for timing in [result.timings.get("reference", {}).get(key)]
            if timing is not None and not timing.failure
        ]
        if theirs:
            hosts, costs = zip(*sorted(theirs), strict=True)
            axes.plot(
                hosts, costs, marker="x", linestyle=":", color=color, label=f"reference, {title}"
            )
    axes.set(xscale="log", yscale="log", xlabel="hosts", ylabel="CPU milliseconds per search")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
