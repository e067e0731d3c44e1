"""One service for the tests of all commands. Each test makes what it needs, under its own names."""

import itertools
import uuid
from collections.abc import Callable, Iterator

import pytest

from roost.client import Client, Inventory
from tests.support.cli_runner import CommandLine
from tests.support.roost_server import RoostServer

_numbers = itertools.count()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    folder = tmp_path_factory.mktemp("commands")
    with RoostServer(f"sqlite:///{folder / 'roost.db'}", folder) as server:
        yield server


@pytest.fixture(scope="package")
def client(server: RoostServer) -> Iterator[Client]:
    with Client(server.url) as client:
        yield client


@pytest.fixture(scope="package")
def roost(server: RoostServer) -> CommandLine:
    return CommandLine(server.url)


@pytest.fixture
def name() -> str:
    """A name that nothing has yet."""
    return f"host{next(_numbers)}"


@pytest.fixture
def new_uuid() -> str:
    return str(uuid.uuid4())


@pytest.fixture
def create(client: Client) -> Callable[..., str]:
    """Creates a provider with inventories, and returns its UUID."""

    def create(name: str, *, parent_uuid: str | None = None, **totals: int) -> str:
        made = client.create_provider(name, parent_uuid=parent_uuid)
        if totals:
            inventories = {each: Inventory(total=total) for each, total in totals.items()}
            client.set_inventories(made.uuid, inventories, made.generation)
        return made.uuid

    return create
