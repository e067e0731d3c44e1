"""Another project's tests, in a process with the Python that they are installed for."""

import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
# Each environment for tests has one with nova: .venv-nova for .venv; see scripts/environment.
NOVA_PYTHON = ROOT / Path(sys.prefix).name.replace(".venv", ".venv-nova", 1) / "bin" / "python"
SECONDS_MAX = "600"  # for one test; the longest take a few seconds on a machine that is not busy


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one test."""

    test: str
    outcome: str  # passed, failed, skipped, or xfailed where the project itself expects a failure
    text: str
    seconds: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Suite:
    """Tests that an installed distribution brings along."""

    distribution: str
    package: str
    counted_version: str
    # How many tests each module of that version has, so that a module that is not found, or not
    # read, cannot pass.
    counts: Mapping[str, int]

    def __str__(self) -> str:
        return self.distribution

    @property
    def version(self) -> str:
        return importlib.metadata.version(self.distribution)

    def modules(self) -> list[str]:
        """The modules with tests, from the list of installed files."""
        folder = self.package.replace(".", "/")
        files = importlib.metadata.files(self.distribution) or []
        paths = (path for path in files if path.parent.as_posix() == folder)
        return sorted(path.stem for path in paths if path.match("test_*.py"))


class WorkerEnded(Exception):
    """The process ended before it had answered."""


class Worker:
    """A process that runs tests by name; see worker.py.

    `settings` are environment variables. Those of the user that name a cloud (OS_*) are left out.
    """

    def __init__(
        self, settings: Mapping[str, str], log_path: Path, python: str = sys.executable
    ) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
        self._environment = {
            **kept,
            "OS_TEST_TIMEOUT": SECONDS_MAX,
            # Tests run commands that are installed beside their Python.
            "PATH": os.pathsep.join([str(Path(python).parent), kept["PATH"]]),
            "PYTHONPATH": str(ROOT),
            **settings,
        }
        self._log_path = log_path
        self._python = python

    def __enter__(self) -> Self:
        with self._log_path.open("wb") as log:
            self._process = subprocess.Popen(
                [self._python, "-m", "tests.suites.worker"],
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Tests may have left threads that keep the process from ending by itself.
        self._process.kill()
        self._process.communicate()

    def names(self, name: str) -> list[str]:
        """The names of the tests of a module or class."""
        return list(self._ask("list", name))

    def run(self, name: str) -> Iterator[Outcome]:
        """The outcomes of a module, class or test, each as soon as it is there."""
        for fields in self._ask("run", name):
            yield Outcome(**fields)

    def _ask(self, verb: str, name: str) -> Iterator[Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(verb, name, file=self._process.stdin, flush=True)
        for line in self._process.stdout:
            if line == "\n":
                return
            yield json.loads(line)
        raise WorkerEnded(
            f"the process that had to {verb} {name} ended with {self._process.wait()}; "
            f"its output is in {self._log_path}"
        )
