"""Temporary database servers: those of the tests, configured for a large cloud."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import psutil
import sqlalchemy

from tests.support import database_servers as servers

DATABASES = ("mariadb", "postgresql", "sqlite")


class Database(Protocol):
    """A server on which each service has its own database."""

    @property
    def title(self) -> str: ...

    @property
    def durable(self) -> bool:
        """Whether COMMIT waits for the disk."""

    @property
    def process_id(self) -> int | None:
        """The parent process of the server; None if the service itself does the work."""

    def create_database(self) -> str: ...

    def drop_database(self, url: str) -> None: ...


class MariaDB(servers.MariaDB):
    @property
    def process_id(self) -> int | None:
        return self._process.pid if self._process else None

    def _serve_command(self) -> list[str]:
        # If an option is repeated, the server uses the last value.
        return [
            *super()._serve_command(),
            "--innodb-buffer-pool-size=1G",
            "--innodb-log-file-size=1G",
            "--local-infile=1",
        ]


class PostgreSQL(servers.PostgreSQL):
    @property
    def process_id(self) -> int | None:
        return self._process.pid if self._process else None

    def _serve_command(self) -> list[str]:
        settings = ["shared_buffers=512MB", "work_mem=16MB", "max_wal_size=4GB"]
        return [*super()._serve_command(), *(word for s in settings for word in ("-c", s))]

    @property
    def programs(self) -> Path:
        """The folder of the server's programs, such as pgbench."""
        return self._programs


class SQLite:
    """Files in a temporary folder. This is for testing the benchmark, not for measurements."""

    title = "SQLite"
    durable = False
    process_id = None

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def create_database(self) -> str:
        self._count += 1
        return f"sqlite:///{self._folder / f'{self._count}.db'}"

    def drop_database(self, url: str) -> None:
        Path(url.removeprefix("sqlite:///")).unlink()


def version(url: str) -> str:
    """The version of the server behind a URL."""
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        numbers = connection.dialect.server_version_info or ()
    engine.dispose()
    return ".".join(str(number) for number in numbers if isinstance(number, int))


def disk_folder() -> Path:
    """The folder for data that a COMMIT has to bring to a disk: not one in memory."""
    wanted = os.environ.get("ROOST_BENCHMARK_FOLDER")
    if wanted is not None and is_in_memory(Path(wanted)):
        raise RuntimeError(f"ROOST_BENCHMARK_FOLDER is not on a disk: {wanted}")
    for folder in [wanted] if wanted is not None else [tempfile.gettempdir(), "/var/tmp"]:
        if not is_in_memory(Path(folder)):
            return Path(folder)
    raise RuntimeError("temporary folders are in memory: set ROOST_BENCHMARK_FOLDER")


def is_in_memory(folder: Path) -> bool:
    """Whether files in this folder never reach a disk."""
    mounts = {Path(mount.mountpoint): mount.fstype for mount in psutil.disk_partitions(all=True)}
    path = folder.resolve()
    kind = next((mounts[each] for each in (path, *path.parents) if each in mounts), "")
    return kind in ("tmpfs", "ramfs")


@contextlib.contextmanager
def start_database(kind: str, *, durable: bool = False) -> Iterator[Database]:
    """Run a server of that kind for the duration of the context.

    A durable one waits for the disk at COMMIT, as in production.
    """
    if kind == "sqlite":
        with tempfile.TemporaryDirectory(prefix="roost-benchmark-") as folder:
            yield SQLite(Path(folder))
        return
    parent_folder = disk_folder() if durable else None
    server_type = MariaDB if kind == "mariadb" else PostgreSQL
    with server_type(durable=durable, parent_folder=parent_folder) as server:
        yield server
