"""`roost serve` with fault points, and with defects that can be built in.

Run as `python -m tests.faults.worker --port ... --database ...`. ROOST_FAULT_POINT names a file. If
it contains "before" or "after", the process kills itself just before, or just after, its next
COMMIT; if it contains "late", that COMMIT is delayed. ROOST_BROKEN names a defect to build in, to
show that the fault test notices it.
"""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from roost.cli.main import roost as program
from roost.server import worker
from roost.server.front import Front
from roost.store.feed import writer
from tests.faults.breaks import BREAKS

LATE_SECONDS = 0.3


def install_fault_point() -> None:
    path = Path(os.environ["ROOST_FAULT_POINT"])
    original = writer.Writer._commit

    def commit(self: Any, *arguments: Any) -> None:
        moment = path.read_text().strip() if path.exists() else ""
        if moment == "before":
            _die(path)
        if moment == "late":
            path.unlink(missing_ok=True)
            time.sleep(LATE_SECONDS)
        original(self, *arguments)
        if moment == "after":
            _die(path)

    writer.Writer._commit = commit  # type: ignore[method-assign]


def _die(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.kill(os.getpid(), signal.SIGKILL)


def prepare() -> None:
    """Runs in the process that serves, since changes in its parent do not reach it."""
    if "ROOST_FAULT_POINT" in os.environ:
        install_fault_point()
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
