"""Plays pages as a reader would, and compares what is printed with what the pages show.

    ```yaml title="rack.yaml"       is a file, saved under this name
    ```console                      has commands after `$ `, and what they print
    ```console title="Terminal 2"   is the same in another terminal
    ```python                       is a program; a `text` block right after it is what it prints
    ```text                         is a drawing otherwise
    ```sh                           is not run: it would change the machine

All commands of a terminal run in one bash, in the folder of the files. A command must succeed,
unless the page shows the message of its failure (`roost: ...`) last, or its status by `echo $?`. A
command that only Ctrl-C ends (`roost serve`, `--follow`, `--watch`) goes on while others run. What
it prints later stands at the beginning of a block of its terminal, and a line `^C` ends it.
"""

import contextlib
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.pages import Block, blocks, programs
from tests.support.shown_output import UUID, matched
from tests.support.terminal import SECONDS_MAX
from tests.support.terminal_session import CTRL_C, Command, Shell, commands

_STAYS = re.compile(r"^roost serve\b|^roost .*--(follow|watch)\b")
_FAILED = ("roost: ", "Error: ")
_STATUS = "echo $?"


class PagePlayer:
    """`there` says what texts of the pages are in this run, such as a URL.

    `instead` has commands that are run in another form, such as `roost serve` on a free port.
    """

    def __init__(
        self,
        *,
        environment: Mapping[str, str],
        folder: Path,
        scratch: Path,
        there: Mapping[str, str],
        instead: Mapping[str, str] | None = None,
    ) -> None:
        self._environment = environment
        self._folder = folder
        self._scratch = scratch
        self._there = there
        self._instead = instead or {}
        self._shells: dict[str, Shell] = {}
        self._stack = contextlib.ExitStack()
        # What the UUIDs of the pages are in this run.
        self._uuids: dict[str, str] = {}

    def play(self, name: str, text: str) -> None:
        """Play one page, after those that were played before."""
        found = blocks(text)
        outputs = dict(programs(found))
        for block in found:
            where = f"{name}:{block.line}"
            if block.kind == "console":
                self._play_console(name, block)
            elif block.title:
                (self._folder / block.title).write_text(self._here(block.text))
            elif block in outputs:
                program = self._scratch / f"program{block.line}.py"
                program.write_text(self._here(block.text))
                command = Command(f"python {program}", tuple(outputs[block].splitlines()), 0)
                self._run(self._shell(""), command, where, may_fail=False)
            else:
                assert block.kind in ("text", "sh"), f"{where}: what is a {block.kind} block?"

    def _play_console(self, name: str, block: Block) -> None:
        shell = self._shell(block.title)
        found = commands(block.text)
        for command, following in zip(found, (*found[1:], None), strict=True):
            where = f"{name}:{block.line + command.line}"
            if not command.text:
                self._watch(shell, command, where)
            elif _STAYS.search(command.text):
                shell.start(self._here(self._instead.get(command.text, command.text)))
                self._watch(shell, command, where)
            else:
                is_status_shown = following is not None and following.text == _STATUS
                is_message_shown = bool(command.output) and command.output[-1].startswith(_FAILED)
                may_fail = is_status_shown or is_message_shown
                self._run(shell, command, where, may_fail=may_fail)

    def _run(self, shell: Shell, command: Command, where: str, *, may_fail: bool) -> None:
        done = shell.run(self._here(command.text))
        assert self._is_as_shown(command.output, done.output), (
            f"{where}: $ {command.text}\n" + "\n".join(done.output)
        )
        assert may_fail or done.status == 0, f"{where}: status {done.status}: $ {command.text}"

    def _watch(self, shell: Shell, command: Command, where: str) -> None:
        """Wait until a command that stays has printed what is shown; then perhaps end it."""
        shown = [line for line in command.output if line != CTRL_C]
        until = time.monotonic() + SECONDS_MAX
        while not self._is_as_shown(shown, shell.printed):
            assert time.monotonic() < until, "\n".join((f"{where} waited for it:", *shell.printed))
            time.sleep(0.05)
        if CTRL_C in command.output:
            shell.interrupt()

    def _is_as_shown(self, shown: Sequence[str], printed: Sequence[str]) -> bool:
        found = matched([self._replaced(line) for line in shown], printed, self._uuids)
        self._uuids = found or self._uuids
        return found is not None

    def _here(self, text: str) -> str:
        """A command or a file as it is in this run. UUIDs that were not printed are its own."""
        text = self._replaced(text)
        for uuid in UUID.findall(text):
            self._uuids.setdefault(uuid, uuid)
        return UUID.sub(lambda found: self._uuids[found[0]], text)

    def _replaced(self, text: str) -> str:
        for shown, real in self._there.items():
            text = text.replace(shown, real)
        return text

    def _shell(self, title: str) -> Shell:
        if title not in self._shells:
            scratch = self._scratch / f"shell{len(self._shells)}"
            scratch.mkdir()
            shell = Shell(environment=self._environment, folder=self._folder, scratch=scratch)
            self._shells[title] = self._stack.enter_context(shell)
        return self._shells[title]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)
