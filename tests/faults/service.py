"""Workers of the service, each with a connection of its own to a database node."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx
import psutil

from tests.faults.proxy import Proxy
from tests.support.database_servers import free_port

START_SECONDS_MAX = 60
# What hostile clients ask for ends soon, so that many of them have their turn.
LIMITS = {
    "OS_ROOST__SEARCH_SECONDS_MAX": "0.5",
    "OS_ROOST__BODY_SECONDS_MAX": "2",
}
# Services end each other by mistake all the time, as when they are frozen.
ENDED_SECONDS = "1"
# What a worker logs when the answer to a batch was lost.
FINDING_OUT = "a claim failed, finding out whether it took place"
ROOT = Path(__file__).resolve().parents[2]


class Worker:
    """One service, of one process or several. It can be killed, frozen and started again."""

    def __init__(
        self,
        number: int,
        database_url: str,
        database_port: int,
        folder: Path,
        broken: str | None,
        process_count: int,
    ) -> None:
        self.number = number
        self.proxy = Proxy(database_port, f"proxy {number}")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._database_url = database_url
        self._broken = broken
        self._process_count = process_count
        self._log = folder / f"worker{number}.log"
        self.fault_point = folder / f"fault-point{number}"
        self._batches = folder / f"batches{number}"
        self._process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    def __enter__(self) -> Self:
        self.proxy.__enter__()
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()
        self.proxy.__exit__(kind, error, traceback)

    def start(self) -> None:
        """Start the process, without waiting until it answers."""
        self.fault_point.unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.faults.worker", "--port", str(self.port)]
        url = self._database_url.format(port=self.proxy.port)
        path = os.environ.get("PYTHONPATH")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [path])]),
            **LIMITS,
            "ROOST_FAULT_POINT": str(self.fault_point),
            "ROOST_BATCHES": str(self._batches),
            "ROOST_ENDED_SECONDS": ENDED_SECONDS,
            "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "false" if self.starts else "true",
        }
        if self.number % 2:
            # Here claims are written at once, although others often want the same.
            environment["ROOST_CONTENDED_SECONDS"] = "0"
        if self._broken is not None:
            environment["ROOST_BROKEN"] = self._broken
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(*command, "--database", url, "--auth", "noauth2"),
                    *("--workers", str(self._process_count)),
                ],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.starts += 1

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{self.url}/", timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise RuntimeError(f"worker {self.number} is not ready:\n{self.log_end()}")

    def log_end(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def batches(self) -> Counter[str]:
        """What all processes so far did with claims of new consumers, and without asking."""
        found = Counter({f"cut {moment}": n for moment, n in self.proxy.cut_batches.items()})
        found["outcomes found out"] = self.log.count(FINDING_OUT)
        lines = self._batches.read_text().splitlines() if self._batches.exists() else []
        for kind, size in map(str.split, lines):
            found[kind] += 1
            found[f"{kind} of several"] += int(size) > 1
        return found

    def processes(self) -> set[int]:
        """The ids of the processes that serve."""
        assert self._process is not None
        return {each.pid for each in psutil.Process(self._process.pid).children(recursive=True)}

    # -- faults --------------------------------------------------------------------------------

    def _signal(self, number: signal.Signals) -> None:
        # The whole group: the parent process and the one that serves.
        assert self._process is not None
        os.killpg(self._process.pid, number)

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._signal(signal.SIGKILL)
            self._process.wait()

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def restart(self) -> None:
        self.kill()
        self.start()
