"""A program in a terminal of its own, in which somebody presses Ctrl-C."""

import os
import pty
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

CTRL_C = b"\x03"
SECONDS_MAX = 30


class Terminal:
    """Runs a command in the foreground, so that the keys reach it and all its children."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._keyboard, screen = pty.openpty()
        try:
            self.process = subprocess.Popen(
                ["setsid", "--ctty", *command],
                env=environment,
                stdin=screen,
                stdout=screen,
                stderr=screen,
            )
        finally:
            os.close(screen)
        self._shown = b""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        try:
            while shown := os.read(self._keyboard, 65536):
                self._shown += shown
        except OSError:
            # The last program has left the terminal.
            return

    @property
    def screen(self) -> str:
        return self._shown.decode(errors="replace")

    def press(self, key: bytes) -> None:
        os.write(self._keyboard, key)

    def wait_for(self, text: str) -> None:
        until = time.monotonic() + SECONDS_MAX
        while text not in self.screen:
            assert self.process.poll() is None, self.screen
            assert time.monotonic() < until, self.screen
            time.sleep(0.02)

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
        self._reader.join()
        os.close(self._keyboard)
