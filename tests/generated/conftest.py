"""The servers under test, one for each kind of database."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.generated.subject import Subject, statuses
from tests.support.database_servers import DATABASES, MariaDB, PostgreSQL

# Generated requests go to these databases; explicit examples always go to all of them.
GENERATED_DATABASES = os.environ.get("ROOST_DATABASES", "sqlite").split(",")


@contextmanager
def serve(database_url: str, folder: Path) -> Iterator[Subject]:
    with Subject(database_url, folder) as subject:
        yield subject
        # An exception inside the server may still have been answered with a well-formed error.
        assert not re.search("^Traceback", subject.server.output, re.MULTILINE)


@pytest.fixture(scope="session")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    folder = tmp_path_factory.mktemp("sqlite")
    with serve(f"sqlite:///{folder / 'roost.db'}", folder) as subject:
        yield subject


@pytest.fixture(scope="session")
def on_postgresql(
    postgresql: PostgreSQL, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Subject]:
    with serve(postgresql.create_database(), tmp_path_factory.mktemp("postgresql")) as subject:
        yield subject


@pytest.fixture(scope="session")
def on_mariadb(mariadb: MariaDB, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    with serve(mariadb.create_database(), tmp_path_factory.mktemp("mariadb")) as subject:
        yield subject


@pytest.fixture(scope="session", params=DATABASES)
def every_subject(request: pytest.FixtureRequest) -> Subject:
    """The server on each kind of database in turn."""
    return request.getfixturevalue(f"on_{request.param}")


@pytest.fixture(scope="session", params=GENERATED_DATABASES)
def subject(request: pytest.FixtureRequest) -> Subject:
    """A server for generated requests, on each database that the environment selects."""
    return request.getfixturevalue(f"on_{request.param}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if statuses:
        counts = ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items()))
        terminalreporter.write_line(f"generated: {statuses.total()} requests ({counts})")
