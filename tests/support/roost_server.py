"""`roost serve` as a real process, for tests that speak HTTP to it."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import httpx

from tests.support.forked_process import can_fork, start_service
from tests.support.service_process import Process, ServiceProcess, free_port


def command(*arguments: str) -> list[str]:
    """The command line of `roost`, as this interpreter has it installed."""
    return [sys.executable, "-m", "roost", *arguments]


class RoostServer(ServiceProcess):
    """Starts `roost serve` and waits until it answers; ends it with SIGTERM.

    Without a database URL, the configuration has to name the database. The process is a fork of one
    that has imported the program; a test of the process itself names the `program`: `command()`.
    """

    def __init__(
        self,
        database_url: str | None,
        folder: Path,
        *,
        config_file: Path | None = None,
        auth: str = "noauth2",
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        program: Sequence[str] | None = None,
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._arguments = [
            "serve",
            *("--host", "127.0.0.1"),
            *("--port", str(self.port)),
            *(("--database", database_url) if database_url else ()),
            *("--workers", "1"),
            *("--auth", auth),
            *(("--config-file", str(config_file)) if config_file else ()),
            *arguments,
        ]
        # Metrics choose their files when they are imported, by whether several workers share them.
        self._is_forked = program is None and "--workers" not in arguments
        super().__init__(
            [*(program or command()), *self._arguments],
            environment={**os.environ, **(environment or {})},
            output_path=folder / f"roost-{self.port}.log",
            is_ready=lambda: httpx.get(f"{self.url}/", timeout=5).status_code == 200,
        )

    def _start(self, output: BinaryIO) -> Process:
        if not self._is_forked or not can_fork(self._environment):
            return super()._start(output)
        return start_service(self._arguments, environment=self._environment, output=output)
