"""The WSGI application that uwsgi, mod_wsgi and granian load as `roost.wsgi:application`.

Importing this module does nothing else. The application is built with the first request, in the
process that serves it: so a server may import it before it forks, and each process opens its own
connections.
"""

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from roost.api import error_table, errors
from roost.api.application import create_application
from roost.errors import Unavailable
from roost.service import Roost
from roost.settings import Settings, SettingsError, embedded_database_path, load_settings
from roost.store import migrate, standard
from roost.store.store import Store

LOG = logging.getLogger(__name__)

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def build_application(
    *,
    settings: Settings | None = None,
    database_url: str | None = None,
    auth_strategy: str | None = None,
    sync: bool | None = None,
) -> Application:
    """The whole service in one object.

    Without settings, they are read as configured; the two arguments after them win. The tables
    are created or migrated first if `sync`, or [placement_database]sync_on_startup, says so, or
    if no database is configured and so the embedded one is used.
    """
    settings = load_settings() if settings is None else settings
    if auth_strategy is not None:
        settings = msgspec.structs.replace(settings, auth_strategy=auth_strategy)
    if sync is None:
        sync = settings.database.sync_on_startup
    if database_url is not None:
        database = msgspec.structs.replace(settings.database, connection=database_url)
        settings = msgspec.structs.replace(settings, database=database)
    check_authentication(settings)
    store = open_store(settings)
    if sync or (sync is None and settings.database.connection is None):
        migrate.sync(store.engine)
    standard.synchronise(store)
    return create_application(Roost(store, settings))


def check_authentication(settings: Settings) -> None:
    if settings.auth_strategy != "noauth2":
        raise SettingsError(
            f"[api]auth_strategy is {settings.auth_strategy}, which this version of roost does not "
            "offer yet; for tests and development set it to noauth2 (every token is believed)"
        )


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
    """Builds an application with its first request, or with a later one if the database is away."""

    def __init__(self, build: Callable[[], Application]) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._application: Application | None = None

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        # Threads that come at the same time wait for the first to build.
        with self._lock:
            if self._application is None:
                try:
                    self._application = self._build()
                except Unavailable as error:
                    LOG.warning("not started yet: %s", error)
                    return _unavailable(error, start_response)
        return self._application(environ, start_response)


def _unavailable(error: Unavailable, start_response: Callable[..., Any]) -> Iterable[bytes]:
    """What the application itself would answer, if there were one."""
    refusal = error_table.to_http(error)
    body, content_type = errors.render(
        refusal, errors.RequestFacts(), errors.JSON, errors.new_request_id(), with_code=True
    )
    headers = {"content-type": content_type, "content-length": str(len(body)), **refusal.headers}
    start_response("503 Service Unavailable", list(headers.items()))
    return [body]


application = LazyApplication(build_application)
