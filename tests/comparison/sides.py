"""The two sides of the comparison: roost in this process, the reference in another one."""

import json
import logging
import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

import httpx

from tests.comparison.requests import Request

# The reshaper requires the role `service`, everything else `admin`.
HEADERS = {"x-auth-token": "admin", "x-roles": "admin,service"}

STOP_SECONDS_MAX = 10


class Answer(NamedTuple):
    """A response."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content) if self.content else None


class Side(Protocol):
    """A service whose answers are compared."""

    def reset(self) -> None:
        """Start again with an empty database."""

    def start(self, request: Request) -> None:
        """Send a request; may return before the answer has arrived."""

    def finish(self) -> Answer:
        """The answer to the request that was started."""


def client_of(application: Any) -> httpx.Client:
    transport = httpx.WSGITransport(app=application, raise_app_exceptions=False)
    return httpx.Client(transport=transport, base_url="http://placement", headers=HEADERS)


def send(client: httpx.Client, request: Request) -> Answer:
    response = client.request(
        request.method,
        request.url,
        json=request.body,
        headers={"openstack-api-version": f"placement {request.version}"},
    )
    return Answer(response.status_code, dict(response.headers), response.content)


class Roost:
    """The WSGI application of roost, with a new SQLite file for each world."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._worlds = 0
        self._client: httpx.Client | None = None
        self._answer: Answer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._client is not None:
            self._client.close()

    def reset(self) -> None:
        if self._client is not None:
            self._client.close()
        self._worlds += 1
        self._client = client_of(build_roost(self._folder / f"roost-{self._worlds}.db"))

    def start(self, request: Request) -> None:
        assert self._client is not None
        self._answer = send(self._client, request)

    def finish(self) -> Answer:
        assert self._answer is not None
        return self._answer


def build_roost(database: Path) -> Any:
    """The application as a WSGI server loads it. The comparison knows nothing else of roost."""
    from roost.assembly import build_application

    return build_application(
        database_url=f"sqlite:///{database}", auth_strategy="noauth2", sync=True
    )


class Reference:
    """The reference, in a process of its own.

    Its engine, configuration and logging are global to a process, so it cannot share one with roost
    or with other tests. Besides, the two can work at the same time.
    """

    def __init__(self, folder: Path, hash_seed: int = 0) -> None:
        self._folder = folder
        # Many orders in its answers are those of sets; a fixed seed makes a failure repeatable.
        self._hash_seed = hash_seed

    def __enter__(self) -> Self:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=serve_reference, args=(theirs, self._folder), daemon=True
        )
        before = os.environ.get("PYTHONHASHSEED")
        os.environ["PYTHONHASHSEED"] = str(self._hash_seed)
        try:
            self._process.start()
        finally:
            del os.environ["PYTHONHASHSEED"]
            if before is not None:
                os.environ["PYTHONHASHSEED"] = before
        # While this end is open here too, the death of the process would not end a wait for it.
        theirs.close()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._connection.close()
        self._process.join(STOP_SECONDS_MAX)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def reset(self) -> None:
        self._connection.send(None)
        self._connection.recv()

    def start(self, request: Request) -> None:
        self._connection.send(request)

    def finish(self) -> Answer:
        answer = self._connection.recv()
        assert isinstance(answer, Answer)
        return answer


def serve_reference(connection: Connection, folder: Path) -> None:
    """The main function of the reference's process: answer until the other end is closed."""
    template = folder / "template.db"
    database = folder / "reference.db"
    client = client_of(build_reference(folder, template, database))
    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        if request is None:
            copy_content(template, database)
            connection.send(None)
        else:
            connection.send(send(client, request))


def build_reference(folder: Path, template: Path, database: Path) -> Any:
    """Its WSGI application; `template` becomes a copy of its empty database."""
    configuration = folder / "configuration"
    configuration.mkdir()
    (configuration / "placement.conf").touch()
    os.environ |= {
        "OS_PLACEMENT_CONFIG_DIR": str(configuration),
        "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{database}",
        "OS_API__AUTH_STRATEGY": "noauth2",
    }
    manage = shutil.which("placement-manage", path=str(Path(sys.executable).parent))
    assert manage is not None, "the distribution openstack-placement is not installed"
    subprocess.run([manage, "db", "sync"], check=True)

    from placement import wsgi

    application = wsgi.init_application()
    # The reference logs each request, and each of its errors with a traceback.
    logging.disable(logging.CRITICAL)
    copy_content(database, template)
    return application


def copy_content(source: Path, target: Path) -> None:
    """Make a database equal to another one.

    Open connections remain valid, which they would not with a new file.
    """
    with sqlite3.connect(source) as from_, sqlite3.connect(target) as to:
        from_.backup(to)
    from_.close()
    to.close()
