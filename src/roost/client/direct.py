"""The client without a server: the same requests, answered in this process, on a database.

Requests are validated and versioned as over HTTP. For scripts that run while the service is down.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import msgspec

from roost.client.auth import NoAuth
from roost.client.client import Client


@contextmanager
def direct(
    database_url: str | None = None, *, config_files: Sequence[Path] = (), sync: bool = False
) -> Iterator[Client]:
    """A client on a database, by default on the configured one.

    The tables must exist. With `sync` they are created or migrated first.
    """
    # Imported only here: the service is much larger than its client.
    from roost.assembly import open_application
    from roost.settings import DATABASE, load_settings

    overrides = {("api", "auth_strategy"): "noauth2"}
    if database_url is not None:
        overrides[DATABASE, "connection"] = database_url
    settings = load_settings(config_files=config_files, overrides=overrides)
    # Only this process sends requests, so policy files, a prefix and CORS have no purpose.
    settings = msgspec.structs.replace(settings, files=(), url_prefix="", cors_allowed_origins=())
    with open_application(settings, sync=sync) as application:
        transport = httpx.WSGITransport(app=application)
        with Client("http://direct", auth=NoAuth(), transport=transport, retries=0) as client:
            yield client
