"""How far long work has come, told to whoever started it.

Work that may take longer than a second takes a `Progress` as an argument, and passes it on to what
it calls. It says what it does (`stage`) and how much of it is done (`advance`). It does not know
who shows that, and how: on a terminal `roost.cli.progress_view` does.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol, TypeVar

# In a log: when the first line appears, and how often another one follows.
LINE_AFTER_SECONDS = 3.0
LINE_EVERY_SECONDS = 5.0

Item = TypeVar("Item")


class Progress(Protocol):
    """Stages that follow each other; each ends when the next one begins.

    Only one thread may call it. Both methods are cheap, but are still meant for thousands of rows
    at a time.
    """

    @property
    def is_shown(self) -> bool:
        """Whether anybody looks. If nobody does, it is not worth counting what there is to do."""

    def stage(self, title: str, total: int | None = None) -> None:
        """Begin a stage of `total` steps; None if it has no steps, or nobody knows how many."""

    def advance(self, count: int = 1) -> None:
        """So many more steps of this stage are done."""


class _Silent:
    """Shows nothing."""

    is_shown = False

    def stage(self, title: str, total: int | None = None) -> None:
        pass

    def advance(self, count: int = 1) -> None:
        pass


SILENT: Progress = _Silent()


def track(progress: Progress, title: str, items: Sequence[Item]) -> Iterator[Item]:
    """Each item in turn. An item is done when the next one is asked for."""
    progress.stage(title, len(items))
    for item in items:
        yield item
        progress.advance()


# ---------------------------------------------------------------------------------------------
# Showing it


class Stage(NamedTuple):
    """What is being done."""

    title: str
    total: int | None
    started_at: float  # on the monotonic clock, which the processes of a machine share

    def counts(self, done: int) -> str:
        if self.total is None:
            return f"{done:,}" if done else ""
        return f"{done:,} of {self.total:,}"

    def elapsed(self) -> str:
        seconds = int(time.monotonic() - self.started_at)
        minutes, seconds = divmod(seconds, 60)
        return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"


class View(Protocol):
    """Where progress is shown."""

    after_seconds: float  # how long work may take without being shown
    every_seconds: float

    def draw(self, stage: Stage, done: int) -> None:
        """Show this, instead of what was shown before."""

    def erase(self) -> None:
        """Take away what is shown, as far as that is possible."""


class LineView:
    """Lines of text, for a log."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self.after_seconds = LINE_AFTER_SECONDS
        self.every_seconds = LINE_EVERY_SECONDS
        self._write = write

    def draw(self, stage: Stage, done: int) -> None:
        counts = stage.counts(done)
        if stage.total:
            counts += f" ({100 * done // stage.total} %)"
        self._write(f"{stage.title}: {', '.join(filter(None, (counts, stage.elapsed())))}")

    def erase(self) -> None:
        pass


class DrawnProgress:
    """Progress that a thread draws while another one works: also while that waits for a database.

    A statement of SQL may take minutes, in which the thread that sent it cannot report anything.
    """

    def __init__(self, view: View | None) -> None:
        """Without a view nothing is shown."""
        self._view = view
        self._stage: Stage | None = None
        self._done = 0
        # Held while anything is written to the terminal.
        self._lock = threading.RLock()
        self._over = threading.Event()

    @property
    def is_shown(self) -> bool:
        return self._view is not None

    def stage(self, title: str, total: int | None = None) -> None:
        with self._lock:
            self._done = 0
            self._stage = Stage(title, total, time.monotonic())

    def advance(self, count: int = 1) -> None:
        self._done += count

    @contextmanager
    def printing(self) -> Iterator[None]:
        """Lets the block print results to the terminal, which the bar makes room for."""
        with self._lock:
            if self._view is not None:
                self._view.erase()
            yield

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Draws while the block runs, and takes away what was drawn."""
        if self._view is None:
            yield
            return
        arguments = [self._view]
        drawing = threading.Thread(target=self._draw, args=arguments, name="progress", daemon=True)
        drawing.start()
        try:
            yield
        finally:
            self._over.set()
            drawing.join()
            self._view.erase()

    def _draw(self, view: View) -> None:
        pause = view.after_seconds
        while not self._over.wait(pause):
            with self._lock:
                if self._stage is not None:
                    view.draw(self._stage, self._done)
            pause = view.every_seconds


@contextmanager
def drawn(view: View | None) -> Iterator[DrawnProgress]:
    """Progress that this view shows while the block runs."""
    progress = DrawnProgress(view)
    with progress.shown():
        yield progress
