"""The client without a server: the same requests, in this process, on nothing but a database.

Schemas and versions count as they do over HTTP. For scripts that work while the service is down.
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
    """A client on a database; without a URL on the one that is configured.

    The tables must be there, unless `sync`: then they are created or migrated first.
    """
    # Not before it is needed: the service is much larger than its client.
    from roost.assembly import open_application
    from roost.settings import load_settings

    overrides = {("api", "auth_strategy"): "noauth2"}
    settings = load_settings(config_files=config_files, overrides=overrides)
    settings = settings.on_database(database_url)
    # Nobody but this process asks, so no rules of policy and no prefix stand in the way.
    settings = msgspec.structs.replace(settings, files=(), url_prefix="", cors_allowed_origins=())
    with open_application(settings, sync=sync) as application:
        transport = httpx.WSGITransport(app=application)
        with Client("http://direct", auth=NoAuth(), transport=transport, retries=0) as client:
            yield client
