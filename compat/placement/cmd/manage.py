"""`placement-manage`: the tables of the database."""

import argparse
import sys
from typing import NoReturn

from placement.cmd import command_line
from roost import __version__
from roost.cli.output import Failure
from roost.cli.progress_view import shown_progress
from roost.cli.tables import open_tables, sync_tables
from roost.configured_store import incomplete_ids
from roost.health.repair import complete_rows
from roost.settings import Settings
from roost.store.adoption.adopt import find_revision
from roost.store.migrations import migrate

PROGRAM = "placement-manage"

# How many rows a transaction completes, if the operator does not say.
BATCH = 50

# Exit codes of online_data_migrations.
SOME_LEFT = 1
MIGRATION_FAILED = 2
BAD_COUNT = 127


def main() -> NoReturn:
    command_line.run(PROGRAM, _run)


def _run() -> int:
    parser, database_parser = _parsers()
    arguments = parser.parse_args()
    if arguments.command is None:
        parser.print_help()
        return 1
    if arguments.action is None:
        database_parser.print_help()
        return 0
    settings = command_line.settings_of(arguments)
    match arguments.action:
        case "sync":
            with shown_progress() as progress:
                sync_tables(settings, progress)
        case "version":
            with open_tables(settings, create=True) as store:
                print(migrate.stamped_version(store.engine))
        case "stamp":
            _stamp(settings, arguments.version)
        case "online_data_migrations":
            return _complete(settings, arguments.max_count)
    return 0


def _parsers() -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    parser = argparse.ArgumentParser(
        prog=PROGRAM, description="roost: create, migrate and complete the tables."
    )
    command_line.add_options(parser)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", title="Command")
    database = commands.add_parser("db", help="Available DB commands")
    actions = database.add_subparsers(dest="action", title="subcommands")
    for name, text in (
        ("sync", "Create the tables, or migrate them."),
        ("version", "Print the revision of Placement that the tables are stamped with, or None."),
    ):
        actions.add_parser(name, help=text, description=text)
    text = "Stamp the tables with a revision of Placement, and change nothing else."
    stamp = actions.add_parser("stamp", help=text, description=text)
    stamp.add_argument("version", help="a revision, the beginning of one, head or base")
    text = "Complete what releases of Placement before Train left empty."
    complete = actions.add_parser(
        "online_data_migrations",
        help=text,
        description=f"{text} Exit code 0: nothing is left; {SOME_LEFT}: --max-count was given and "
        f"rows were completed, so run it again; {MIGRATION_FAILED}: it failed; {BAD_COUNT}: a bad "
        "number.",
    )
    complete.add_argument(
        "--max-count", metavar="<number>", help="Complete no more than so many rows, then exit."
    )
    return parser, database


def _stamp(settings: Settings, text: str) -> None:
    try:
        revision = find_revision(text)
    except ValueError as error:
        raise Failure(str(error)) from error
    with open_tables(settings, create=True) as store:
        migrate.stamp(store.engine, revision)


def _count(text: str) -> int:
    try:
        # No table has more rows, and SQL takes no larger number.
        return min(int(text), sys.maxsize)
    except ValueError:
        return 0


def _complete(settings: Settings, text: str | None) -> int:
    count = BATCH if text is None else _count(text)
    if count < 1:
        print("Must supply a positive value for max_count")
        return BAD_COUNT
    if text is None:
        print(f"Running batches of {BATCH} until complete")
    roots = consumers = 0
    try:
        with open_tables(settings, create=True) as store:
            if not migrate.is_current(store.engine):
                raise Failure(f"the tables are not those of this roost: run `{PROGRAM} db sync`")
            while True:
                done = complete_rows(store, incomplete_ids(settings), count)
                roots, consumers = roots + done.roots, consumers + done.consumers
                if text is not None or not any(done):
                    break
    except Failure as failure:
        print("Some migrations failed unexpectedly. Check log for details.", file=sys.stderr)
        raise Failure(str(failure), exit_code=MIGRATION_FAILED) from failure
    counts = {"set_root_provider_ids": roots, "create_incomplete_consumers": consumers}
    for name, count in counts.items():
        if count:
            print(f"{count} rows matched query {name}, {count} migrated")
    command_line.print_table(
        ("Migration", "Total Found", "Completed"),
        [(name, str(count), str(count)) for name, count in counts.items()],
    )
    return SOME_LEFT if text is not None and roots + consumers else 0
