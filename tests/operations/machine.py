"""A Debian system with systemd, booted by systemd-nspawn from the folder of scripts/boot."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

ROOT = Path(__file__).parents[2]
BOOT_SECONDS_MAX = 60
STOP_SECONDS_MAX = 30


class Machine:
    """The system; what is written to it is gone when it stops. It has a network of its own."""

    def __init__(self, folder: Path, log: Path) -> None:
        self._folder = folder
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._first_process = 0

    def __enter__(self) -> Self:
        command = [
            str(shutil.which("systemd-nspawn")),
            "--boot",
            f"--directory={self._folder}",
            "--volatile=overlay",
            "--private-network",
            f"--machine=roost-{os.getpid()}",
            # There may be no systemd on this system that could keep track of it.
            "--register=no",
            "--keep-unit",
            f"--bind-ro={ROOT / 'deploy'}:/deploy",
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        try:
            self._wait_until_booted()
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

    def run(self, command: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a line of shell in the system."""
        done = subprocess.run(
            ["nsenter", f"--target={self._first_process}", "--all", "sh", "-c", command],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"},
        )
        assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done

    def output(self, command: str) -> str:
        return self.run(command).stdout.strip()

    def write(self, path: str, text: str) -> None:
        self.run(f"mkdir -p {os.path.dirname(path)} && cat >{path} <<'END'\n{text}\nEND")

    def property(self, unit: str, name: str) -> str:
        """What systemd says about a unit."""
        return self.output(f"systemctl show {unit} --property {name} --value")

    def processes(self, unit: str) -> dict[int, int]:
        """The processes of a unit, by the ids of the system, and their parents."""
        listed = self.output(f"ps -o pid=,ppid= --ppid {self.property(unit, 'MainPID')}")
        pairs = (line.split() for line in listed.splitlines())
        return {int(process): int(parent) for process, parent in pairs}

    def _wait_until_booted(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + BOOT_SECONDS_MAX
        state = ""
        while state not in ("running", "degraded"):
            output = self._log.read_text(errors="replace")
            assert self._process.poll() is None, f"systemd-nspawn ended:\n{output}"
            assert time.monotonic() < deadline, f"not booted: {state}\n{output}"
            time.sleep(0.3)
            children = psutil.Process(self._process.pid).children()
            if children:
                self._first_process = children[0].pid
                state = self.run("systemctl is-system-running", check=False).stdout.strip()

    def _stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            # The way to power off a machine.
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
