"""Opens the store that the settings name, for the service and for commands that need no service."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from roost.settings import DatabaseSettings, Settings, SettingsError, embedded_database_path
from roost.store.adoption.adopt import IncompleteIds
from roost.store.connection.database_url import missing_file
from roost.store.connection.shown_url import database_name
from roost.store.connection.url_parameters import InvalidDatabaseUrl
from roost.store.feed.shared_positions import SharedPositions
from roost.store.store import Store


def open_store(settings: Settings, shared: SharedPositions | None = None) -> Store:
    """The store of these settings. It does not connect yet.

    The processes of a service share positions of the change feed.
    """
    database = settings.database
    if database.connection is None:
        # Only the folder of the default path is created; a configured path must exist.
        _make_folder(embedded_database_path().parent)
    with _named_setting(settings):
        store = _open_store(settings.database_url, database)
    if shared is not None:
        store.share(shared)
    return store


def missing_database(settings: Settings) -> str | None:
    """The SQLite file of these settings, if it does not exist: opening the store creates it."""
    with _named_setting(settings):
        return missing_file(settings.database_url)


def incomplete_ids(settings: Settings) -> IncompleteIds:
    """The project and user of consumers that were written without any."""
    return IncompleteIds(
        project=settings.incomplete_consumer_project_id, user=settings.incomplete_consumer_user_id
    )


@contextmanager
def _named_setting(settings: Settings) -> Iterator[None]:
    try:
        yield
    except InvalidDatabaseUrl as error:
        shown = database_name(settings.database_url)
        raise SettingsError(f"[placement_database]connection = {shown}: {error}") from error


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"[placement_database]connection is not set, and the folder {path} of the embedded "
            f"database cannot be made: {error.strerror}"
        ) from error


def _open_store(url: str, database: DatabaseSettings) -> Store:
    return Store.open(
        url,
        max_pool_size=database.max_pool_size,
        max_overflow=database.max_overflow,
        pool_timeout=database.pool_timeout,
        connection_recycle_time=database.connection_recycle_time,
        connection_parameters=database.connection_parameters,
        mysql_sql_mode=database.mysql_sql_mode,
        mysql_wsrep_sync_wait=database.mysql_wsrep_sync_wait,
        sqlite_synchronous=database.sqlite_synchronous,
    )
