"""What the commands share: the options before the subcommand, and how a failure ends a command."""

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import msgspec

from placement.configuration import Source, read_settings
from roost.cli.output import Failure, one_line
from roost.observe import logs
from roost.settings import Settings, SettingsError

# Options of Placement's commands that name an option of the configuration.
_CONFIGURED = ("debug", "log_file", "log_dir", "use_json")

# For those that roost does not have. They are accepted, because scripts pass them.
_NO_EFFECT = "accepted, without effect"


class _AddSource(argparse.Action):
    """Collects files and folders in one list, since their order matters."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        source = Source(values, is_folder=self.metavar == "DIR")
        namespace.sources = [*namespace.sources, source]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that stand before the subcommand."""
    parser.set_defaults(sources=[])
    parser.add_argument(
        "--config-file",
        action=_AddSource,
        metavar="PATH",
        dest="sources",
        help="A configuration file to read instead of placement.conf. May be repeated.",
    )
    parser.add_argument(
        "--config-dir",
        action=_AddSource,
        metavar="DIR",
        dest="sources",
        help="A folder whose *.conf files are read instead of those in placement.conf.d. May be "
        "repeated.",
    )
    parser.add_argument(
        "-d", "--debug", action="store_true", default=None, help="Log at level DEBUG."
    )
    parser.add_argument(
        "--nodebug", action="store_false", default=None, dest="debug", help="The opposite."
    )
    parser.add_argument(
        "--log-file",
        "--logfile",
        metavar="PATH",
        help="Log to this file. Default: stderr, and not the log_file of the service.",
    )
    parser.add_argument("--log-dir", "--logdir", metavar="DIR", help="The folder of --log-file.")
    parser.add_argument(
        "--use-json", action="store_true", default=None, help="Log JSON, one object a line."
    )
    parser.add_argument(
        "--nouse-json", action="store_false", default=None, dest="use_json", help="The opposite."
    )
    for names in (
        ("--log-config-append", "--log-config", "--log_config"),
        ("--log-date-format",),
        ("--syslog-log-facility",),
    ):
        parser.add_argument(*names, metavar="VALUE", dest="ignored", help=_NO_EFFECT)
    for name in ("syslog", "journal"):
        for option in (f"--use-{name}", f"--nouse-{name}"):
            parser.add_argument(option, action="store_true", dest="ignored", help=_NO_EFFECT)


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings, with logging set up. An unusable configuration ends the command."""
    given = {("DEFAULT", name): getattr(arguments, name) for name in _CONFIGURED}
    try:
        settings = read_settings(
            arguments.sources, {name: value for name, value in given.items() if value is not None}
        )
        # The file of the configuration is that of the service. A command that root runs would
        # create it, and the service could not write to it any more.
        log_file = settings.log_file if arguments.log_file else None
        logs.configure(msgspec.structs.replace(settings, log_file=log_file))
    except SettingsError as error:
        # Placement's exit code for it; 2 would mean that a check failed.
        raise Failure(one_line(error)) from error
    if not settings.debug:
        # Otherwise each command tells on stderr which dialect it has found.
        logging.getLogger("alembic").setLevel(logging.WARNING)
    return settings


def run(program: str, command: Callable[[], int | None]) -> NoReturn:
    """Run a command and exit. A failure is one line on stderr and an exit code."""
    try:
        sys.exit(command())
    except Failure as failure:
        print(f"{program}: {failure}", file=sys.stderr)
        sys.exit(failure.exit_code)


def print_table(title: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table in the form of Placement's, with centred cells."""
    widths = [max(map(len, column)) for column in zip(title, *rows, strict=True)]
    line = "+".join(["", *("-" * (width + 2) for width in widths), ""])
    print(line)
    for number, row in enumerate([title, *rows]):
        cells = (f" {cell:^{width}} " for cell, width in zip(row, widths, strict=True))
        print("|".join(["", *cells, ""]))
        if number == 0:
            print(line)
    print(line)
