"""What commands print: results for people, JSON for programs, and failures."""

import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import click

if TYPE_CHECKING:
    from rich.console import Console

HIDDEN = "***"

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


def database_name(url: str) -> str:
    """A database URL without its password; for SQLite the path of the file."""
    if "://" not in url:
        # Not a URL. If it contains an `@` it may be one that lost its scheme, with a password.
        return HIDDEN if "@" in url else url
    try:
        parts = urlsplit(url)
        # Reading the port validates it: it is what most often is wrong in a URL.
        _ = parts.port
    except ValueError:
        # It is not known which part is the password.
        return HIDDEN
    if parts.scheme.startswith("sqlite"):
        return url.partition("///")[2] or url
    user_information, at, place = parts.netloc.rpartition("@")
    user, colon, _ = user_information.partition(":")
    query = urlencode(
        [
            (name, HIDDEN if "pass" in name.lower() else value)
            for name, value in parse_qsl(parts.query)
        ],
        safe="*/:",
    )
    netloc = f"{user}{colon and ':' + HIDDEN}{at}{place}"
    return parts._replace(netloc=netloc, query=query).geturl()
