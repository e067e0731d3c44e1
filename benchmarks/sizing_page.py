"""Writes the measurements into docs/operations/sizing.md, between two marks."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.sizing_results import Size, Sizes

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
        ],
        (
            [
                *(f"{each.hosts:,}", f"{each.providers:,}", f"{each.allocations:,}", each.database),
                *(megabytes(each.disk_bytes), f"{each.start_seconds:.1f} s"),
                *map(megabytes, (each.started_bytes, each.highest_bytes, each.busy_bytes)),
            ]
            for each in found.sizes
        ),
    )
    costs = table(
        ["hosts", "database", *COST_HEAD],
        ([f"{each.hosts:,}", each.database, *cost_cells(each)] for each in found.sizes),
    )
    loads = table(
        ["workers", "hosts", "database", "memory of all", "connections"],
        (
            [
                *(str(each.workers), f"{each.hosts:,}", each.database),
                *(megabytes(each.shared_bytes), str(each.connections)),
            ]
            for each in found.loads
        ),
    )
    return (
        f"\nMemory, disk and start, on {found.machine}:\n\n{sizes}\n"
        f"Processor time, with 8 clients:\n\n{costs}\n"
        f"Several workers, with two threads each and 8 clients:\n\n{loads}\n"
    )


COST_HEAD = (
    *("a search, roost", "a search, database", "a claim, roost", "a claim, database"),
    *("searches / s of a processor", "claims / s of a processor"),
)


def cost_cells(size: Size) -> Iterator[str]:
    """The times, and how many requests one processor of roost answers in a second."""
    for cost in (size.search, size.claim):
        yield f"{cost.roost_ms:.1f} ms"
        yield f"{cost.database_ms:.1f} ms"
    for cost in (size.search, size.claim):
        yield f"{1000 / cost.roost_ms:,.0f}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["--:"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
