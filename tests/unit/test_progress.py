"""What is drawn of progress, and when. tests/cli/test_progress.py has whole programs."""

import time

import pytest

from roost import progress as module
from roost.progress import SILENT, LineView, Stage, drawn, track
from roost.server.progress_reports import Report, ReportedProgress


class RecordingView:
    """Keeps what it is asked to draw."""

    after_seconds = 0.0
    every_seconds = 0.001

    def __init__(self) -> None:
        self.drawn: list[tuple[str, int]] = []
        self.erased = 0

    def draw(self, stage: Stage, done: int) -> None:
        self.drawn.append((stage.title, done))

    def erase(self) -> None:
        self.erased += 1


def stage(title: str, total: int | None = 8, seconds: float = 0) -> Stage:
    return Stage(title, total, time.monotonic() - seconds)


def line(stage: Stage, done: int) -> str:
    lines: list[str] = []
    LineView(lines.append).draw(stage, done)
    return lines[0]


def test_lines_say_what_is_known() -> None:
    assert line(stage("reading", 84_012), 5_000) == "reading: 5,000 of 84,012 (5 %), 0 s"
    assert line(stage("reading", 0), 0) == "reading: 0 of 0, 0 s"
    assert line(stage("reading", None, 75), 5_000) == "reading: 5,000, 1 min 15 s"
    assert line(stage("adding an index", None, 3), 0) == "adding an index: 3 s"


def test_a_view_is_drawn_until_the_block_ends() -> None:
    view = RecordingView()
    with drawn(view) as progress:
        assert progress.is_shown
        for number in track(progress, "reading", range(3)):
            deadline = time.monotonic() + 30
            while ("reading", number) not in view.drawn:
                assert time.monotonic() < deadline
    count = len(view.drawn)
    assert view.erased == 1
    time.sleep(0.01)
    assert len(view.drawn) == count


def test_quick_work_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(module, "LINE_AFTER_SECONDS", 60.0)
    with drawn(LineView(lines.append)) as progress:
        progress.stage("reading")
    assert lines == []


def test_without_a_view_nothing_is_shown() -> None:
    with drawn(None) as progress, progress.printing():
        progress.stage("reading", 3)
        progress.advance()
        assert not progress.is_shown
    assert not SILENT.is_shown


def test_the_first_worker_that_reports_is_shown() -> None:
    view = RecordingView()
    reported = ReportedProgress(view)
    reported.take(2, Report(stage("reading"), 1))
    reported.take(1, Report(stage("reading"), 2))
    reported.take(2, Report(stage("reading"), 3))
    assert view.drawn == [("worker 2: reading", 1), ("worker 1: reading", 2)]
    reported.take(1, None)
    assert view.erased == 0
    reported.take(2, Report(stage("reading"), 4))
    assert view.drawn[-1] == ("worker 2: reading", 4)
    reported.clear()
    assert view.erased == 1
    # A worker that ends without having reported anything is nothing to erase.
    reported.take(1, None)
    assert view.erased == 1
