"""Everything that can be configured, as frozen values."""

import os
from pathlib import Path

import msgspec

from roost.model import Value

INCOMPLETE_ID = "00000000-0000-0000-0000-000000000000"

# Libraries whose messages at level INFO are of no use to operators.
LOG_LEVELS = ["keystonemiddleware=WARNING", "keystoneauth=WARNING", "urllib3=WARNING"]


class SettingsError(Exception):
    """The configuration cannot be used. The message is one line for an operator."""


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
    search_seconds_max: float = 5.0
    answer_bytes_max: int = 512 * 1024 * 1024
    body_bytes_max: int = 1024 * 1024  # of most requests; some may be larger
    body_seconds_max: float = 30.0
    # How many clients of a process may wait for changes; None: it depends on what each costs.
    event_streams_max: int | None = None
    hold_seconds_max: float = 10.0
    # Which gauges of the summary GET /metrics has: `total`, `aggregates`, `traits`.
    summary_metrics: tuple[str, ...] = ()
    summary_metrics_max: int = 10_000  # how many series of them at most
    url_prefix: str = ""  # such as /placement; without a slash at its end
    console: bool | None = None  # None: where roost uses its embedded database, see `has_console`
    console_login: bool = True  # whether the console may send passwords to Keystone
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
    def has_console(self) -> bool:
        """Whether the service has a console for browsers."""
        return self.database.connection is None if self.console is None else self.console

    @property
    def has_docs(self) -> bool:
        """Whether the service shows its API to browsers: unless pages are turned off."""
        return self.console is not False

    @property
    def has_console_login(self) -> bool:
        """Whether the console exchanges passwords for tokens."""
        return self.has_console and self.console_login and self.auth_strategy == "keystone"

    @property
    def depth_first(self) -> bool:
        return self.allocation_candidates_generation_strategy == "depth-first"


def embedded_database_path() -> Path:
    """The SQLite file that roost uses when no database is configured."""
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "roost" / "roost.db"


def embedded_database_url() -> str:
    return f"sqlite:///{embedded_database_path()}"
