"""The databases under test: a Galera cluster, or one PostgreSQL server."""

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Any, Protocol

from tests.faults.galera import Cluster
from tests.support.database_servers import PostgreSQL


class Database(Protocol):
    """What a run needs of a database."""

    title: str
    nodes: list[Any]
    name: str

    def url(self) -> str:
        """The URL, with `{port}` in place of the port."""
        ...

    def renew(self) -> None:
        """Continue with a new, empty database."""
        ...

    def heal(self) -> None: ...

    def rows(self, number: int, statement: str) -> list[tuple[Any, ...]]:
        """The rows that a node itself returns, without a service in between."""
        ...


class GaleraDatabase:
    title = "Galera"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.nodes: list[Any] = list(cluster.nodes)
        self.renew()

    def renew(self) -> None:
        self.name = self._cluster.create_database()

    def url(self) -> str:
        return f"mysql+pymysql://root@127.0.0.1:{{port}}/{self.name}"

    def heal(self) -> None:
        self._cluster.heal()

    def rows(self, number: int, statement: str) -> list[tuple[Any, ...]]:
        with self.nodes[number]._cursor() as cursor:
            cursor.execute(f"USE {self.name}")
            cursor.execute("SET SESSION wsrep_sync_wait = 1")
            cursor.execute(statement)
            return list(cursor.fetchall())


class PostgreSQLNode(PostgreSQL):
    """A server that can be killed and started again."""

    number = 0

    def _serve_command(self) -> list[str]:
        # A server that was killed must find everything that it acknowledged.
        return [*super()._serve_command(), "-c", "full_page_writes=on"]

    def kill(self) -> None:
        assert self._process is not None
        # All of its processes: if only one died, the others would recover.
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def start_again(self) -> None:
        self._start()

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None


class PostgreSQLDatabase:
    title = "PostgreSQL"

    def __init__(self, server: PostgreSQLNode) -> None:
        self.nodes: list[Any] = [server]
        self.renew()

    def renew(self) -> None:
        self.name = self.nodes[0].create_database().rpartition("/")[2]

    def url(self) -> str:
        return f"postgresql+psycopg://roost@127.0.0.1:{{port}}/{self.name}"

    def heal(self) -> None:
        if not self.nodes[0].is_running():
            self.nodes[0].start_again()

    def rows(self, number: int, statement: str) -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(
            host="127.0.0.1", port=self.nodes[number].port, user="roost", dbname=self.name
        ) as connection:
            return list(connection.execute(statement))


@contextlib.contextmanager
def serve(kind: str) -> Iterator[Database]:
    if kind == "galera":
        with Cluster() as cluster:
            yield GaleraDatabase(cluster)
    else:
        with PostgreSQLNode() as server:
            yield PostgreSQLDatabase(server)
