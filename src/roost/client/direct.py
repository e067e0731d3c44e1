"""The client without a server: the same requests, answered in this process, on a database.

Requests are validated and versioned as over HTTP. For scripts that run while the service is down.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import msgspec

from roost.client.auth import NoAuth
from roost.client.client import Client
from roost.client.errors import DatabaseNotReady
from roost.progress import SILENT, Progress


@contextmanager
def direct(
    database_url: str | None = None,
    *,
    config_files: Sequence[Path] = (),
    sync: bool = False,
    progress: Progress = SILENT,
) -> Iterator[Client]:
    """A client on a database, by default on the configured one.

    The tables must exist. With `sync` they are created or migrated first. `progress` is told how
    far that is, and how far the index is loaded, which the first request does. A database that
    cannot be used raises `DatabaseNotReady`.
    """
    # Imported only here: the service is much larger than its client.
    from roost.assembly import open_application
    from roost.errors import NoTables, Unavailable
    from roost.settings import DATABASE, load_settings

    overrides = {("api", "auth_strategy"): "noauth2"}
    if database_url is not None:
        overrides[DATABASE, "connection"] = database_url
    settings = load_settings(config_files=config_files, overrides=overrides)
    # Only this process sends requests, so policy files, a prefix and CORS have no purpose.
    settings = msgspec.structs.replace(settings, files=(), url_prefix="", cors_allowed_origins=())
    with ExitStack() as stack:
        try:
            application = stack.enter_context(
                open_application(settings, sync=sync, progress=progress)
            )
        except NoTables as error:
            raise DatabaseNotReady(
                f"the database has no tables yet: run `roost db sync{_option(database_url)}`, or "
                "pass sync=True to direct"
            ) from error
        except Unavailable as error:
            raise DatabaseNotReady(" ".join(str(error).split())) from error
        transport = httpx.WSGITransport(app=application)
        yield stack.enter_context(
            Client("http://direct", auth=NoAuth(), transport=transport, retries=0)
        )


def _option(database_url: str | None) -> str:
    """The option by which commands find the same database; a URL with a password is not shown."""
    if database_url is None:
        return ""
    is_file = database_url.startswith("sqlite:")
    return f" --database {database_url if is_file else 'URL'}"
