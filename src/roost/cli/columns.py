"""Tables for people: columns that fit the terminal, and rows that appear as they are read."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import click
from rich.cells import cell_len, chop_cells

from roost.cli.output import has_colors, printable, terminal_width

# Rows whose cells determine the widths. Later rows are printed as they come, in the same columns;
# a table that is longer gets wider where it must.
ROWS_AT_ONCE = 500

GAP = "  "
# Narrower than this, a column that folds cannot be read.
FOLDED_WIDTH_MIN = 12


class Column(NamedTuple):
    title: str
    right: bool = False  # numbers
    folds: bool = False  # gets narrower, and goes on in the next line, if the table is too wide


class Styled(NamedTuple):
    """The text of a cell, and its color or weight on a terminal: `dim`, `bold`, `red`, ..."""

    text: str
    style: str


Cell = str | int | Styled


def print_table(columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> int:
    """Print rows below their titles; returns how many there were. Without rows, nothing."""
    count = 0
    widths = [cell_len(column.title) for column in columns]
    for some in _parts(rows):
        texts = [[_text(cell) for cell in row] for row in some]
        for position in range(len(columns)):
            longest = max(_length(row[position]) for row in texts)
            widths[position] = max(widths[position], longest)
        fitted = _fitted(columns, widths, terminal_width())
        if not count:
            titles = [Styled(column.title, "bold") for column in columns]
            _print_row(columns, fitted, titles, [column.title for column in columns])
        for cells, row in zip(some, texts, strict=True):
            _print_row(columns, fitted, cells, row)
        count += len(some)
    return count


def print_fields(fields: Iterable[tuple[str, Cell]]) -> None:
    """Print what one thing is: a line for each field."""
    columns = (Column(""), Column("", folds=True))
    rows = [(Styled(title, "dim"), value) for title, value in fields]
    texts = [[_text(cell) for cell in row] for row in rows]
    widths = [max(_length(row[position]) for row in texts) for position in range(2)]
    fitted = _fitted(columns, widths, terminal_width())
    for cells, row in zip(rows, texts, strict=True):
        _print_row(columns, fitted, cells, row)


def _parts(rows: Iterable[Sequence[Cell]]) -> Iterator[list[Sequence[Cell]]]:
    iterator = iter(rows)
    while part := list(islice(iterator, ROWS_AT_ONCE)):
        yield part


def _text(cell: Cell) -> str:
    if isinstance(cell, int):
        return f"{cell:,}"
    return printable(cell.text if isinstance(cell, Styled) else cell)


def _length(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def _fitted(columns: Sequence[Column], widths: Sequence[int], room: int | None) -> list[int]:
    """The widths on a terminal: the widest of the columns that fold give way first."""
    fitted = list(widths)
    if room is None:
        return fitted
    folding = [position for position, column in enumerate(columns) if column.folds]
    excess = sum(fitted) + len(GAP) * (len(columns) - 1) - room
    while excess > 0:
        widest = max(folding, key=lambda position: fitted[position], default=None)
        if widest is None or fitted[widest] <= FOLDED_WIDTH_MIN:
            # The terminal is too narrow for any table.
            return fitted
        others = [fitted[position] for position in folding if fitted[position] < fitted[widest]]
        step = min(excess, max(1, fitted[widest] - max([FOLDED_WIDTH_MIN, *others])))
        fitted[widest] -= step
        excess -= step
    return fitted


def _print_row(
    columns: Sequence[Column], widths: Sequence[int], cells: Sequence[Cell], texts: Sequence[str]
) -> None:
    folded = [
        fold(text, width) if column.folds else [text]
        for column, width, text in zip(columns, widths, texts, strict=True)
    ]
    for line in range(max(map(len, folded))):
        parts = []
        for position, column in enumerate(columns):
            lines = folded[position]
            text = lines[line] if line < len(lines) else ""
            blank = " " * max(0, widths[position] - _length(text))
            cell = cells[position]
            if isinstance(cell, Styled) and has_colors():
                text = styled(text, cell.style)
            parts.append(blank + text if column.right else text + blank)
        print_line(GAP.join(parts).rstrip())


def styled(text: str, style: str) -> str:
    """The text in a color or weight, if the terminal has colors."""
    if not has_colors():
        return text
    weights = {"bold", "dim"}
    color = next((word for word in style.split() if word not in weights), None)
    return click.style(text, fg=color, **{word: True for word in style.split() if word in weights})


def print_line(text: str) -> None:
    # Not click.echo, which asks anew for each line whether it is written to a terminal.
    sys.stdout.write(text + "\n")


def fold(text: str, width: int) -> list[str]:
    """The lines of a text in a column: broken between words, and within words that are too long."""
    if _length(text) <= width:
        return [text]
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if _length(longer) <= width:
            line = longer
            continue
        if line:
            lines.append(line)
        *full, line = chop_cells(word, width) or [""]
        lines += full
    return [*lines, line]
