"""A process whose database refuses writes is not ready, and says so."""

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from roost.assembly import build_application
from roost.settings import Settings
from tests.support.database_servers import DatabaseServer, MariaDB, PostgreSQL
from tests.support.headers import HEADERS

READY = {"database": "ok", "writes": "ok", "index": "ok"}
REFUSED = {"database": "ok", "writes": "refused", "index": "not asked"}
NOBODY = 65534


@contextmanager
def service(url: str, *, sync: bool = True) -> Iterator[httpx.Client]:
    application = build_application(
        settings=Settings(auth_strategy="noauth2"), database_url=url, sync=sync
    )
    with httpx.Client(
        transport=httpx.WSGITransport(app=application),
        base_url="http://cloud.example",
        headers=HEADERS,
    ) as client:
        yield client


@contextmanager
def ready_service(url: str) -> Iterator[httpx.Client]:
    """A service whose index has been loaded."""
    with service(url) as client:
        assert checks(client) == (200, READY)
        create_provider(client, "first").raise_for_status()
        yield client


def checks(client: httpx.Client) -> tuple[int, dict[str, str]]:
    response = client.get("/readyz")
    return response.status_code, response.json()["checks"]


def create_provider(client: httpx.Client, name: str) -> httpx.Response:
    return client.post("/resource_providers", json={"name": name})


def assert_refuses(client: httpx.Client) -> None:
    # Probes come again and again, and a write that is refused changes nothing about the answer.
    for _ in range(2):
        assert checks(client) == (503, REFUSED)
        assert create_provider(client, "refused").status_code == 503
    assert client.get("/livez").status_code == 200


def assert_writes(client: httpx.Client) -> None:
    assert checks(client) == (200, READY)
    create_provider(client, "second").raise_for_status()


def execute(server: DatabaseServer, *statements: str) -> None:
    with server._cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def test_mariadb(mariadb: MariaDB) -> None:
    url = mariadb.create_database()
    name = sa.make_url(url).database
    # Those who administer the server may write to it all the same.
    execute(mariadb, "CREATE USER roost_writer", f"GRANT ALL ON {name}.* TO roost_writer")
    try:
        with ready_service(url.replace("root@", "roost_writer@")) as client:
            execute(mariadb, "SET GLOBAL read_only = 1")
            try:
                assert_refuses(client)
            finally:
                execute(mariadb, "SET GLOBAL read_only = 0")
            assert_writes(client)
            execute(mariadb, f"REVOKE ALL ON {name}.* FROM roost_writer")
            execute(mariadb, f"GRANT SELECT ON {name}.* TO roost_writer", "KILL USER roost_writer")
            assert_refuses(client)
    finally:
        execute(mariadb, "DROP USER roost_writer")
        mariadb.drop_database(url)


def test_postgresql(postgresql: PostgreSQL) -> None:
    """A standby gives the same error as a session that is read-only."""
    url = postgresql.create_database()
    name = sa.make_url(url).database
    end_sessions = (
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    )
    setting = f"ALTER DATABASE {name} SET default_transaction_read_only ="
    try:
        with ready_service(url) as client:
            execute(postgresql, f"{setting} on", end_sessions)
            assert_refuses(client)
            execute(postgresql, f"{setting} off", end_sessions)
            assert_writes(client)
    finally:
        postgresql.drop_database(url)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike those of pytest."""
    folder = Path(tempfile.mkdtemp(prefix="roost-readiness-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def as_somebody_else() -> Iterator[None]:
    """Permissions do not stop root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_sqlite_file_without_permission(folder: Path) -> None:
    path = folder / "roost.db"
    url = f"sqlite:///{path}"
    with as_somebody_else():
        with ready_service(url):
            pass
        path.chmod(0o444)
        with service(url, sync=False) as client:
            assert_refuses(client)
            # The file is opened again, not only by a new process.
            path.chmod(0o644)
            assert_writes(client)


class TestCost:
    def test_a_probe_changes_nothing(self, database_url: str) -> None:
        engine = sa.create_engine(database_url)
        writers = sa.text("SELECT * FROM roost_writers")
        with ready_service(database_url) as client:
            with engine.connect() as connection:
                before = connection.execute(writers).all()
            for _ in range(3):
                assert checks(client) == (200, READY)
            with engine.connect() as connection:
                assert connection.execute(writers).all() == before
        engine.dispose()

    def test_a_probe_does_not_wait_for_another_writer(self, tmp_path: Path) -> None:
        """SQLite has one at a time, which may take long. Writes are not refused meanwhile."""
        path = tmp_path / "roost.db"
        with (
            ready_service(f"sqlite:///{path}") as client,
            closing(sqlite3.connect(path, isolation_level=None)) as connection,
        ):
            connection.execute("BEGIN IMMEDIATE")
            begun = time.monotonic()
            assert checks(client) == (200, READY)
            assert time.monotonic() - begun < 2
            connection.execute("ROLLBACK")
            # And the next write waits for its turn again.
            assert_writes(client)
