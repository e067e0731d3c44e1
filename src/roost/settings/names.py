"""Names in a configuration that nobody knows, and those that have no effect.

A misspelt option is a default that nobody wanted. For the connection to the database that is
another database, so `refuse_misspelt_database` refuses it; `judge_names` finds the others.
"""

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import NamedTuple

from oslo_config import cfg

from roost.settings.bad_values import names_of
from roost.settings.libraries import LIBRARY_SECTIONS, authentication_section, library_options
from roost.settings.options import DATABASE, OPTIONS, list_opts
from roost.settings.sources import CONFIG_FOLDER_VARIABLE, Given, Sources
from roost.settings.values import SettingsError

# How alike a name and the one that was meant are: 1 is equal.
LIKENESS_MIN = 0.75
VARIABLE_LIKENESS_MIN = 0.9

CONNECTION = "connection"
CONNECTION_VARIABLE = f"OS_{DATABASE}__{CONNECTION}".upper()

# Options of OpenStack Placement and of oslo.db that roost accepts without an effect.
_OPTIONS_WITHOUT_EFFECT: Mapping[str, frozenset[str]] = {
    "DEFAULT": frozenset(
        {
            # Placement's folders, and an older name of one of them.
            *("pybasedir", "state_path", "tempdir", "bindir"),
            # oslo.messaging and oslo.service, which tools write into the files of every service.
            *("transport_url", "control_exchange", "rpc_backend", "rpc_response_timeout"),
            *("executor_thread_pool_size", "notification_driver", "osapi_compute_workers"),
            *("backdoor_port", "graceful_shutdown_timeout", "my_ip", "host"),
            # oslo.log: removed there.
            *("verbose", "use_syslog_rfc_format", "log_format", "syslog_log_facility"),
        }
    ),
    "placement": frozenset({"policy_file"}),
    DATABASE: frozenset(
        {
            *("slave_connection", "asyncio_connection", "asyncio_slave_connection"),
            *("backend", "synchronous_reader", "max_retries", "retry_interval"),
            *("connection_debug", "connection_trace", "use_db_reconnect", "db_retry_interval"),
            *("db_inc_retry_interval", "db_max_retry_interval", "db_max_retries"),
            # Names of former releases.
            *("idle_timeout", "min_pool_size", "use_tpool", "mysql_enable_ndb"),
        }
    ),
    "oslo_middleware": frozenset({"max_request_body_size", "http_basic_auth_user_file"}),
}

# Sections of libraries and services that Placement does not use either, or that roost does without.
_SECTIONS_WITHOUT_EFFECT = frozenset(
    {
        *("api_database", "audit_middleware_notifications", "cache", "coordination", "database"),
        *("guru_meditation_reports", "healthcheck", "keystone", "nova", "os_brick"),
        *("oslo_concurrency", "oslo_limit", "oslo_middleware_tracing", "oslo_reports"),
        *("oslo_versionedobjects", "placement_client", "profiler", "profiler_jaeger"),
        *("profiler_otlp", "service_user", "ssl", "vault", "barbican", "key_manager", "wsgi"),
    }
)
_SECTION_PREFIXES_WITHOUT_EFFECT = ("oslo_messaging_",)

# The beginning of a URL of a database: under another name it is still meant as one.
_DATABASE_URL = re.compile(
    r"\s*(mysql|mariadb|postgres|postgresql|sqlite)(\+\w+)?:/", re.IGNORECASE
)
# Sections of libraries that may have a database of their own.
_SECTIONS_WITH_DATABASES = frozenset({"coordination", "profiler"})


class NamesJudged(NamedTuple):
    unknown: list[str]  # each with the closest known name
    without_effect: list[str]


# ---------------------------------------------------------------------------------------------
# The database that is meant


def refuse_misspelt_database(sources: Sources, *, is_given: bool) -> None:
    """Raise `SettingsError` where a misspelt name would lead to another database.

    `is_given`: the command line names the database, so that no file or variable decides.
    """
    if is_given or CONNECTION_VARIABLE in os.environ:
        return
    _refuse_variables(sources)
    _refuse_sections(sources)
    has_connection = _has_connection(sources)
    for given in sources.in_files:
        expected = _meant_option(given, has_connection=has_connection)
        if expected is not None:
            raise SettingsError(
                f"[{given.section}]{given.option} {_reason(given)}: expected "
                f"[{DATABASE}]{expected} (in {given.place})"
            )


def _has_connection(sources: Sources) -> bool:
    return sources.find(DATABASE, [CONNECTION]) is not None


def _reason(given: Given) -> str:
    if _is_like_database(given.section) or (
        _normal(given.section) == DATABASE and given.option not in _own_names(DATABASE)
    ):
        return "is unknown"
    return "is not the database of roost"


def _refuse_sections(sources: Sources) -> None:
    authentication = authentication_section(sources)
    connection = sources.find(DATABASE, [CONNECTION])
    for section, path in sources.sections.items():
        if (
            _is_like_database(section)
            and _normal(section) != authentication
            # A file that has both is not misspelt; a later one may be meant to replace the other.
            and (connection is None or connection.place != path)
        ):
            raise SettingsError(f"[{section}] is unknown: expected [{DATABASE}] (in {path})")


def _is_like_database(section: str) -> bool:
    return not _is_known(section) and _likeness(section, DATABASE) >= LIKENESS_MIN


def _meant_option(given: Given, *, has_connection: bool) -> str | None:
    """The option of the database that is meant by something else; None if nothing is."""
    is_url = _DATABASE_URL.match(given.value) is not None
    section = _normal(given.section)
    known = _own_names(DATABASE)
    if section == DATABASE and given.option not in known:
        closest = _closest(given.option, known)
        if closest == CONNECTION or not has_connection:
            return CONNECTION if is_url else closest or CONNECTION
    elif has_connection or (section, given.option) == (DATABASE, CONNECTION):
        return None
    elif is_url:
        return CONNECTION if section not in _SECTIONS_WITH_DATABASES else None
    elif section != DATABASE and _likeness(given.option, CONNECTION) >= LIKENESS_MIN:
        return CONNECTION
    return None


def _refuse_variables(sources: Sources) -> None:
    """The same for variables. These override files, so that a file with a database is no excuse."""
    known = {f"OS_{DATABASE}__{name}".upper() for name in _own_names(DATABASE)}
    for variable in os.environ:
        if (
            variable.upper().startswith("OS_")
            and variable not in known
            and variable != CONFIG_FOLDER_VARIABLE
            and _likeness(variable, CONNECTION_VARIABLE) >= VARIABLE_LIKENESS_MIN
        ):
            raise SettingsError(
                f"the variable {variable} is unknown: expected {CONNECTION_VARIABLE}"
            )
    has_connection = _has_connection(sources)
    authentication = authentication_section(sources)
    for given in sources.variables:
        is_misspelt = _is_like_database(given.section) and given.section != authentication
        expected = _meant_option(given, has_connection=has_connection and not is_misspelt)
        if expected is not None:
            raise SettingsError(
                f"the variable {given.place} {_reason(given)}: expected "
                f"OS_{DATABASE.upper()}__{expected.upper()}"
            )


# ---------------------------------------------------------------------------------------------
# All names


def judge_names(sources: Sources) -> NamesJudged:
    """What is unknown in the files and variables, and what has no effect."""
    libraries = library_options(sources)
    sections = {*OPTIONS, *LIBRARY_SECTIONS, *_SECTIONS_WITHOUT_EFFECT}
    unknown: dict[str, None] = {}
    without_effect: dict[str, None] = {}
    for written in sources.sections:
        if not (_is_known(written) or _normal(written) in libraries):
            unknown[_with_closest(f"[{written}]", _closest(written, sections), "[{}]")] = None
    for given in (*sources.in_files, *sources.variables):
        section = _normal(given.section)
        is_variable = given in sources.variables
        name = given.place if is_variable else f"[{section}]{given.option}"
        own = {each for option in OPTIONS.get(section, ()) for each in names_of(option)}
        ignored = _OPTIONS_WITHOUT_EFFECT.get(section, frozenset())
        of_library = {each for option in libraries.get(section, ()) for each in names_of(option)}
        if section in libraries or section in OPTIONS:
            if given.option in own:
                continue
            # The options that oslo.log has in [DEFAULT] are known, and roost does its own logging.
            if given.option in ignored or (section == "DEFAULT" and given.option in of_library):
                without_effect[name] = None
            elif given.option not in of_library:
                closest = _closest(given.option, {*own, *of_library})
                unknown[_with_closest(name, closest, "{}")] = None
        elif _is_known(section):
            without_effect[name if is_variable else f"[{section}]"] = None
        elif is_variable and (closest := _closest(section, sections)):
            # Any other variable may be one of another program.
            unknown[_with_closest(name, closest, "[{}]")] = None
    if not _is_set(sources, "log_file", "logfile"):
        log_dir = sources.find("DEFAULT", ["log_dir", "logdir"])
        if log_dir:
            without_effect[f"[DEFAULT]{log_dir.option} without log_file"] = None
    return NamesJudged(list(unknown), list(without_effect))


def _is_set(sources: Sources, *names: str) -> bool:
    given = sources.find("DEFAULT", names)
    return given is not None and bool(given.value.strip())


def _own_names(section: str) -> set[str]:
    own = {name for option in OPTIONS.get(section, ()) for name in names_of(option)}
    return own | _OPTIONS_WITHOUT_EFFECT.get(section, frozenset())


def _is_known(section: str) -> bool:
    name = _normal(section)
    return (
        name in OPTIONS
        or name in LIBRARY_SECTIONS
        or name in _SECTIONS_WITHOUT_EFFECT
        or name.startswith(_SECTION_PREFIXES_WITHOUT_EFFECT)
    )


def _normal(section: str) -> str:
    # As oslo.config does.
    return section if section == "DEFAULT" else section.lower()


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _likeness(name: str, other: str) -> float:
    return SequenceMatcher(None, _plain(name), _plain(other)).ratio()


def _closest(name: str, known: Collection[str]) -> str | None:
    plain = {_plain(each): each for each in known}
    found: Iterable[str] = get_close_matches(_plain(name), plain, n=1, cutoff=LIKENESS_MIN)
    return next((plain[each] for each in found), None)


def _with_closest(name: str, closest: str | None, form: str) -> str:
    return f"{name} (closest: {form.format(closest)})" if closest else name


# ---------------------------------------------------------------------------------------------
# For the tools of oslo.config


def list_placement_opts() -> list[tuple[str, Sequence[cfg.Opt]]]:
    """What may stand in the sections of a placement.conf that are Placement's own.

    For the namespace `placement.conf`: `oslo-config-validator` must know options without effect.
    """
    without_effect = [
        (section, [cfg.StrOpt(name, help=_NO_EFFECT) for name in sorted(names)])
        for section, names in _OPTIONS_WITHOUT_EFFECT.items()
        if section in ("DEFAULT", "placement", DATABASE)
    ]
    return [*list_opts(), *without_effect]


_NO_EFFECT = "Accepted, because files of Placement have it. It has no effect."
