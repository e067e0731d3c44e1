"""Progress of worker processes. Their parent shows it: a terminal has one line for all of them.

A worker sends it over the connection on which its parent tells it to stop.
"""

import select
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import NamedTuple

from roost.progress import Stage, View


class Report(NamedTuple):
    """What a worker is doing, and how much of it is done."""

    stage: Stage
    done: int


class ReportingView:
    """In a worker: shows progress by sending it to the parent."""

    def __init__(
        self, connection: Connection, *, after_seconds: float, every_seconds: float
    ) -> None:
        self.after_seconds = after_seconds
        self.every_seconds = every_seconds
        self._connection = connection
        self._is_drawn = False

    def draw(self, stage: Stage, done: int) -> None:
        self._send(Report(stage, done))
        self._is_drawn = True

    def erase(self) -> None:
        if self._is_drawn:
            self._send(None)
            self._is_drawn = False

    def _send(self, report: Report | None) -> None:
        poll = select.poll()
        poll.register(self._connection, select.POLLOUT)
        # A parent that is paused reads nothing. The worker must not wait for it.
        if poll.poll(0):
            # A parent that has died ends the worker, in another thread.
            with suppress(OSError):
                self._connection.send(report)


class ReportedProgress:
    """In the parent: shows what one of the workers reports, the first of those that report."""

    def __init__(self, view: View | None) -> None:
        """Without a view nothing is shown."""
        self._view = view
        self._reports: dict[int, Report] = {}  # by the number of the worker

    def take(self, worker: int, report: Report | None) -> None:
        """Note a report; None if the worker is done, or has ended."""
        if report is not None:
            self._reports[worker] = report
        elif self._reports.pop(worker, None) is None:
            return
        if self._view is None:
            return
        if not self._reports:
            self._view.erase()
        elif report is not None and worker == min(self._reports):
            title = f"worker {worker}: {report.stage.title}"
            self._view.draw(report.stage._replace(title=title), report.done)

    def clear(self) -> None:
        """Forget all reports."""
        for worker in [*self._reports]:
            self.take(worker, None)
