"""A client of the whole service in this process, without a server."""

from typing import Any

import httpx

from roost import assembly
from roost.settings import Settings
from tests.support.headers import HEADERS


def direct_client(database_url: str, **settings: Any) -> httpx.Client:
    """For a database, whose tables are made if there are none, with these settings."""
    application = assembly.build_application(
        settings=Settings(**settings),
        database_url=database_url,
        auth_strategy="noauth2",
        sync=True,
    )
    transport = httpx.WSGITransport(app=application)
    return httpx.Client(transport=transport, base_url="http://roost", headers=HEADERS)
