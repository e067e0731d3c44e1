"""`roost serve` with fault points, and with defects that can be built in.

Run as `python -m tests.faults.worker --port ... --database ...`. ROOST_FAULT_POINT names a file. If
it contains "before" or "after", the process kills itself just before, or just after, its next
COMMIT; if it contains "late", that COMMIT is delayed. ROOST_BATCHES names a file that gets a line
for each COMMIT of claims of new consumers: how it was done, and how many claims it was for; and one
whenever a process knew ten times that nothing is new, without asking the database. A service
that is silent for ROOST_ENDED_SECONDS is ended by the others. ROOST_CONTENDED_SECONDS sets for how
long a process that lost a race locks providers first. ROOST_BROKEN names a defect to build in, to
show that the fault test notices it.
"""

import contextlib
import itertools
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from roost.cli.main import roost as program
from roost.operations.claiming import claim
from roost.server import worker
from roost.server.front import Front
from roost.service import contention
from roost.store import at_once_writer
from roost.store.connection.statements import Write
from roost.store.feed import other_writers, registration, writer
from roost.store.feed.shared_positions import SharedPositions
from roost.store.store import Store
from tests.faults.breaks import BREAKS

LATE_SECONDS = 0.3
RELIED_EACH = 10


class FaultPoint:
    """A file that says what is to happen at the next COMMIT."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> str:
        # Another thread may clear it at any time.
        with contextlib.suppress(FileNotFoundError):
            return self._path.read_text().strip()
        return ""

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)

    def die(self) -> None:
        self.clear()
        os.kill(os.getpid(), signal.SIGKILL)


def install_fault_point(point: FaultPoint) -> None:
    """Let transactions that end with a COMMIT of their own meet the fault point."""
    original = writer.Writer._commit

    def commit(self: Any, *arguments: Any) -> None:
        moment = point.read()
        if moment == "before":
            point.die()
        if moment == "late":
            point.clear()
            time.sleep(LATE_SECONDS)
        original(self, *arguments)
        if moment == "after":
            point.die()

    writer.Writer._commit = commit  # type: ignore[method-assign]


def install_batch_fault_point(point: FaultPoint) -> None:
    """Let what is written and committed in one step meet it too."""

    def with_fault_point(original: Any) -> Any:
        def send(connection: Connection, writes: Sequence[Write]) -> None:
            moment = point.read()
            if moment == "before":
                point.die()
            if moment == "late":
                point.clear()
                send_late(original, connection, writes)
            else:
                original(connection, writes)
            if moment == "after":
                point.die()

        return send

    def send_late(original: Any, connection: Connection, writes: Sequence[Write]) -> None:
        """Everything is written, and nobody sees it yet."""
        if connection.dialect.name == "mysql":
            *rows, commit = writes
            original(connection, [*rows, Write(f"DO SLEEP({LATE_SECONDS})"), commit])
        else:
            connection.exec_driver_sql("BEGIN")
            try:
                original(connection, writes)
            except BaseException:
                # It fails as a whole, and whoever sent it knows of no transaction around it.
                connection.exec_driver_sql("ROLLBACK")
                raise
            time.sleep(LATE_SECONDS)
            connection.exec_driver_sql("COMMIT")

    at_once_writer.send_past_engine = with_fault_point(at_once_writer.send_past_engine)


def count_batches(path: Path) -> None:
    at_once, all_batches = Store.write_at_once, claim._Batch._count_written
    newest = SharedPositions.newest
    relied = itertools.count(1)

    def count(kind: str, size: int) -> None:
        with path.open("a") as file:
            file.write(f"{kind} {size}\n")

    def write_at_once(self: Any, claims: Any, record: Any) -> None:
        at_once(self, claims, record)
        count("at-once", max(len(record.claims), 1))

    def count_written(self: Any, judged: Any) -> None:
        all_batches(self, judged)
        if judged.accepted:
            count("commits", len(judged.accepted))

    def count_relied(self: Any, position: Any) -> Any:
        found = newest(self, position)
        if found is not None and next(relied) % RELIED_EACH == 0:
            count("relied", 1)
        return found

    SharedPositions.newest = count_relied  # type: ignore[method-assign]
    Store.write_at_once = write_at_once  # type: ignore[method-assign]
    claim._Batch._count_written = count_written  # type: ignore[method-assign]


def prepare() -> None:
    """Runs in the process that serves, since changes in its parent do not reach it."""
    if path := os.environ.get("ROOST_FAULT_POINT"):
        point = FaultPoint(Path(path))
        install_fault_point(point)
        install_batch_fault_point(point)
    if seconds := os.environ.get("ROOST_CONTENDED_SECONDS"):
        contention.CONTENDED_SECONDS = float(seconds)
    if seconds := os.environ.get("ROOST_ENDED_SECONDS"):
        registration.ENDED_SECONDS = int(seconds)
        other_writers.LOOK_SECONDS = float(seconds)
    if path := os.environ.get("ROOST_BATCHES"):
        count_batches(Path(path))
    if broken := os.environ.get("ROOST_BROKEN"):
        BREAKS[broken]()


# Saved before it is replaced: in a forked process it is replaced already.
_load_worker = worker.load_worker


def load_worker(*arguments: Any) -> Front:
    prepare()
    return _load_worker(*arguments)


def main() -> None:
    worker.load_worker = load_worker
    program(["serve", *sys.argv[1:]], prog_name="roost")


if __name__ == "__main__":
    main()
