"""A client that talks to a server, and one that needs none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.client import Client, direct
from tests.support.roost_server import RoostServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    folder = tmp_path_factory.mktemp("client")
    with RoostServer(f"sqlite:///{folder / 'roost.db'}", folder) as server:
        yield server


@pytest.fixture(params=["http", "direct"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    """The same client over HTTP and in this process."""
    if request.param == "direct":
        with direct(f"sqlite:///{tmp_path / 'roost.db'}", sync=True) as client:
            yield client
    else:
        with Client(request.getfixturevalue("server").url) as client:
            yield client
