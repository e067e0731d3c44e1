"""Options that several commands take.

The modules that declare commands import nothing that takes long to load: help, and the completion
of a half-typed command, must be quick. What a command does is imported when it runs.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def config_file_option(command: Command) -> Command:
    return click.option(
        "--config-file",
        "config_files",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        multiple=True,
        help="A configuration file, on top of placement.conf. May be repeated.",
    )(command)


def database_option(command: Command) -> Command:
    return click.option(
        "--database",
        metavar="URL",
        help="The database, like postgresql://roost:secret@db/roost. "
        "Default: as configured, or an embedded SQLite file.",
    )(command)
