"""A `roost` that was forked by a process of this test run, with the interface of a `Popen`.

It starts in a tenth of the time that an interpreter needs to import the program. Tests of what a
process is, such as of its signals, its memory or its installation, start one by its command line.
"""

import atexit
import functools
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from tests.support.preloaded_program import ANSWER, FILES, LENGTH, PROGRAM, PreloadedProgram

# What an interpreter and its libraries read when they start. Metrics choose files by the last.
_READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_", "TZ", "PROMETHEUS_")


def can_fork(environment: Mapping[str, str]) -> bool:
    """Whether the program would start in the same way with the variables of this process."""
    return _read_at_start(environment) == _read_at_start(os.environ)


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_READ_AT_START)}


class ForkedProcess:
    """`arguments` follow `roost`; files are given by their descriptors.

    `module` names another program, by a module with a function `main`. What it imports besides
    roost is imported at its start.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str],
        files: tuple[int, int, int],
        new_session: bool = False,
        module: str = PROGRAM,
    ) -> None:
        self.args = ["roost" if module == PROGRAM else module, *arguments]
        self.returncode: int | None = None
        # As if it were started here, for those who watch that.
        sys.audit("subprocess.Popen", self.args[0], self.args, None, None)
        request = json.dumps(
            {
                "module": module,
                "arguments": [_main_module() if module == PROGRAM else module, *arguments],
                "folder": os.getcwd(),
                "variables": dict(environment),
                "new_session": new_session,
                "limits": {resource.RLIMIT_NOFILE: resource.getrlimit(resource.RLIMIT_NOFILE)},
            }
        ).encode()
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(str(_program().address))
        length = len(request).to_bytes(LENGTH)
        assert len(files) == FILES
        socket.send_fds(self._connection, [length], list(files))
        self._connection.sendall(request)
        self.pid = self._read_answer()

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._connection], [], [], 0)[0]:
            self._note_end()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self._note_end()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _note_end(self) -> None:
        self.returncode = self._read_answer()
        self._connection.close()

    def _read_answer(self) -> int:
        return int(self._connection.recv(ANSWER, socket.MSG_WAITALL))


def start_service(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    output: BinaryIO,
    module: str = PROGRAM,
) -> ForkedProcess:
    """A process that reads nothing, prints to a file, and leads a group of its own."""
    with open(os.devnull) as nothing:
        return ForkedProcess(
            arguments,
            environment=environment,
            files=(nothing.fileno(), output.fileno(), output.fileno()),
            new_session=True,
            module=module,
        )


def run(
    *arguments: str, environment: Mapping[str, str] | None = None, timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run a command until it ends; `environment` is added to that of the tests."""
    with (
        tempfile.TemporaryFile("w+") as printed,
        tempfile.TemporaryFile("w+") as said,
        open(os.devnull) as nothing,
    ):
        process = ForkedProcess(
            arguments,
            environment={**os.environ, **(environment or {})},
            files=(nothing.fileno(), printed.fileno(), said.fileno()),
        )
        try:
            status = process.wait(timeout)
        finally:
            process.kill()
        printed.seek(0)
        said.seek(0)
        return subprocess.CompletedProcess(process.args, status, printed.read(), said.read())


def _main_module() -> str:
    """What `sys.argv` begins with in `python -m roost`."""
    import roost

    return str(Path(str(roost.__file__)).with_name("__main__.py"))


@functools.cache
def _program() -> PreloadedProgram:
    """Started when it is needed first, and ended with this process."""
    folder = tempfile.TemporaryDirectory(prefix="roost-preloaded-")
    program = PreloadedProgram(Path(folder.name))
    program.__enter__()
    atexit.register(folder.cleanup)
    atexit.register(program.stop)
    return program
