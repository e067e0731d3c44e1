"""`roost serve` as a real process, for tests that speak HTTP to it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from servers import free_port

START_SECONDS_MAX = 30
STOP_SECONDS_MAX = 15


def command(*arguments: str) -> list[str]:
    """The command line of `roost`, as this interpreter has it installed."""
    return [sys.executable, "-m", "roost", *arguments]


class RoostServer:
    """Starts `roost serve` and waits until it answers; ends it with SIGTERM.

    Without a database URL, the configuration has to name the database.
    """

    def __init__(
        self,
        database_url: str | None,
        folder: Path,
        *,
        config_file: Path | None = None,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.output_path = folder / f"roost-{self.port}.log"
        self._environment = {**os.environ, **(environment or {})}
        self._command = command(
            "serve",
            *("--host", "127.0.0.1"),
            *("--port", str(self.port)),
            *(("--database", database_url) if database_url else ()),
            *("--workers", "1"),
            *("--auth", "noauth2"),
            *(("--config-file", str(config_file)) if config_file else ()),
            *arguments,
        )

    @property
    def output(self) -> str:
        """All that the process has printed so far."""
        return self.output_path.read_text(errors="replace")

    def __enter__(self) -> Self:
        with self.output_path.open("wb") as output:
            self.process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # A Ctrl-C in the terminal is for pytest, which then stops the server itself.
                start_new_session=True,
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(
                    f"roost serve ended with {self.process.returncode}:\n{self.output}"
                )
            try:
                if httpx.get(f"{self.url}/", timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise RuntimeError(
            f"roost serve did not answer within {START_SECONDS_MAX} seconds:\n{self.output}"
        )

    def _stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                # The whole group, or worker processes would outlive the main one.
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
