"""`roost status`: the configuration (configuration.py), and the database that it names."""

import contextlib
from collections.abc import Iterator

from roost.errors import Unavailable
from roost.health.character_sets import judge_columns, read_columns
from roost.health.inspection import count_missing_rows
from roost.health.outcome import Outcome, failure, first_line, success, warning
from roost.health.server import check_reachable, judge, read_settings
from roost.progress import SILENT, Progress
from roost.settings import Settings
from roost.store.migrations import migrate
from roost.store.store import Store


def database_outcomes(
    store: Store, settings: Settings, progress: Progress = SILENT
) -> Iterator[Outcome]:
    """The checks of the database; only the first one if it cannot be reached."""
    progress.stage("connecting to the database")
    try:
        check_reachable(store)
    except Unavailable as error:
        yield failure("database", first_line(error))
        return
    yield success("database", f"{store.engine.dialect.name}, reachable")
    progress.stage("checking the tables")
    yield _schema(store)
    # Without tables, which the check of the schema has reported, there are no rows to check.
    progress.stage("looking for incomplete rows")
    with contextlib.suppress(Unavailable):
        yield from _rows(store)
    progress.stage("checking the settings of the database")
    if store.engine.dialect.name == "sqlite":
        yield _sqlite(settings)
    else:
        yield from judge(store.engine.dialect.name, read_settings(store))
    if store.engine.dialect.name == "mysql":
        yield from judge_columns(store.read_snapshot(read_columns))


def _schema(store: Store) -> Outcome:
    try:
        placement = migrate.placement_version(store.engine)
        version = migrate.version(store.engine)
        if migrate.is_current(store.engine):
            return success("schema", f"roost {version}, Placement {placement}")
    except Unavailable as error:
        return failure("schema", first_line(error))
    if placement is None:
        return failure("schema", "no tables yet: run `roost db sync`")
    found = f"roost {version}" if version else f"Placement {placement}, not adopted yet"
    return failure("schema", f"{found}: run `roost db sync`")


def _rows(store: Store) -> list[Outcome]:
    rootless, unknown = store.read_snapshot(count_missing_rows)
    help = "`roost db sync` repairs that while it adopts, `roost db check --fix` later"
    return [
        warning("root providers", f"{rootless} providers have none: {help}")
        if rootless
        else success("root providers", "every provider has one"),
        warning("consumers", f"{unknown} hold something and have no record: {help}")
        if unknown
        else success("consumers", "each that holds something has a record"),
    ]


def _sqlite(settings: Settings) -> Outcome:
    if not settings.database.sqlite_synchronous:
        return warning("SQLite", "sqlite_synchronous is false: a power failure loses writes")
    return success("SQLite", "waits until a commit is on the disk")
