"""Tables and blocks of Markdown."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table; without rows, none."""
    rows = list(rows)
    if not rows:
        return
    yield _row(columns)
    yield _row(["---"] * len(columns))
    for row in rows:
        yield _row([cell.replace("|", "\\|").replace("\n", " ") for cell in row])
    yield ""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def code(text: str, language: str = "text") -> list[str]:
    return [f"```{language}", text.rstrip("\n"), "```", ""]


def json_code(value: Any) -> list[str]:
    return code(pretty(value), "json")


def pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def details(title: str, lines: Iterable[str]) -> list[str]:
    """A block that is closed until somebody opens it."""
    return [f"/// details | {title}", "", *lines, "///", ""]


def span(text: str) -> str:
    """A text as code."""
    return f"`{text}`" if text else ""


def anchor(heading: str) -> str:
    """The anchor that mkdocs gives to a heading of plain words."""
    kept = "".join(letter for letter in heading.lower() if letter.isalnum() or letter in " -_")
    return "-".join(kept.split())
