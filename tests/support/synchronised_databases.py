"""Databases with tables, which tests take and give back.

Creating and dropping the tables takes longer than most tests do. So tests that change rows alone
share a few databases, one test at a time, and each is emptied after the test.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from roost.store import standard_names
from roost.store.migrations import migrate
from roost.store.store import Store
from tests.support import tables
from tests.support.database_servers import DatabaseServer

NAMES = ("traits", "resource_classes")


def synchronise(url: str) -> str:
    """Do what `roost db sync` does; returns the URL."""
    store = Store.open(url)
    migrate.sync(store.engine)
    standard_names.synchronise(store)
    store.dispose()
    return url


class DatabaseFiles:
    """SQLite: each test gets a copy of one file."""

    def __init__(self, folder: Path) -> None:
        self._template = folder / "template.db"
        _empty(synchronise(f"sqlite:///{self._template}"))

    @contextmanager
    def take(self, folder: Path) -> Iterator[str]:
        shutil.copy(self._template, folder / "roost.db")
        yield f"sqlite:///{folder / 'roost.db'}"


class ServerDatabases:
    """The databases of a server that have tables and are not in use."""

    def __init__(self, server: DatabaseServer) -> None:
        self._server = server
        self._unused: list[str] = []

    @contextmanager
    def take(self, _folder: Path) -> Iterator[str]:
        url = self._unused.pop() if self._unused else self._create()
        before = _count_names(url)
        yield url
        # A connection that a test left open may hold locks.
        self._server.disconnect(url)
        _empty(url)
        if _count_names(url) == before:
            self._unused.append(url)
        else:
            self._server.drop_database(url)

    def _create(self) -> str:
        return _empty(synchronise(self._server.create_database()))


def _empty(url: str) -> str:
    """Forget the writer that added the standard names, too."""
    tables.empty(sa.create_engine(url, poolclass=sa.NullPool))
    return url


def _count_names(url: str) -> list[int | None]:
    """How many standard names there are. A test may have changed them behind the API."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        return [
            connection.scalar(sa.select(sa.func.count()).select_from(sa.table(name)))
            for name in NAMES
        ]
