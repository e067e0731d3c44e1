"""The WSGI application that uwsgi, mod_wsgi and granian load as `roost.wsgi:application`.

Importing this module does nothing else. The application is built with the first request, in the
process that serves it: so a server may import it before it forks, and each process opens its own
connections. It answers while the database is away: with 503, and on the paths beside the API.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from roost import logs
from roost.api import error_table, outside
from roost.api.application import create_application
from roost.errors import Unavailable
from roost.service import Roost
from roost.settings import Settings, SettingsError, embedded_database_path, load_settings
from roost.store import migrate, standard
from roost.store.placement import IncompleteIds
from roost.store.store import Store

LOG = logging.getLogger(__name__)

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def build_application(
    *,
    settings: Settings | None = None,
    database_url: str | None = None,
    auth_strategy: str | None = None,
    sync: bool | None = None,
    stopping: threading.Event | None = None,
) -> Application:
    """The whole service in one object.

    Without settings, they are read as configured; the two arguments after them win. The tables
    are created or migrated before the first request that needs them if `sync`, or
    [placement_database]sync_on_startup, says so, or if no database is configured and so the
    embedded one is used. Requests that wait for changes end when `stopping` is set.
    """
    settings = load_settings() if settings is None else settings
    if auth_strategy is not None:
        settings = msgspec.structs.replace(settings, auth_strategy=auth_strategy)
    if sync is None:
        sync = settings.database.sync_on_startup
    settings = settings.on_database(database_url)
    return create_application(_open(settings, sync=sync, stopping=stopping))


@contextmanager
def open_application(settings: Settings, *, sync: bool) -> Iterator[Application]:
    """The service for a while, in this process; it leaves no connection behind."""
    roost = _open(settings, sync=sync)
    try:
        if sync:
            roost.open()
        yield create_application(roost)
    finally:
        roost.close()


def incomplete_ids(settings: Settings) -> IncompleteIds:
    """Whose the consumers are that nobody was named for."""
    return IncompleteIds(
        project=settings.incomplete_consumer_project_id, user=settings.incomplete_consumer_user_id
    )


def _open(
    settings: Settings, *, sync: bool | None, stopping: threading.Event | None = None
) -> Roost:
    store = open_store(settings)
    sync = settings.database.connection is None if sync is None else sync

    def prepare() -> None:
        if sync:
            migrate.sync(store.engine, incomplete_ids(settings))
        standard.synchronise(store)

    return Roost(store, settings, prepare, stopping)


def open_store(settings: Settings) -> Store:
    """The database of these settings; nothing is connected yet."""
    database = settings.database
    if database.connection is None:
        # A path that somebody gave is right or wrong; this one is our own.
        embedded_database_path().parent.mkdir(parents=True, exist_ok=True)
    return Store.open(
        settings.database_url,
        max_pool_size=database.max_pool_size,
        max_overflow=database.max_overflow,
        pool_timeout=database.pool_timeout,
        connection_recycle_time=database.connection_recycle_time,
        connection_parameters=database.connection_parameters,
        mysql_sql_mode=database.mysql_sql_mode,
        mysql_wsrep_sync_wait=database.mysql_wsrep_sync_wait,
        sqlite_synchronous=database.sqlite_synchronous,
    )


class LazyApplication:
    """Builds an application with its first request."""

    def __init__(self, build: Callable[[], Application]) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._application: Application | None = None

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        # Threads that come at the same time wait for the first to build.
        if self._application is None:
            with self._lock:
                if self._application is None:
                    try:
                        self._application = self._build()
                    except SettingsError as error:
                        # The server runs already; its operator finds the reason in its log.
                        LOG.error("not started: %s", error)
                        refusal = error_table.to_http(Unavailable(str(error)))
                        return outside.refuse(refusal, environ, start_response)
        return self._application(environ, start_response)


def build_configured() -> Application:
    """The service as it is configured, with its logs: for servers that configure neither."""
    settings = load_settings()
    logs.configure(settings)
    return build_application(settings=settings)


application = LazyApplication(build_configured)
