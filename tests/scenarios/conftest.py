"""Services in this process, each with its own database."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx
import pytest


@pytest.fixture(scope="module")
def new_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], httpx.Client]]:
    """A function that returns a client of a new, empty service."""
    from roost.assembly import build_application

    with ExitStack() as clients:

        def make() -> httpx.Client:
            path = tmp_path_factory.mktemp("scenario") / "roost.db"
            application = build_application(
                database_url=f"sqlite:///{path}", auth_strategy="noauth2", sync=True
            )
            transport = httpx.WSGITransport(app=application)
            return clients.enter_context(httpx.Client(transport=transport, base_url="http://roost"))

        yield make
