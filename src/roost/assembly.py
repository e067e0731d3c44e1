"""Puts the program together: settings -> store -> `Roost` -> application.

The command line, the WSGI object and the client without a server all start here.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

import msgspec

from roost.api import probes
from roost.api.application import create_application
from roost.api.http import error_response, error_table
from roost.api.http.messages import Application, Environ, StartResponse
from roost.configured_store import incomplete_ids, missing_database, open_store
from roost.errors import NoTables, Unavailable
from roost.health.configuration import check_configuration, log_outcomes
from roost.observe import logs
from roost.progress import SILENT, LineView, Progress, drawn
from roost.service.service import Roost, ShowProgress, show_nothing
from roost.settings import DATABASE, Settings, SettingsError, load_settings
from roost.store import standard_names
from roost.store.connection.engine import use_write_ahead_log
from roost.store.feed.shared_positions import SharedPositions
from roost.store.migrations import migrate

LOG = logging.getLogger(__name__)


def build_application(
    *,
    settings: Settings | None = None,
    database_url: str | None = None,
    auth_strategy: str | None = None,
    sync: bool | None = None,
    stopping: threading.Event | None = None,
    show_progress: ShowProgress = show_nothing,
    load_at_start: bool = False,
    shared: SharedPositions | None = None,
) -> Application:
    """The whole service as one WSGI application.

    Without `settings` the configuration is read; `database_url` and `auth_strategy` override it.
    The first request that needs the tables creates or migrates them, if `sync` says so, or
    [placement_database]sync_on_startup, or if no database is configured and roost uses its
    embedded one. Requests that wait for events end when the server sets `stopping`. The index is
    loaded with the first request that needs it, or with `load_at_start` beside the caller. The
    processes of one service share positions of the change feed.
    """
    if settings is None:
        named = {} if database_url is None else {(DATABASE, "connection"): database_url}
        settings = load_settings(overrides=named)
    if auth_strategy is not None:
        settings = msgspec.structs.replace(settings, auth_strategy=auth_strategy)
    if sync is None:
        sync = settings.database.sync_on_startup
    settings = settings.on_database(database_url)
    roost = _open(
        settings, sync=sync, stopping=stopping, show_progress=show_progress, shared=shared
    )
    if load_at_start:
        threading.Thread(target=_load, args=[roost], name="load at start", daemon=True).start()
    return create_application(roost)


def _load(roost: Roost) -> None:
    try:
        roost.open()
        roost.catch_up()
    except Exception as error:
        # The first request tries again.
        LOG.warning("the index could not be loaded at start: %s", error)


@contextmanager
def open_application(
    settings: Settings, *, sync: bool, progress: Progress = SILENT
) -> Iterator[Application]:
    """The service in this process, for the duration of the block; closes its connections.

    Raises `Unavailable` if the database cannot be used. Without `sync` a SQLite file that does not
    exist is not created.
    """
    if not sync and missing_database(settings) is not None:
        raise NoTables
    roost = _open(settings, sync=sync, show_progress=lambda: nullcontext(progress))
    try:
        roost.open()
        yield create_application(roost)
        roost.store.end()
    finally:
        roost.close()


def _open(
    settings: Settings,
    *,
    sync: bool | None,
    stopping: threading.Event | None = None,
    show_progress: ShowProgress,
    shared: SharedPositions | None = None,
) -> Roost:
    store = open_store(settings, shared)
    sync = settings.database.connection is None if sync is None else sync

    def prepare() -> None:
        with show_progress() as progress:
            if sync:
                migrate.sync(store.engine, incomplete_ids(settings), progress)
            standard_names.synchronise(store, progress)
        # It may have been lost with a copy of the file.
        use_write_ahead_log(store.engine)

    return Roost(store, settings, prepare, stopping, show_progress)


def build_configured(load: Callable[[], Settings] = load_settings) -> Application:
    """The service as configured, with its logging: for servers that set up neither."""
    settings = load()
    logs.configure(settings)
    log_outcomes(check_configuration(settings))
    return build_application(settings=settings, show_progress=log_progress)


def log_progress() -> AbstractContextManager[Progress]:
    """Progress as lines of the log."""
    return drawn(LineView(LOG.info))


class LazyApplication:
    """Builds an application with its first request, in the process that serves it.

    While the application cannot be built, requests get a 503 and the log says why; `/livez` is
    answered: the process runs, and restarting it would not help.
    """

    def __init__(self, build: Callable[[], Application]) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._application: Application | None = None

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        try:
            application = self._application or self._built()
        except Exception as error:
            return self._answer_unbuilt(error, environ, start_response)
        return application(environ, start_response)

    def build_now(self) -> None:
        """Build it without a request. If that fails, the first request tries again."""
        with suppress(Exception):
            self._built()

    def _built(self) -> Application:
        # Threads that arrive at the same time wait for the first one to build.
        with self._lock:
            if self._application is None:
                self._application = self._build()
            return self._application

    def _answer_unbuilt(
        self, error: Exception, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        if environ.get("PATH_INFO") == probes.LIVEZ:
            return probes.answer_livez(start_response)
        # The server runs already; its operator finds the reason in its log.
        if isinstance(error, SettingsError):
            LOG.error("not started: %s", error)
        else:
            # Nobody has foreseen it, so the log says where it comes from.
            LOG.error("not started: %s", type(error).__name__, exc_info=error)
        return error_response.respond(
            error_table.to_http(Unavailable(str(error))), environ, start_response
        )
