"""Writes the measurements into docs/operations/sizing.md, between two marks."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.sizing_results import Sizes

PAGE = Path(__file__).parents[1] / "docs" / "operations" / "sizing.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def write_page(found: Sizes) -> None:
    """Replace what the page says about measurements."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{tables(found)}{END}{after}")


def tables(found: Sizes) -> str:
    sizes = table(
        [
            *("hosts", "providers", "allocations", "database", "on disk", "start"),
            *("a worker, started", "most while it loads", "after requests"),
            *("searches / s", "claims / s"),
        ],
        (
            [
                *(f"{each.hosts:,}", f"{each.providers:,}", f"{each.allocations:,}", each.database),
                *(megabytes(each.disk_bytes), f"{each.start_seconds:.1f} s"),
                megabytes(each.started_bytes),
                megabytes(each.highest_bytes),
                megabytes(each.busy_bytes),
                *(f"{each.searches:,.0f}", f"{each.claims:,.0f}"),
            ]
            for each in found.sizes
        ),
    )
    loads = table(
        ["workers", "hosts", "database", "memory of all", "searches / s", "claims / s"],
        (
            [
                *(str(each.workers), f"{each.hosts:,}", each.database),
                megabytes(each.shared_bytes),
                *(f"{each.searches:,.0f}", f"{each.claims:,.0f}"),
            ]
            for each in found.loads
        ),
    )
    return (
        f"\nOne worker with two threads, 8 clients, on {found.machine}:\n\n{sizes}\n"
        f"Several workers, with the database and the clients on the same machine:\n\n{loads}\n"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["--:"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
