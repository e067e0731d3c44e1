"""Shows trees on a whole terminal, and draws them again when something has changed."""

import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType
from rich.text import Text

from roost.cli.output import printable
from roost.cli.tree.cloud import Cloud
from roost.cli.tree.drawing import Drawing, Line
from roost.cli.tree.forest import Node, Selection
from roost.cli.tree.parts import counted
from roost.client import Event, EventKind, Events, Gone, Unavailable, Unreachable

# How long a request waits for a change: also how long a new size of the terminal may go unnoticed.
WAIT_SECONDS = 2
# Between two drawings.
PAUSE_SECONDS_MIN = 0.3
# How much longer than reading the pause is: a large cloud must not keep the service busy.
READING_FACTOR = 4
# While the service does not answer.
AWAY_SECONDS = 1.0
# If more trees have changed, everything is read again: one request instead of many.
TREES_MAX = 10

KINDS = frozenset(EventKind) - {EventKind.CATALOG}


class Feed:
    """Keeps a cloud up to date, by the change feed of the service."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        # Before the cloud is read: what changes meanwhile is read again.
        self._position = cloud.client.events().position

    def wait(self) -> Events | None:
        """What changes within a moment; None if the service no longer knows what has changed."""
        try:
            return self._cloud.client.events(
                self._position, wait=WAIT_SECONDS, kinds=KINDS, tree=self._cloud.tree_uuid
            )
        except Gone:
            return None

    def update(self, found: Events | None) -> bool:
        """Read what has changed; False if nothing has."""
        if found is None:
            position = self._cloud.client.events().position
            self._cloud.read()
        else:
            position = found.position
            self._read_changed(found.events)
        # Not before: if the service goes away meanwhile, all this is done again.
        self._position = position
        return found is None or bool(found.events)

    def _read_changed(self, events: Sequence[Event]) -> None:
        roots = {event.root_uuid for event in events if event.root_uuid is not None}
        # A provider that was moved is missing in a tree that its event does not name.
        is_moved = any(event.kind is EventKind.PROVIDER for event in events)
        if is_moved or self._cloud.tree_uuid is not None or len(roots) > TREES_MAX:
            self._cloud.read()
        elif roots:
            self._cloud.read_trees(roots)


class Screen:
    """Trees on a whole terminal, as many as fit."""

    def __init__(self, *, limit: int | None, with_traits: bool) -> None:
        self._console = Console(highlight=False)
        self._limit = limit
        self._with_traits = with_traits
        self._drawn: tuple[object, ...] | None = None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Takes the terminal, and gives it back as it was."""
        before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        self._console.set_alt_screen(True)
        try:
            yield
        finally:
            self._console.set_alt_screen(False)
            signal.signal(signal.SIGTERM, before)

    def draw(self, trees: Sequence[Node], status: str) -> None:
        """Draw the trees, unless they are on the screen already."""
        size = self._console.size
        if self._drawn == (trees, status, size):
            return
        self._drawn = (trees, status, size)
        # Without the last column: erasing the rest of a line that is full erases its end.
        drawing = Drawing(
            width=max(1, size.width - 1),
            encoding=self._console.encoding,
            with_traits=self._with_traits,
        )
        trees = trees[: self._limit] if self._limit else trees
        lines, left_out = fitting(trees, drawing, size.height - 1)
        lines += [[]] * (size.height - 1 - len(lines))
        status = "; ".join(filter(None, (status, left_out)))
        hint = f"{status}; Ctrl-C ends"
        lines.append(drawing.note(hint if len(hint) < size.width else status))
        # In one piece, so that nothing flickers.
        with self._console:
            self._console.control(Control.home())
            for number, line in enumerate(lines[-size.height :]):
                self._console.print(Text("\n" if number else ""), end="")
                self._console.print(Text.assemble(*line), soft_wrap=True, end="")
                self._console.control(Control((ControlType.ERASE_IN_LINE, 0)))


def fitting(trees: Sequence[Node], drawing: Drawing, height: int) -> tuple[list[Line], str]:
    """As many lines as fit, and what is said about the rest."""
    lines: list[Line] = []
    for number, root in enumerate(trees):
        room = height - len(lines)
        of_tree = list(drawing.lines(root))
        lines += of_tree[:room]
        if room < len(of_tree):
            hidden_trees = len(trees) - number - (1 if room else 0)
            hidden_lines = len(of_tree) - room if room else 0
            parts = [counted(hidden_lines, "more line"), counted(hidden_trees, "more tree")]
            hidden = [text for text in parts if not text.startswith("0 ")]
            verb = "does" if hidden_lines + hidden_trees == 1 else "do"
            return lines, f"{' and '.join(hidden)} {verb} not fit"
    return lines, ""


def watch(cloud: Cloud, feed: Feed, selection: Selection, screen: Screen) -> None:
    """Show what was read of a cloud, and follow it until the process is interrupted."""
    trees, remark = cloud.trees(selection), ""
    status = _status(cloud, selection, trees)
    with screen.shown():
        while True:
            screen.draw(trees, f"{status}{remark}")
            try:
                found = feed.wait()
                began = time.monotonic()
                has_changed = feed.update(found)
                reading = time.monotonic() - began
            except (Unreachable, Unavailable):
                remark = ", no answer since"
                time.sleep(AWAY_SECONDS)
                continue
            remark = ""
            if has_changed:
                trees = cloud.trees(selection)
                status = _status(cloud, selection, trees)
                screen.draw(trees, status)
                whole = time.monotonic() - began
                time.sleep(max(PAUSE_SECONDS_MIN, READING_FACTOR * reading, whole))


def _status(cloud: Cloud, selection: Selection, trees: Sequence[Node]) -> str:
    why_nothing = "" if trees else f"{printable(cloud.why_nothing(selection))}, "
    return f"{why_nothing}as of {time.strftime('%H:%M:%S')}"
