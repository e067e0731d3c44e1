"""A session in a terminal, as documents show it: commands after `$ `, and what they print."""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.terminal import COLUMNS, Terminal

PROMPT = "$ "
# A line of a document that stands for any number of lines.
ANYTHING = "..."

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
# At the end of a line of a table.
_SECONDS = re.compile(r"(?<= )\d+\.\d$")
_MARK = "@@@ the end of a command @@@"


class Block(NamedTuple):
    kind: str  # the word after the fence: console, python, ...
    text: str


class Command(NamedTuple):
    """A command, and the lines that a document shows of its output; none: they do not matter."""

    text: str
    output: tuple[str, ...]


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a document."""
    return [Block(*found) for found in _BLOCK.findall(page)]


def commands(text: str) -> list[Command]:
    """The commands of a `console` block."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith(PROMPT):
            found.append((line.removeprefix(PROMPT), []))
        elif found and found[-1][0].endswith("\\"):
            found[-1] = f"{found[-1][0]}\n{line}", []
        else:
            found[-1][1].append(line)
    return [Command(command, tuple(output)) for command, output in found]


def run(scripts: Sequence[str], *, environment: Mapping[str, str], folder: Path) -> list[list[str]]:
    """Run commands one after the other in one bash, in a terminal, until one fails.

    Returns the lines that each printed, without colours and without empty lines around them.
    """
    script = "".join(f"{each}\necho '{_MARK}'\n" for each in scripts)
    variables = {**environment, "TERM": "dumb", "COLUMNS": str(COLUMNS)}
    # With these variables and no others.
    bash = ["env", "-i", *(f"{name}={value}" for name, value in variables.items()), "bash"]
    with Terminal([*bash, "-c", f"set -e\ncd {shlex.quote(str(folder))}\n{script}"]) as terminal:
        assert terminal.wait() == 0, terminal.shown
        *outputs, _ = "\n".join(terminal.screen).split(f"{_MARK}\n")
    return [output.strip("\n").splitlines() for output in outputs]


def looks_like(shown: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether a document shows what was printed.

    UUIDs, spaces at the end, and how many seconds something took do not count.
    """
    pattern = "".join(
        "(?:.*\n)*?" if line.strip() == ANYTHING else re.escape(_masked(line)) + "\n"
        for line in shown
    )
    return re.fullmatch(pattern, "".join(f"{_masked(line)}\n" for line in printed)) is not None


def _masked(line: str) -> str:
    return _SECONDS.sub("SECONDS", _UUID.sub("UUID", line).rstrip())
