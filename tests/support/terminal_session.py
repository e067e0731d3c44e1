"""A session in a terminal, as documents show it: commands after `$ `, and what they print."""

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from tests.support.terminal import COLUMNS, Terminal

PROMPT = "$ "
CTRL_C = "^C"

# Stands after the status of a command, so whoever has seen the mark can read the status.
_MARK = " is the status of a command"
_END = re.compile(rf"^(\d+){_MARK}$", re.MULTILINE)


class Command(NamedTuple):
    """A command, and the lines that a document shows of its output."""

    text: str  # empty: what the command before prints later
    output: tuple[str, ...]
    line: int  # the number of its line in the block, from 0


class Done(NamedTuple):
    """What a command printed, without colours and without empty lines around it."""

    output: tuple[str, ...]
    status: int


def commands(text: str) -> list[Command]:
    """The commands of a `console` block.

    Lines before the first one belong to a command that still runs in this terminal.
    """
    found: list[tuple[str, list[str], int]] = []
    for number, line in enumerate(text.splitlines()):
        if line.startswith(PROMPT):
            found.append((line.removeprefix(PROMPT), [], number))
        elif found and _is_unfinished(found[-1][0]):
            command, _, first = found[-1]
            found[-1] = f"{command}\n{line}", [], first
        elif found:
            found[-1][1].append(line)
        else:
            found.append(("", [line], number))
    return [Command(command, tuple(output), number) for command, output, number in found]


def _is_unfinished(command: str) -> bool:
    """Whether bash would ask for another line."""
    try:
        shlex.split(command)
    except ValueError:
        # A quotation mark is open, or a backslash is the last character.
        return True
    return False


class Shell:
    """One bash in a terminal, with these variables and no others.

    It runs each command as a script of its own, so the keyboard is free for the command.
    """

    def __init__(self, *, environment: Mapping[str, str], folder: Path, scratch: Path) -> None:
        self._scratch = scratch
        self._count = 0
        variables = {**environment, "TERM": "dumb", "COLUMNS": str(COLUMNS)}
        queue = scratch / "queue"
        os.mkfifo(queue)
        loop = (
            f"trap : INT; cd {shlex.quote(str(folder))}; exec 3<{shlex.quote(str(queue))}\n"
            # `echo $?` shows the status of the command before.
            'status=0; while IFS= read -r -u 3 script; do (exit $status); . "$script"; '
            f"status=$?; printf '\\n%d{_MARK}\\n' $status; done"
        )
        assignments = [f"{name}={value}" for name, value in variables.items()]
        self.terminal = Terminal(["env", "-i", *assignments, "bash", "-c", loop])
        # Waits until bash has opened it.
        self._queue = queue.open("w")

    def run(self, command: str) -> Done:
        """Run a command to its end."""
        self.start(command)
        return self.wait()

    def start(self, command: str) -> None:
        """Start a command that stays, such as a server."""
        assert not self.is_busy, f"another command still runs before: {command}"
        self._count += 1
        script = self._scratch / f"command{self._count}"
        script.write_text(f"{command}\n")
        self._queue.write(f"{script}\n")
        self._queue.flush()

    def interrupt(self) -> Done:
        """Press Ctrl-C, and wait until the command has ended."""
        self.terminal.interrupt()
        return self.wait()

    def wait(self) -> Done:
        self.terminal.wait_for(_MARK, self._count)
        *_, output, status, _ = _END.split("\n".join(self.terminal.screen))
        return Done(tuple(output.strip("\n").splitlines()), int(status))

    @property
    def is_busy(self) -> bool:
        return self.terminal.shown.count(_MARK) < self._count

    @property
    def printed(self) -> tuple[str, ...]:
        """What the command that still runs has printed so far."""
        *_, output = _END.split("\n".join(self.terminal.screen))
        return tuple(output.strip("\n").splitlines())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self.terminal:
            if self.is_busy and self.terminal.process.poll() is None:
                self.interrupt()
            self._queue.close()
            self.terminal.wait()
