"""The two that are compared: roost in this process, the reference in one of its own."""

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

# The reshaper wants `service`, everything else is content with `admin`.
HEADERS = {"x-auth-token": "admin", "x-roles": "admin,service"}

STOP_SECONDS_MAX = 10


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content) if self.content else None


class Side(Protocol):
    """One that is compared."""

    def fresh(self) -> None:
        """Forget everything: the next request meets an empty database."""

    def start(self, request: Request) -> None:
        """Send a request, and perhaps do not wait for its answer."""

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
    """The WSGI application of roost, on a new SQLite file for each world."""

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

    def fresh(self) -> None:
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
    """The application, as a server would load it. All that the comparison knows of roost."""
    from roost.assembly import build_application

    return build_application(
        database_url=f"sqlite:///{database}", auth_strategy="noauth2", sync=True
    )


class Reference:
    """The reference, in a process of its own.

    Its engine, configuration and logging belong to a whole process, so it cannot share one with
    roost or with other tests; and the two can work at the same time.
    """

    def __init__(self, folder: Path, hash_seed: int = 0) -> None:
        self._folder = folder
        # Many orders in its answers come from sets; a fixed seed makes a failure repeatable.
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
        # Or the loss of the process would not end a wait for its answer.
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

    def fresh(self) -> None:
        self._connection.send(None)
        self._connection.recv()

    def start(self, request: Request) -> None:
        self._connection.send(request)

    def finish(self) -> Answer:
        answer = self._connection.recv()
        assert isinstance(answer, Answer)
        return answer


def serve_reference(connection: Connection, folder: Path) -> None:
    """The life of the reference's process: answer until the other end is closed."""
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
    """Its WSGI application; `template` becomes a copy of its database before the first request."""
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
    # It logs each request, and each of its own errors with a traceback.
    logging.disable(logging.CRITICAL)
    copy_content(database, template)
    return application


def copy_content(source: Path, target: Path) -> None:
    """Make a database equal to another. Its open connections stay good, a new file would lose."""
    with sqlite3.connect(source) as from_, sqlite3.connect(target) as to:
        from_.backup(to)
    from_.close()
    to.close()
