"""A cloud that the reference created, and its rows."""

import random
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.adoption import upstream
from tests.adoption.tables import Rows, dump
from tests.comparison.comparison import ask
from tests.comparison.worlds import World, make_world


@pytest.fixture(scope="session")
def world() -> World:
    """A world with trees, sharing providers and several consumers."""
    seeds = iter(range(1000))
    while True:
        world = make_world(random.Random(next(seeds)))
        if (
            len(world.consumers) > 2
            and sum(one.name.startswith("sharing") for one in world.providers) > 1
            and sum(one.parent is not None for one in world.providers) > 3
        ):
            return world


def load(world: World, side: upstream.Upstream) -> None:
    for request in world.requests():
        ask(side, request)


@pytest.fixture(scope="session")
def rows(world: World, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """The rows that the reference writes for the world, in tables of its newest revision."""
    folder: Path = tmp_path_factory.mktemp("rows")
    url = f"sqlite:///{folder / 'rows.db'}"
    upstream.migrate(url, folder)
    with upstream.serving(url, folder) as side:
        load(world, side)
    engine = sa.create_engine(url)
    found = dump(engine)
    engine.dispose()
    return found
