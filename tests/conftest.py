"""Fixtures for every test: the databases that roost supports."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from servers import DATABASES, MariaDB, PostgreSQL


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """A PostgreSQL server for this test run, started when the first test asks for it."""
    with PostgreSQL() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    """A MariaDB server for this test run, started when the first test asks for it."""
    with MariaDB() as server:
        yield server


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A fresh, empty database for one test, on each kind of database in turn."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'roost.db'}"
        return
    server = request.getfixturevalue(request.param)
    url = server.create_database()
    yield url
    server.drop_database(url)
