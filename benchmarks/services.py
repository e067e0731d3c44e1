"""The two services that are measured, each as real processes that listen on a loopback port."""

import importlib.metadata
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

import psutil

from benchmarks.client import Connection, Request, TooSlow
from benchmarks.load import reference_url
from benchmarks.processes import process_tree
from tests.support.database_servers import free_port

PROCESSES = 2
# The default of `roost serve`.
ROOST_THREADS = 4
# The reference's own performance jobs use this number.
REFERENCE_THREADS = 25
REFERENCE_MEGABYTES_MAX = 6144
START_SECONDS_MAX = 300
STOP_SECONDS_MAX = 20
WARM_UP_CONNECTIONS = 8
REQUEST_SECONDS_MAX = 120

# Both services read this file: roost has the reference's options. Neither logs requests.
CONFIGURATION = """\
[DEFAULT]
debug = false
default_log_levels = placement=WARNING,roost=WARNING

[api]
auth_strategy = noauth2

[placement]
randomize_allocation_candidates = {randomize}

[placement_database]
max_pool_size = 25
max_overflow = 100
"""


class Service:
    """A service that runs on a database with tables and rows."""

    name: ClassVar[str]

    def __init__(self, database_url: str, folder: Path, processes: int = PROCESSES) -> None:
        self.port = 0
        self.processes = processes
        self.database_url = database_url
        self.start_seconds = 0.0
        # Whether searches with a limit return a random sample.
        self.randomize = False
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._log = folder / f"{self.name}-{uuid.uuid4()}.log"

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        return {}

    @property
    def process_id(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def connect(self, seconds_max: float = REQUEST_SECONDS_MAX) -> Connection:
        return Connection(self.port, seconds_max=seconds_max)

    def __enter__(self) -> Self:
        self._start()
        return self

    def restart(self) -> None:
        """Kill the service, whatever it is doing, and start it again."""
        self._kill()
        self._start()

    def warm_up(self, request: Request) -> None:
        """Send enough requests that every process answers one: the kernel chooses the process."""
        for _ in range(WARM_UP_CONNECTIONS * self.processes):
            with self.connect() as connection:
                connection.send(request)

    def _start(self) -> None:
        (self._folder / "placement.conf").write_text(CONFIGURATION.format(randomize=self.randomize))
        self.port = free_port()
        began = time.monotonic()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self.command(),
                env=os.environ | self.environment(),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # Ctrl-C in the terminal must reach the benchmark only; it then stops the service.
                start_new_session=True,
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self._stop()
            raise
        self.start_seconds = time.monotonic() - began

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    def _wait_until_ready(self) -> None:
        """Wait until the service answers a search, which needs the database and the index."""
        request = Request("GET", "/allocation_candidates?resources=VCPU:1&limit=1")
        deadline = time.monotonic() + START_SECONDS_MAX
        assert self._process is not None
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise RuntimeError(f"{self.name} ended at once:\n{self.log}")
            try:
                with self.connect() as connection:
                    status = connection.send(request).status
            except OSError:
                time.sleep(0.02)
                continue
            except TooSlow:
                break
            if status == 200:
                return
            raise RuntimeError(f"{self.name} answers {status} to a search:\n{self.log}")
        raise RuntimeError(f"{self.name} did not answer in time:\n{self.log}")

    def _stop(self) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._kill()

    def _kill(self) -> None:
        # Kill the whole process group. Otherwise the workers would outlive the main process.
        members = list(process_tree(self.process_id))
        os.killpg(self.process_id, signal.SIGKILL)
        psutil.wait_procs(members, STOP_SECONDS_MAX)


class ReferenceService(Service):
    """OpenStack Placement under uwsgi, without a router process, which would cost extra time."""

    name = "reference"

    def command(self) -> list[str]:
        return [
            str(Path(sys.executable).parent / "uwsgi"),
            *("--http11-socket", f"127.0.0.1:{self.port}"),
            *("--virtualenv", sys.prefix),
            *("--module", "placement.wsgi.api:application"),
            *("--processes", str(self.processes)),
            *("--threads", str(REFERENCE_THREADS)),
            *("--buffer-size", "65535"),
            *("--listen", "100"),
            "--master",
            "--need-app",
            # Each worker opens its own connections to the database.
            "--lazy-apps",
            "--die-on-term",
            "--no-orphans",
            "--disable-logging",
            # Some requests would take hours and all memory. The client gives up before uwsgi does.
            *("--harakiri", str(REQUEST_SECONDS_MAX + 30)),
            *("--limit-as", str(REFERENCE_MEGABYTES_MAX)),
        ]

    def environment(self) -> dict[str, str]:
        return {
            "OS_PLACEMENT_CONFIG_DIR": str(self._folder),
            "OS_PLACEMENT_DATABASE__CONNECTION": reference_url(self.database_url),
        }


class RoostService(Service):
    name = "roost"

    def __init__(
        self,
        database_url: str,
        folder: Path,
        processes: int = PROCESSES,
        threads: int = ROOST_THREADS,
    ) -> None:
        super().__init__(database_url, folder, processes)
        self.threads = threads

    def command(self) -> list[str]:
        return [
            *(sys.executable, "-m", "roost", "serve"),
            *("--host", "127.0.0.1", "--port", str(self.port)),
            *("--database", self.database_url),
            *("--workers", str(self.processes)),
            *("--threads", str(self.threads)),
            *("--auth", "noauth2"),
            *("--config-file", str(self._folder / "placement.conf")),
        ]


def versions() -> dict[str, str]:
    names = ["roost", "openstack-placement", "uwsgi", "httptools", "numpy", "SQLAlchemy"]
    return {
        "python": sys.version.split()[0],
        **{name: importlib.metadata.version(name) for name in names},
    }
