"""What commands print: results for people, JSON for programs, and failures."""

import os
import re
import shutil
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

_CONTROL = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

# In characters, for output that is not a terminal: no line is wrapped.
WIDTH_UNLIMITED = 10_000


class Failure(Exception):
    """A command cannot do what it was asked to do. The message is one line for the user.

    A file or a driver may have several things wrong with it; then each has a line.
    """

    def __init__(self, message: str, *, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class BadInput(Failure):
    """The user's arguments, files or environment are wrong. Exit code 2, as for wrong usage."""

    def __init__(self, message: str) -> None:
        super().__init__(message, exit_code=2)


def one_line(message: object) -> str:
    """A message, or that of an error, without line breaks."""
    return printable(" ".join(str(message).split()))


def printable(text: str) -> str:
    """The text without characters that control a terminal: names in a database may have them."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in text
    )


def quoted(text: str) -> str:
    """What a user wrote, for an error: printable, and not too long."""
    from roost.quoting import quote_value

    return quote_value(text)


def terminal_width() -> int | None:
    """In characters; None if stdout is not a terminal, so that lines may have any length."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def has_colors() -> bool:
    environment = os.environ
    is_plain = bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
    return sys.stdout.isatty() and not is_plain


def wrapping_console(*, to_stderr: bool = False) -> "Console":
    """A console that wraps lines at the width of a terminal, and never in a file or a pipe."""
    from rich.console import Console

    stream = sys.stderr if to_stderr else sys.stdout
    width = None if stream.isatty() else WIDTH_UNLIMITED
    return Console(highlight=False, stderr=to_stderr, width=width)


def print_json(data: Any) -> None:
    click.echo(json_text(data).encode())


def print_names(kind: str, names: Iterable[str], *, as_json: bool) -> None:
    """Print names in order, each on a line; for programs as the API shows them."""
    names = sorted(names)
    if as_json:
        print_json({kind: names})
    else:
        for name in names:
            click.echo(name)


def print_json_line(data: Any) -> None:
    """One document in one line."""
    click.echo(json_text(data, on_one_line=True).encode())


def print_json_items(name: str, items: Iterable[Any]) -> None:
    """Print a JSON object with one array, as the API has it; each item as it comes."""
    click.echo(f'{{"{name}": [', nl=False)
    separator = "\n"
    for item in items:
        click.echo((separator + json_text(item, on_one_line=True)).encode(), nl=False)
        separator = ",\n"
    click.echo("]}" if separator == "\n" else "\n]}")


def json_text(data: Any, *, on_one_line: bool = False) -> str:
    """JSON, without characters that a terminal would act upon."""
    import msgspec

    encoded = msgspec.json.encode(data)
    text = (encoded if on_one_line else msgspec.json.format(encoded)).decode()
    # Of the characters that JSON allows as they are, which can only stand in its strings.
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
