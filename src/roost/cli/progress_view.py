"""Shows on stderr how far a command has come.

On a terminal that is one line with a bar, which appears after half a second and disappears when the
work is done. Elsewhere, as in a log, it is a line of text every few seconds. Work that is quicker
than that shows nothing, and stdout is for results alone.

The cursor stays visible, and in the first column. So a process that is killed leaves the terminal
as it found it, and what others write there replaces the bar.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.control import Control
from rich.progress_bar import ProgressBar
from rich.segment import ControlType, Segments
from rich.table import Table
from rich.text import Text

from roost.progress import DrawnProgress, LineView, Stage, View, drawn

# When the bar appears, and how often it is drawn.
BAR_AFTER_SECONDS = 0.5
BAR_EVERY_SECONDS = 0.1

BAR_WIDTH = 24

# What a command gets, and hands down as a `Progress`.
CommandProgress = DrawnProgress


class BarView:
    """A line with a bar, on a terminal."""

    def __init__(self, console: Console) -> None:
        self.after_seconds = BAR_AFTER_SECONDS
        self.every_seconds = BAR_EVERY_SECONDS
        self._console = console
        self._is_drawn = False

    def draw(self, stage: Stage, done: int) -> None:
        numbers = "  ".join(filter(None, (stage.counts(done), stage.elapsed())))
        # The last column stays free: some terminals begin a new line as soon as it is written.
        room = max(1, self._console.width - 1)
        title = Text(stage.title)
        # Numbers are never cut.
        title.truncate(max(0, room - BAR_WIDTH - len(numbers) - 4), overflow="ellipsis")
        line = Table.grid(padding=(0, 2, 0, 0))
        line.add_column(no_wrap=True)
        line.add_column(width=BAR_WIDTH)
        line.add_column(no_wrap=True)
        # Without a total the bar pulses.
        bar = ProgressBar(stage.total, min(done, stage.total or done), width=BAR_WIDTH)
        line.add_row(title, bar, Text(numbers))
        options = self._console.options.update_width(room)
        first, *_ = self._console.render_lines(line, options, pad=False)
        # In one piece, so that nothing flickers.
        with self._console:
            self.erase()
            self._console.print(Segments(first), end="")
            self._console.control(Control(ControlType.CARRIAGE_RETURN))
        self._is_drawn = True

    def erase(self) -> None:
        if self._is_drawn:
            whole_line = (ControlType.ERASE_IN_LINE, 2)
            self._console.control(Control(ControlType.CARRIAGE_RETURN, whole_line))
            self._is_drawn = False


@contextmanager
def shown_progress(*, as_json: bool = False) -> Iterator[CommandProgress]:
    """Progress that is shown on stderr while the block runs.

    With `as_json` a program reads the results, so progress is shown to a person at a terminal
    alone. A block that prints results does so within `progress.printing()`.
    """
    with drawn(_view(as_json=as_json)) as progress:
        yield progress


def bar_view() -> BarView | None:
    """A bar on stderr; None if that is not a terminal, or one that cannot erase a line."""
    console = Console(stderr=True, highlight=False)
    # Not `console.is_terminal`, which environment variables can set for a pipe.
    return BarView(console) if sys.stderr.isatty() and not console.is_dumb_terminal else None


def _view(*, as_json: bool) -> View | None:
    bar = bar_view()
    if bar is not None:
        return bar
    if as_json and not sys.stderr.isatty():
        return None
    return LineView(lambda line: click.echo(f"roost: {line}", err=True))
