"""`roost status`: whether roost can work here, and keep its guarantees."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from oslo_policy import opts

from roost.api.access.policy import policy_of
from roost.errors import Unavailable
from roost.health.inspection import count_missing_rows
from roost.health.outcome import Outcome, failure, success, warning
from roost.health.server import check_reachable, judge, read_settings
from roost.settings import Settings, SettingsError, library_configuration
from roost.store.migrations import migrate
from roost.store.store import Store


def configuration_outcomes(settings: Settings) -> Iterator[Outcome]:
    """The checks that need no database."""
    yield _authentication(settings)
    yield _policy(settings)


def database_outcomes(store: Store, settings: Settings) -> Iterator[Outcome]:
    """The checks of the database; only the first one if it cannot be reached."""
    try:
        check_reachable(store)
    except Unavailable as error:
        yield failure("database", _one_line(error))
        return
    yield success("database", f"{store.engine.dialect.name}, reachable")
    yield _schema(store)
    # Without tables, which the check of the schema has reported, there are no rows to check.
    with contextlib.suppress(Unavailable):
        yield from _rows(store)
    if store.engine.dialect.name == "sqlite":
        yield _sqlite(settings)
    else:
        yield from judge(store.engine.dialect.name, read_settings(store))


def _authentication(settings: Settings) -> Outcome:
    if settings.auth_strategy == "noauth2":
        return warning("authentication", "noauth2 believes every token: for development only")
    return success("authentication", settings.auth_strategy)


def policy_file(settings: Settings) -> str | None:
    """The path of the policy file, if there is one."""
    configuration = library_configuration(settings)
    opts.set_defaults(configuration, "policy.yaml")
    path: str | None = configuration.find_file(configuration.oslo_policy.policy_file)
    return path


def is_json(path: str) -> bool:
    """Whether a file contains JSON; raises OSError if it cannot be read."""
    try:
        json.loads(Path(path).read_text())
    except ValueError:
        return False
    return True


def _policy(settings: Settings) -> Outcome:
    path = policy_file(settings)
    if path is None:
        return success("policy", "the built-in rules; there is no policy file")
    try:
        if not is_json(path):
            return _policy_in_use(settings, path)
    except OSError as error:
        return failure("policy", f"{path} cannot be read: {error.strerror}")
    return failure(
        "policy",
        f"{path} is JSON, which is not accepted any more: convert it to YAML with "
        "`oslopolicy-convert-json-to-yaml --namespace roost`",
    )


def _policy_in_use(settings: Settings, path: str) -> Outcome:
    try:
        policy_of(settings)
    except SettingsError as error:
        return failure("policy", f"{path}: {_one_line(error)}")
    return success("policy", path)


def _schema(store: Store) -> Outcome:
    try:
        placement = migrate.placement_version(store.engine)
        version = migrate.version(store.engine)
        if migrate.is_current(store.engine):
            return success("schema", f"roost {version}, Placement {placement}")
    except Unavailable as error:
        return failure("schema", _one_line(error))
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


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split("\n", maxsplit=1)[0].split())
