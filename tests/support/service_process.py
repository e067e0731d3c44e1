"""A service in a separate process: started, waited for, and stopped with all its children."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Protocol, Self

import httpx

START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 15


def free_port() -> int:
    """A loopback port on which no process listens right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Process(Protocol):
    """What tests use of a `subprocess.Popen`."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | Any: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, number: int, /) -> None: ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


class ServiceProcess:
    """Runs a command until the block ends; what it prints goes to a file.

    `is_ready` may raise httpx.TransportError while the service does not listen yet.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        output_path: Path,
        is_ready: Callable[[], bool],
    ) -> None:
        self._command = command
        self._environment = environment
        self._is_ready = is_ready
        self.output_path = output_path

    @property
    def output(self) -> str:
        """Everything that the process has printed so far."""
        return self.output_path.read_text(errors="replace")

    def __enter__(self) -> Self:
        with self.output_path.open("wb") as output:
            self.process = self._start(output)
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def _start(self, output: BinaryIO) -> "Process":
        return subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # A Ctrl-C in the terminal is for pytest, which then stops the service itself.
            start_new_session=True,
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(
                    f"{self._command} ended with {self.process.returncode}:\n{self.output}"
                )
            try:
                if self._is_ready():
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise RuntimeError(
            f"{self._command} was not ready within {START_SECONDS_MAX} seconds:\n{self.output}"
        )

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                # The whole group, or worker processes would outlive the main one.
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
