"""A program in a terminal of its own: what a person sees, and presses."""

import os
import pty
import re
import signal
import subprocess
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

CTRL_C = b"\x03"
SECONDS_MAX = 60.0
COLUMNS = 80
ROWS = 24

_COLOR = re.compile(r"\x1b\[[0-9;]*m")


class Terminal:
    """Runs a command in the foreground, so that the keys reach it and all its children.

    `environment` is added to that of the tests. Without `stdout_is_terminal` the standard output is
    a pipe, and `printed` has it in the end. `written` has all bytes that reached the terminal.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        stdout_is_terminal: bool = True,
    ) -> None:
        self._keyboard, screen = pty.openpty()
        try:
            termios.tcsetwinsize(screen, (ROWS, COLUMNS))
            self.process = subprocess.Popen(
                ["setsid", "--ctty", *command],
                env={**os.environ, "TERM": "xterm", **(environment or {})},
                stdin=screen,
                stdout=screen if stdout_is_terminal else subprocess.PIPE,
                stderr=screen,
                # As a shell does. The tests themselves may run in the background, where Ctrl-C is
                # ignored, and so would be their children.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
        finally:
            os.close(screen)
        self.written = b""
        self.printed = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        try:
            while shown := os.read(self._keyboard, 65536):
                self.written += shown
        except OSError:
            # The last program has left the terminal.
            return

    @property
    def shown(self) -> str:
        """Everything that was written to the terminal, without colors."""
        return _COLOR.sub("", self.written.decode(errors="replace"))

    @property
    def screen(self) -> list[str]:
        """The lines as they stand on the screen, without spaces at their ends."""
        return [_overwritten(line) for line in self.shown.split("\n")]

    def press(self, key: bytes) -> None:
        os.write(self._keyboard, key)

    def interrupt(self) -> None:
        self.press(CTRL_C)

    def wait_for(self, text: str, times: int = 1) -> None:
        """Wait until this has been shown, so many times."""
        until = time.monotonic() + SECONDS_MAX
        while self.shown.count(text) < times:
            assert self.process.poll() is None or self._reader.is_alive(), self.shown
            assert time.monotonic() < until, self.shown
            time.sleep(0.02)

    def wait(self) -> int:
        """Wait until the program has ended; returns its exit status."""
        if self.process.stdout is not None:
            self.printed = self.process.stdout.read().decode()
        status = self.process.wait(SECONDS_MAX)
        # Until everything has been read.
        self._reader.join()
        return status

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self._reader.join()
        os.close(self._keyboard)

    # The last one, because it hides the built-in name from what follows.
    def type(self, text: str) -> None:
        self.press(text.encode())


def _overwritten(line: str) -> str:
    """A line after all its carriage returns and erasures, the only ones that roost writes."""
    cells: list[str] = []
    column = 0
    for part in re.split("(\r|\x1b\\[2K)", line):
        if part == "\r":
            column = 0
        elif part == "\x1b[2K":
            cells = []
        else:
            cells += " " * (column - len(cells))
            cells[column : column + len(part)] = part
            column += len(part)
    return "".join(cells).rstrip()
