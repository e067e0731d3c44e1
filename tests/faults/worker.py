"""`roost serve` with fail-points, and with parts that can be broken on purpose.

Run as `python -m faults.worker --port ... --database ...`. ROOST_FAULT_POINT names a file; when it
says "before" or "after", the process kills itself just before, or just after, its next COMMIT.
ROOST_BROKEN names a part to break, to show that the fault test notices.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from roost.cli import server
from roost.cli.main import roost as program
from roost.settings import Settings
from roost.store import feed, prepared, writer
from roost.wsgi import Application


def install_fault_point() -> None:
    path = Path(os.environ["ROOST_FAULT_POINT"])
    original = writer.Writer._commit

    def commit(self: Any, *arguments: Any) -> None:
        moment = path.read_text().strip() if path.exists() else ""
        if moment == "before":
            _die(path)
        original(self, *arguments)
        if moment == "after":
            _die(path)

    writer.Writer._commit = commit  # type: ignore[method-assign]


def _die(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.kill(os.getpid(), signal.SIGKILL)


# ---------------------------------------------------------------------------------------------
# What can be broken


def break_guard() -> None:
    """Nobody looks whether generations moved."""
    original = prepared.Prepared.write

    def write(self: Any, dialect: Any, values: Any, **fields: Any) -> Any:
        if fields.get("reason") == "a provider's generation moved":
            fields["expected"] = None
        return original(self, dialect, values, **fields)

    prepared.Prepared.write = write  # type: ignore[method-assign]


def break_feed() -> None:
    """Changes are read by one running number: who took a lower one and commits late is missed."""
    original = feed._moved

    def moved(position: Any, now: Any) -> Any:
        found = original(position, now)
        return dict(list(found.items())[:1]) if found else found

    feed._moved = moved


def break_commit() -> None:
    """A COMMIT without an answer is tried again blindly."""
    writer.Writer._took_place = lambda *_: False  # type: ignore[method-assign,assignment]


BREAKS = {"guard": break_guard, "feed": break_feed, "commit": break_commit}


def prepare() -> None:
    """In the process that serves: its parent's changes do not reach it."""
    if "ROOST_FAULT_POINT" in os.environ:
        install_fault_point()
    if broken := os.environ.get("ROOST_BROKEN"):
        BREAKS[broken]()


# Before it is replaced: in a process that was forked it is replaced already.
_load_worker = server.load_worker


def load_worker(settings: Settings) -> Application:
    prepare()
    return _load_worker(settings)


def main() -> None:
    server.load_worker = load_worker
    program(["serve", *sys.argv[1:]], prog_name="roost")


if __name__ == "__main__":
    main()
