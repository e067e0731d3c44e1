"""The clients that tests use: over HTTP and without a server, blocking and awaiting."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest

from roost.client import Client, direct
from tests.client.driven import driven
from tests.client.scripted import Script
from tests.support.roost_server import RoostServer

BACKENDS = ("asyncio", "trio")


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    folder = tmp_path_factory.mktemp("client")
    with RoostServer(f"sqlite:///{folder / 'roost.db'}", folder) as server:
        yield server


@pytest.fixture(params=["direct", "http", *BACKENDS])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    """One client in this process, and those of a server."""
    if request.param == "direct":
        with direct(f"sqlite:///{tmp_path / 'roost.db'}", sync=True) as client:
            yield client
        return
    url = request.getfixturevalue("server").url
    with Client(url) if request.param == "http" else driven(request.param, url) as client:
        yield client


Scripted = Callable[..., tuple[Client, Script]]


@pytest.fixture(params=["blocking", *BACKENDS])
def scripted(request: pytest.FixtureRequest) -> Iterator[Scripted]:
    """Makes clients whose service answers as a script says."""
    with ExitStack() as stack:

        def make(*answers: Any, **options: Any) -> tuple[Client, Script]:
            script = Script(*answers)
            options = {"url": "http://scripted", "transport": script, **options}
            opened = (
                Client(**options)
                if request.param == "blocking"
                else driven(request.param, **options)
            )
            return stack.enter_context(opened), script

        yield make


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Clients do not pause; the pauses that they would have made."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await anyio.lowlevel.checkpoint()

    monkeypatch.setattr("roost.client.client.time.sleep", pauses.append)
    monkeypatch.setattr("roost.client.client.anyio.sleep", sleep)
    return pauses
