"""What commands print: results for people, JSON for programs, and failures."""

import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

# In characters, for output that is not a terminal: no line is wrapped.
WIDTH_UNLIMITED = 10_000


class Failure(Exception):
    """A command cannot do what it was asked to do. The message is one line for the user."""

    def __init__(self, message: str, *, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class BadInput(Failure):
    """The user's arguments, files or environment are wrong. Exit code 2, as for wrong usage."""

    def __init__(self, message: str) -> None:
        super().__init__(message, exit_code=2)


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def wrapping_console() -> "Console":
    """A console that wraps lines at the width of a terminal, and never in a file or a pipe."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_UNLIMITED)


def print_json(data: Any) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(data)))
