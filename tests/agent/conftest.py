"""A real server, and a client of it."""

from collections.abc import Iterator

import pytest

from roost.client import Client
from tests.agent.hosts import delete_everything
from tests.support.roost_server import RoostServer


@pytest.fixture(scope="session")
def agent_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    folder = tmp_path_factory.mktemp("agent")
    with RoostServer(f"sqlite:///{folder / 'roost.db'}", folder) as server:
        yield server


@pytest.fixture
def client(agent_server: RoostServer) -> Iterator[Client]:
    """A client of a service that holds nothing."""
    with Client(agent_server.url) as client:
        delete_everything(client)
        yield client
