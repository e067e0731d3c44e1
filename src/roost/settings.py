"""Configuration, under the section and option names that existing deployments use.

Sources, the later ones win: built-in defaults, `placement.conf` and `placement.conf.d/*.conf` in
the folder that OS_PLACEMENT_CONFIG_DIR names (/etc/placement if unset), files given on the command
line, variables `OS_<GROUP>__<OPTION>`, options given on the command line. oslo.config ends here:
everything else sees a frozen `Settings`.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from oslo_config import cfg

from roost.model import Value

INCOMPLETE_ID = "00000000-0000-0000-0000-000000000000"

CONFIG_FOLDER_DEFAULT = "/etc/placement"


# Libraries whose messages at level INFO are of no use to operators.
LOG_LEVELS = ["keystonemiddleware=WARNING", "keystoneauth=WARNING", "urllib3=WARNING"]


class SettingsError(Exception):
    """The configuration cannot be used."""


class DatabaseSettings(Value, frozen=True, kw_only=True):
    """How to reach the database: section [placement_database]."""

    connection: str | None = None  # None: the embedded database, see `embedded_database_path`
    sync_on_startup: bool | None = None  # None: the command or server that starts roost decides
    max_pool_size: int | None = 5  # 0 means no limit, as in oslo.db
    max_overflow: int | None = 50
    pool_timeout: int | None = None  # seconds
    connection_recycle_time: int = 3600  # seconds
    mysql_sql_mode: str = "TRADITIONAL"
    # None: as reads on a Galera cluster need it; else the value of wsrep_sync_wait.
    mysql_wsrep_sync_wait: int | None = None
    sqlite_synchronous: bool = True
    connection_parameters: str = ""


class Settings(Value, frozen=True, kw_only=True):
    """Everything that can be configured, once, at start."""

    debug: bool = False
    use_json: bool = False  # one JSON object for each line of the log
    log_file: str | None = None  # None: the standard error output
    log_dir: str | None = None  # where a relative log_file is
    log_levels: tuple[str, ...] = tuple(LOG_LEVELS)  # logger=LEVEL
    auth_strategy: str = "keystone"
    randomize_allocation_candidates: bool = False
    incomplete_consumer_project_id: str = INCOMPLETE_ID
    incomplete_consumer_user_id: str = INCOMPLETE_ID
    allocation_conflict_retry_count: int = 10
    max_allocation_candidates: int | None = None  # None: no limit, which is -1 in a file
    allocation_candidates_generation_strategy: str = "breadth-first"
    optimize_for_wide_provider_trees: bool = False  # accepted; the search is fast without it
    allow_remote_noauth2: bool = False
    cors_allowed_origins: tuple[str, ...] = ()  # empty: no CORS
    parse_proxy_headers: bool = False
    event_streams_max: int = 2  # how many threads of a process may wait for changes
    url_prefix: str = ""  # such as /placement; without a slash at its end
    database: DatabaseSettings = DatabaseSettings()
    # The files that all of this was read from, see `library_configuration`.
    files: tuple[str, ...] = ()

    def on_database(self, url: str | None) -> "Settings":
        """The same settings with another database; None changes nothing."""
        if url is None:
            return self
        database = msgspec.structs.replace(self.database, connection=url)
        return msgspec.structs.replace(self, database=database)

    @property
    def database_url(self) -> str:
        return self.database.connection or embedded_database_url()

    @property
    def depth_first(self) -> bool:
        return self.allocation_candidates_generation_strategy == "depth-first"


OPTIONS: Mapping[str, Sequence[cfg.Opt]] = {
    "DEFAULT": [
        cfg.BoolOpt("debug", default=False, help="Log at level DEBUG instead of INFO."),
        cfg.BoolOpt("use_json", default=False, help="Log JSON, one object on each line."),
        cfg.StrOpt(
            "log_file",
            deprecated_name="logfile",
            help="Log to this file instead of the standard error output.",
        ),
        cfg.StrOpt("log_dir", deprecated_name="logdir", help="The folder of log_file."),
        cfg.ListOpt(
            "default_log_levels",
            default=LOG_LEVELS,
            help="Levels of loggers: logger=LEVEL. The logger roost.requests writes the line for "
            "each request.",
        ),
    ],
    "api": [
        cfg.StrOpt(
            "auth_strategy",
            default="keystone",
            choices=["keystone", "noauth2"],
            help="Who validates tokens. noauth2 accepts every token: for tests and development.",
        ),
    ],
    "placement": [
        cfg.BoolOpt("randomize_allocation_candidates", default=False),
        cfg.StrOpt("incomplete_consumer_project_id", default=INCOMPLETE_ID),
        cfg.StrOpt("incomplete_consumer_user_id", default=INCOMPLETE_ID),
        cfg.IntOpt("allocation_conflict_retry_count", default=10, min=0),
        cfg.IntOpt("max_allocation_candidates", default=-1, min=-1, help="-1: no limit."),
        cfg.StrOpt(
            "allocation_candidates_generation_strategy",
            default="breadth-first",
            choices=["depth-first", "breadth-first"],
            help="breadth-first: trees take turns, so that one wide tree cannot fill the answer.",
        ),
    ],
    "placement_database": [
        cfg.StrOpt("connection", secret=True, help="The URL of the database."),
        cfg.BoolOpt("sync_on_startup", help="Create or migrate the tables at start."),
        cfg.IntOpt("max_pool_size", default=5),
        cfg.IntOpt("max_overflow", default=50),
        cfg.IntOpt("pool_timeout"),
        cfg.IntOpt("connection_recycle_time", default=3600),
        cfg.StrOpt("mysql_sql_mode", default="TRADITIONAL"),
        cfg.IntOpt("mysql_wsrep_sync_wait"),
        cfg.BoolOpt("sqlite_synchronous", default=True),
        cfg.StrOpt("connection_parameters", default=""),
    ],
    "roost": [
        cfg.BoolOpt(
            "allow_remote_noauth2",
            default=False,
            help="Let noauth2 accept requests from other machines. Anybody who reaches the service "
            "can then change everything.",
        ),
        cfg.IntOpt(
            "event_streams_max",
            default=2,
            min=0,
            help="How many requests to GET /events may be open at once in each process, waiting "
            "for changes. Each takes one of the threads of the process.",
        ),
        cfg.StrOpt(
            "url_prefix",
            default="",
            help="The path below which the API is served, such as /placement, if the server or "
            "proxy in front does not remove it. Requests without it are answered too.",
        ),
    ],
    # Only the options of these two sections that decide whether their middleware is used at all.
    "cors": [
        cfg.ListOpt("allowed_origin", default=[], help="Origins whose pages may use the API."),
    ],
    "oslo_middleware": [
        cfg.BoolOpt(
            "enable_proxy_headers_parsing",
            default=False,
            help="Trust the X-Forwarded-* headers of a proxy in front of roost.",
        ),
    ],
    "workarounds": [
        cfg.BoolOpt("optimize_for_wide_provider_trees", default=False),
    ],
}


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
    sets an option.
    """
    configuration = cfg.ConfigOpts()
    for group, options in OPTIONS.items():
        configuration.register_opts(options, group=None if group == "DEFAULT" else group)
    default_files = default_config_files() if default_files is None else default_files
    files = [str(path) for path in (*default_files, *config_files)]
    try:
        _read(configuration, files)
        for (group, option), value in (defaults or {}).items():
            configuration.set_default(option, value, group=None if group == "DEFAULT" else group)
        for (group, option), value in (overrides or {}).items():
            configuration.set_override(option, value, group=None if group == "DEFAULT" else group)
        return _freeze(configuration, files)
    except cfg.ConfigFilesNotFoundError as error:
        raise SettingsError(
            f"no such configuration file: {', '.join(error.config_files)}"
        ) from None
    except (cfg.Error, ValueError) as error:
        raise SettingsError(str(error)) from error


def library_configuration(settings: Settings) -> cfg.ConfigOpts:
    """The same files for Keystone's middleware, oslo.policy and oslo.middleware.

    These libraries register and read their own options.
    """
    configuration = cfg.ConfigOpts()
    _read(configuration, settings.files)
    return configuration


def _read(configuration: cfg.ConfigOpts, files: Sequence[str]) -> None:
    configuration(
        args=[], project="placement", default_config_files=list(files), default_config_dirs=[]
    )


def list_opts() -> list[tuple[str, Sequence[cfg.Opt]]]:
    """Every option of roost itself, for `oslo-config-generator --namespace roost`.

    The options of libraries are in their own namespaces: `keystonemiddleware.auth_token`,
    `oslo.policy`, `oslo.middleware`.
    """
    return [
        (group, options)
        for group, options in OPTIONS.items()
        if group not in ("cors", "oslo_middleware")
    ]


def default_config_files() -> list[Path]:
    """`placement.conf` and the files of `placement.conf.d`, where there are any."""
    folder = Path(os.environ.get("OS_PLACEMENT_CONFIG_DIR", CONFIG_FOLDER_DEFAULT))
    main = folder / "placement.conf"
    return [
        *([main] if main.is_file() else []),
        *sorted((folder / "placement.conf.d").glob("*.conf")),
    ]


def embedded_database_path() -> Path:
    """The SQLite file that roost uses when no database is configured."""
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "roost" / "roost.db"


def embedded_database_url() -> str:
    return f"sqlite:///{embedded_database_path()}"


def _freeze(configuration: cfg.ConfigOpts, files: Sequence[str]) -> Settings:
    placement = {
        option.dest: configuration.placement[option.dest] for option in OPTIONS["placement"]
    }
    # A limit of 0 would make every search empty, so it means no limit, as -1 does.
    if placement["max_allocation_candidates"] < 1:
        placement["max_allocation_candidates"] = None
    database = configuration.placement_database
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
        allow_remote_noauth2=configuration.roost.allow_remote_noauth2,
        event_streams_max=configuration.roost.event_streams_max,
        url_prefix=_prefix(configuration.roost.url_prefix),
        files=tuple(files),
        optimize_for_wide_provider_trees=configuration.workarounds.optimize_for_wide_provider_trees,
        database=DatabaseSettings(
            **{option.dest: database[option.dest] for option in OPTIONS["placement_database"]}
        ),
    )


def _prefix(text: str) -> str:
    prefix = text.rstrip("/")
    if prefix and not prefix.startswith("/"):
        raise ValueError(f"[roost]url_prefix is {text!r}, but a path begins with a slash")
    return prefix
