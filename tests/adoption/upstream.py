"""The reference implementation on a database of any kind: its migrations, and its service."""

import logging
import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from tests.comparison.requests import Request
from tests.comparison.sides import STOP_SECONDS_MAX, Answer, client_of, send

# Oldest first: the first of Train, two that only check for missing values, one that adds consumer
# types, one that removes indexes.
REVISIONS = ("b4ed3a175331", "611cd6dffd7b", "b5c396305c25", "422ece571366", "a082b8bb98d0")
HEAD = REVISIONS[-1]

# The reference takes seconds to import, and its configuration is global to a process. So one
# process imports it, and each use is a fork of that process.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["placement.wsgi", "placement.db.sqlalchemy.migration", "comparison.sides", __name__]
)


def migrate(url: str, folder: Path, revision: str = "head") -> None:
    """What `placement-manage db sync` does, up to a revision."""
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_migrate, args=(theirs, url, folder, revision))
    process.start()
    theirs.close()
    error = ours.recv()
    process.join()
    if error:
        raise RuntimeError(error)


def _migrate(connection: Connection, url: str, folder: Path, revision: str) -> None:
    try:
        _configure(url, folder)
        from oslo_config import cfg
        from placement import conf
        from placement.db.sqlalchemy import migration
        from placement.db_api import configure

        settings = cfg.ConfigOpts()
        conf.register_opts(settings)
        settings([], project="placement", default_config_files=[])
        configure(settings)
        migration.upgrade(revision)
        connection.send("")
    except Exception as error:
        connection.send(str(error) or repr(error))


class Upstream:
    """The service of the reference, as a side to compare with."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def reset(self) -> None:
        raise NotImplementedError("the test owns the database")

    def start(self, request: Request) -> None:
        self._connection.send(request)

    def finish(self) -> Answer:
        answer = self._connection.recv()
        assert isinstance(answer, Answer)
        return answer


@contextmanager
def serving(url: str, folder: Path) -> Iterator[Upstream]:
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_serve, args=(theirs, url, folder), daemon=True)
    process.start()
    theirs.close()
    try:
        yield Upstream(ours)
    finally:
        ours.close()
        process.join(STOP_SECONDS_MAX)
        if process.is_alive():
            process.kill()
            process.join()


def _serve(connection: Connection, url: str, folder: Path) -> None:
    _configure(url, folder)
    from placement import wsgi

    client = client_of(wsgi.init_application())
    # The reference logs each request, and each of its errors with a traceback.
    logging.disable(logging.CRITICAL)
    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        connection.send(send(client, request))


def _configure(url: str, folder: Path) -> None:
    configuration = folder / "upstream"
    configuration.mkdir(exist_ok=True)
    (configuration / "placement.conf").touch()
    os.environ |= {
        "OS_PLACEMENT_CONFIG_DIR": str(configuration),
        # The reference reads the id of a new row in a way that psycopg 3 does not support.
        "OS_PLACEMENT_DATABASE__CONNECTION": url.replace("+psycopg:", "+psycopg2:"),
        "OS_API__AUTH_STRATEGY": "noauth2",
    }
