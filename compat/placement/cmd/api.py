"""`placement-api` as a program: roost's own HTTP server, with the arguments of pbr's."""

import argparse
import sys
from typing import NoReturn

import msgspec

from placement.cmd import command_line
from roost.cli.server import run_server

PROGRAM = "placement-api"


def main() -> NoReturn:
    command_line.run(PROGRAM, _run)


def _port(text: str) -> int:
    port = int(text)
    if not 0 < port < 65536:
        raise argparse.ArgumentTypeError(f"{port} is no port; expected a number from 1 to 65535")
    return port


def _run() -> None:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="roost: serve the API over HTTP until SIGTERM or Ctrl-C, with one process. "
        "`roost serve` has more options.",
    )
    command_line.add_options(parser)
    parser.add_argument(
        "-p", "--port", type=_port, default=8000, help="The port to listen on (default: 8000)."
    )
    parser.add_argument(
        "-b", "--host", default="", help="The address to listen on (default: all addresses)."
    )
    # pbr's program passes the arguments after `--` to the application.
    arguments = parser.parse_args([each for each in sys.argv[1:] if each != "--"])
    settings = command_line.settings_of(arguments)
    if settings.database.sync_on_startup is None:
        # Unlike `roost serve`, and as with Placement: tables are for `placement-manage db sync`.
        database = msgspec.structs.replace(settings.database, sync_on_startup=False)
        settings = msgspec.structs.replace(settings, database=database)
    run_server(
        settings, host=arguments.host or "0.0.0.0", port=arguments.port, workers=1, threads=4
    )
