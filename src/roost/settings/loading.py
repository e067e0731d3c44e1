"""Reads every source of the configuration, once."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oslo_config import cfg

from roost.settings.bad_values import HIDDEN, bad_value, check_values, expectation
from roost.settings.libraries import KEYSTONE, library_options
from roost.settings.names import refuse_misspelt_database
from roost.settings.options import DATABASE, OPTIONS
from roost.settings.sources import (
    CONFIG_FOLDER_VARIABLE,
    Sources,
    default_config_files,
    missing_main_file,
    read_sources,
)
from roost.settings.values import DatabaseSettings, Settings, SettingsError

# Values by group and option.
Values = Mapping[tuple[str, str], Any]


def load_settings(
    *,
    default_files: Sequence[Path] | None = None,
    config_files: Sequence[Path] = (),
    overrides: Values | None = None,
    defaults: Values | None = None,
) -> Settings:
    """Read every source once.

    `default_files` are read instead of those that `default_config_files` finds. `overrides` take
    precedence over every source, as options on a command line do; `defaults` apply where no source
    sets an option. Raises `SettingsError` for what cannot be used, and for names which say that
    another database is meant than the one that roost would use.
    """
    overrides = overrides or {}
    default_files = default_config_files() if default_files is None else default_files
    files = [str(path) for path in (*default_files, *config_files)]
    sources = read_sources(files)
    refuse_misspelt_database(sources, is_given=(DATABASE, "connection") in overrides)
    configuration = cfg.ConfigOpts()
    for group, options in OPTIONS.items():
        configuration.register_opts(options, group=_group(group))
    try:
        _read(configuration, files)
        for (group, option), value in (defaults or {}).items():
            configuration.set_default(option, value, group=_group(group))
        for (group, option), value in overrides.items():
            _override(configuration, group, option, value)
        check_values(configuration, OPTIONS, sources)
        return _freeze(configuration, files, sources)
    except cfg.Error as error:
        raise SettingsError(" ".join(str(error).split())) from error


def library_configuration(settings: Settings) -> cfg.ConfigOpts:
    """The same files for Keystone's middleware, oslo.policy and oslo.middleware.

    These libraries register and read their own options. Raises `SettingsError` for values that
    they cannot use, since what the libraries say about them is not for operators.
    """
    sources = read_sources(settings.files)
    options = dict(library_options(sources))
    options.pop("DEFAULT", None)
    if settings.auth_strategy != "keystone":
        options.pop(KEYSTONE, None)
    tried = cfg.ConfigOpts()
    _read(tried, settings.files)
    for group, some in options.items():
        tried.register_opts(some, group=group)
    check_values(tried, options, sources)
    configuration = cfg.ConfigOpts()
    _read(configuration, settings.files)
    return configuration


def _group(name: str) -> str | None:
    return None if name == "DEFAULT" else name


def _read(configuration: cfg.ConfigOpts, files: Sequence[str]) -> None:
    configuration(
        args=[], project="placement", default_config_files=list(files), default_config_dirs=[]
    )


def _override(configuration: cfg.ConfigOpts, group: str, option: str, value: Any) -> None:
    try:
        configuration.set_override(option, value, group=_group(group))
    except ValueError as error:
        [known] = [each for each in OPTIONS[group] if each.dest == option]
        shown = HIDDEN if known.secret else str(value)
        raise bad_value(group, option, shown, expectation(known)) from error


def _freeze(configuration: cfg.ConfigOpts, files: Sequence[str], sources: Sources) -> Settings:
    placement = _values(configuration, "placement")
    # A limit of 0 would make every search empty, so it means no limit, as -1 does.
    if placement["max_allocation_candidates"] < 1:
        placement["max_allocation_candidates"] = None
    own = _values(configuration, "roost")
    database = _values(configuration, DATABASE)
    _check_connection(database["connection"], sources)
    return Settings(
        debug=configuration.debug,
        use_json=configuration.use_json,
        log_file=configuration.log_file,
        log_dir=configuration.log_dir,
        log_levels=tuple(configuration.default_log_levels),
        auth_strategy=configuration.api.auth_strategy,
        **placement,
        cors_allowed_origins=tuple(configuration.cors.allowed_origin or ()),
        parse_proxy_headers=configuration.oslo_middleware.enable_proxy_headers_parsing,
        allow_remote_noauth2=own["allow_remote_noauth2"],
        search_seconds_max=own["search_seconds_max"],
        hold_seconds_max=own["hold_seconds_max"],
        answer_bytes_max=own["answer_bytes_max"],
        body_bytes_max=own["body_bytes_max"],
        body_seconds_max=own["body_seconds_max"],
        event_streams_max=own["event_streams_max"],
        summary_metrics=tuple(own["summary_metrics"]),
        summary_metrics_max=own["summary_metrics_max"],
        url_prefix=_prefix(own["url_prefix"]),
        console=own["console"],
        console_login=own["console_login"],
        files=tuple(files),
        optimize_for_wide_provider_trees=configuration.workarounds.optimize_for_wide_provider_trees,
        database=DatabaseSettings(**database),
    )


def _values(configuration: cfg.ConfigOpts, section: str) -> dict[str, Any]:
    """The options of a section. A number that is left empty is not set, so its default applies."""
    found = {}
    for option in OPTIONS[section]:
        value = configuration[section][option.dest]
        found[option.dest] = option.default if value is None else value
    return found


def _check_connection(connection: str | None, sources: Sources) -> None:
    """Refuse the embedded database where somebody meant to name another one."""
    expected = "the URL of a database"
    if connection is not None and not connection.strip():
        given = sources.find(DATABASE, ["connection"])
        raise bad_value(DATABASE, "connection", "", expected, given.place if given else None)
    missing = missing_main_file() if connection is None else None
    if missing is not None:
        raise SettingsError(
            f"[{DATABASE}]connection is not set: expected {expected}; there is no {missing}, "
            f"where {CONFIG_FOLDER_VARIABLE} says that the configuration is"
        )


def _prefix(text: str) -> str:
    prefix = text.rstrip("/")
    if prefix and not prefix.startswith("/"):
        raise bad_value("roost", "url_prefix", text, "a path that begins with a slash")
    return prefix
