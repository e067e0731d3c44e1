"""Results for people: on the terminal, and as docs/performance.md with its picture."""

from collections.abc import Iterator
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.requests import MACHINE
from benchmarks.results import Results
from benchmarks.sides import (
    CONFIGURATION,
    PROCESSES,
    REFERENCE_THREADS,
    ROOST_THREADS,
)
from benchmarks.tables import (
    Table,
    beyond_table,
    comparison_table,
    crowd_table,
    growth_table,
    verdict_table,
    world_table,
)

PICTURE = "performance-growth.svg"


def measured(results: Results) -> Iterator[Table]:
    for result in results.worlds:
        yield world_table(result)
        if result.comparisons:
            yield comparison_table(result)
    if results.growth:
        yield growth_table(results.growth, results.memory_empty)
    for crowd in results.crowds:
        yield crowd_table(crowd)
    for beyond in results.beyond:
        yield beyond_table(beyond)


def judged(results: Results) -> Iterator[Table]:
    table = verdict_table(results)
    if table.rows:
        yield table


def print_results(results: Results, console: Console) -> None:
    # On a terminal the last lines are those that are seen.
    for table in (*measured(results), *judged(results)):
        shown = RichTable(title=table.title, title_justify="left", box=box.SIMPLE)
        for position, column in enumerate(table.columns):
            # The last word of a row that says why is text, too.
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
    yield "roost and the reference, OpenStack Placement, side by side: the same rows in two"
    yield "databases of one server, the same requests. `scripts/benchmark --write-docs` measured"
    yield "this and wrote this page; what it does is in `benchmarks/`."
    yield ""
    yield "CPU is processor time of service + database for one request, without the client's;"
    yield "a busy machine disturbs it least, and the ratio is made from it. With ten clients the"
    yield "ratio is that of placements per second. A plain machine is"
    yield f"`resources={MACHINE}`; worlds are described in `benchmarks/worlds.py`."
    yield ""
    for table in (*judged(results), *measured(results)):
        yield from markdown(table)
    if results.growth:
        yield f"![CPU of one search as the cloud grows]({PICTURE})"
        yield ""
    yield from _settings(results)


def _settings(results: Results) -> Iterator[str]:
    yield "## Machine, versions, settings"
    yield ""
    yield f"- {results.machine}; the client runs on it, too, and everything is on loopback."
    databases = {result.database: result.database_version for result in results.worlds}
    versions = results.versions | databases
    yield "- " + ", ".join(f"{name} {version}" for name, version in versions.items()) + "."
    yield f"- The reference: uwsgi without a router in front, {PROCESSES} processes of"
    yield f"  {REFERENCE_THREADS} threads; on PostgreSQL through psycopg2. A request that takes too"
    yield "  long is given up, the table says when, and its ratio is a lower bound."
    yield f"- roost: `roost serve --workers {PROCESSES} --threads {ROOST_THREADS}`; one worker in"
    yield "  the tables of growth and of what is beyond the API."
    yield "- One client, one request after the other, over eight connections in turn, so that"
    yield "  each process has to learn what the others wrote."
    yield "- The databases do not wait for the disk at COMMIT (`fsync=off`,"
    yield "  `innodb_flush_log_at_trx_commit=0`): what is compared is software."
    yield "- Both read this configuration; with ten clients candidates are randomized, so that"
    yield "  clients meet less often, as in the reference's own performance jobs:"
    yield ""
    yield "```ini"
    yield CONFIGURATION.format(randomize=False).rstrip()
    yield "```"
    yield ""
    yield "## Measure again"
    yield ""
    yield "```"
    yield "scripts/benchmark --quick               # five minutes"
    yield "scripts/benchmark --write-docs          # everything; an hour"
    yield "scripts/benchmark --world cloud-1000 --database postgresql --requests limit-10"
    yield "scripts/benchmark --help"
    yield "```"
    yield ""


def markdown(table: Table) -> Iterator[str]:
    yield f"## {table.title}"
    yield ""
    yield "| " + " | ".join(table.columns) + " |"
    yield "|---" + "|--:" * (len(table.columns) - 1) + "|"
    for row in table.rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""


def draw_growth(results: Results, path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    # Without this, each run would write other names into the file.
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
            (int(result.world.partition("-")[2]), timing.cpu_ms)
            for result in results.worlds
            if result.world.startswith("cloud-") and result.database == "MariaDB"
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
