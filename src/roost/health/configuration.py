"""Whether roost can work with its configuration. The start and `roost status` check the same."""

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from oslo_policy import opts

from roost.api.access.keystone import token_cache
from roost.api.access.policy import policy_of
from roost.api.pipeline import check_middleware
from roost.health.database_driver import database_url_outcomes
from roost.health.outcome import (
    AtStart,
    Level,
    Outcome,
    failure,
    first_line,
    remark,
    success,
    warning,
)
from roost.observe import logs
from roost.settings import Settings, SettingsError, library_configuration
from roost.settings.names import judge_names
from roost.settings.sources import read_sources

LOG = logging.getLogger(__name__)

UNKNOWN_CHECK = "unknown options"


def check_configuration(settings: Settings) -> Sequence[Outcome]:
    """What the log should say at start, see `log_outcomes`.

    Raises `SettingsError` if roost cannot work with these settings.
    """
    outcomes = list(configuration_outcomes(settings))
    for outcome in outcomes:
        if outcome.at_start is AtStart.STOP:
            # A name that nobody knows may be the reason.
            unknown = [each.detail for each in outcomes if each.name == UNKNOWN_CHECK]
            raise SettingsError("; ".join([outcome.detail, *unknown]))
    return [outcome for outcome in outcomes if outcome.at_start is AtStart.LOG]


def log_outcomes(outcomes: Sequence[Outcome]) -> None:
    """One line for each, in the log of this process."""
    for outcome in outcomes:
        level = logging.INFO if outcome.level is Level.SUCCESS else logging.WARNING
        LOG.log(level, "%s", outcome.detail)


def configuration_outcomes(settings: Settings) -> Iterator[Outcome]:
    """The checks that need no database."""
    yield from _options(settings)
    try:
        library_configuration(settings)
    except SettingsError as error:
        # The checks that follow ask the libraries.
        yield failure("options", first_line(error))
        return
    yield from _log(settings)
    yield from database_url_outcomes(settings)
    yield from _authentication(settings)
    yield _policy(settings)


def _options(settings: Settings) -> list[Outcome]:
    names = judge_names(read_sources(settings.files))
    outcomes = []
    if names.unknown:
        unknown = f"unknown, so without effect: {', '.join(names.unknown)}"
        outcomes.append(warning(UNKNOWN_CHECK, unknown, at_start=AtStart.LOG))
    if names.without_effect:
        outcomes.append(remark("options", f"no effect in roost: {', '.join(names.without_effect)}"))
    return outcomes or [success("options", "all are known")]


def _log(settings: Settings) -> list[Outcome]:
    try:
        logs.levels_of(settings)
        logs.check_file(settings)
    except SettingsError as error:
        return [failure("log", first_line(error))]
    return []


def _authentication(settings: Settings) -> list[Outcome]:
    try:
        with _quiet("keystonemiddleware"):
            check_middleware(settings)
    except SettingsError as error:
        return [failure("authentication", first_line(error))]
    if settings.auth_strategy == "noauth2":
        return [warning("authentication", "noauth2 believes every token: for development only")]
    return [
        success("authentication", settings.auth_strategy),
        success("token cache", token_cache(settings)),
    ]


@contextmanager
def _quiet(logger: str) -> Iterator[None]:
    """The library says the same when the application is built."""
    log = logging.getLogger(logger)
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


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
        # It still works, as YAML.
        at_start=AtStart.LOG,
    )


def _policy_in_use(settings: Settings, path: str) -> Outcome:
    try:
        policy_of(settings)
    except SettingsError as error:
        return failure("policy", f"{path}: {first_line(error)}")
    return success("policy", path)
