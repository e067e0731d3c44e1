"""`placement-status upgrade check`: whether the configuration and the tables are fit for use."""

import argparse
import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import NoReturn

from placement.cmd import command_line
from roost.cli.output import Failure
from roost.cli.tables import open_tables
from roost.health.outcome import Outcome
from roost.health.upgrade_check import check_upgrade

PROGRAM = "placement-status"
TITLE = "Upgrade Check Results"
DETAIL_WIDTH = 60

# The exit code of OpenStack's status commands for an unexpected error.
UNEXPECTED = 255


def main() -> NoReturn:
    command_line.run(PROGRAM, _run)


def _run() -> int:
    arguments = _parser().parse_args()
    settings = command_line.settings_of(arguments)
    try:
        with open_tables(settings, create=True) as store:
            found = check_upgrade(store, settings)
    except Failure as failure:
        raise Failure(str(failure), exit_code=UNEXPECTED) from failure
    outcomes = [*found.checks, *found.further]
    if arguments.json:
        print(_as_json(outcomes))
    else:
        _show(outcomes)
    return int(found.level)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM, description="roost: check the configuration and the tables."
    )
    command_line.add_options(parser)
    commands = parser.add_subparsers(dest="command", required=True)
    text = "Make the checks of Placement, and show as warnings what roost finds beyond them."
    upgrade = commands.add_parser(
        "upgrade",
        help=text,
        description=f"{text} Exit code 0: Placement's checks pass; 1: one of them warns; 2: one "
        "of them fails; 255: they could not be made. `roost status` has an exit code for all.",
    )
    upgrade.add_argument("check", choices=["check"])
    upgrade.add_argument("--json", action="store_true", help="Print JSON, for programs.")
    return parser


def _as_json(outcomes: Sequence[Outcome]) -> str:
    checks = [
        {"check": each.name, "result": int(each.level), "details": each.detail or None}
        for each in outcomes
    ]
    return json.dumps({"name": TITLE, "checks": checks})


def _show(outcomes: Sequence[Outcome]) -> None:
    cells = [[TITLE], *(list(_lines(outcome)) for outcome in outcomes)]
    width = max(len(line) for cell in cells for line in cell)
    border = f"+{'-' * (width + 2)}+"
    print(border)
    for cell in cells:
        for line in cell:
            print(f"| {line:<{width}} |")
        print(border)


def _lines(outcome: Outcome) -> Iterator[str]:
    yield f"Check: {outcome.name}"
    yield f"Result: {outcome.level.name.capitalize()}"
    detail = textwrap.wrap(outcome.detail, DETAIL_WIDTH, subsequent_indent="  ") or ["None"]
    yield f"Details: {detail[0]}"
    yield from detail[1:]
