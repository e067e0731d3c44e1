"""Requests straight to the application, with texts that no HTTP client would send."""

import io
import json
import sys
import urllib.parse
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from roost import assembly
from roost.api.http.messages import Application, Environ
from roost.settings import Settings
from tests.generated import small_world
from tests.generated.catalogue import NEWEST


class Answer(NamedTuple):
    status: int
    body: bytes

    @property
    def detail(self) -> str:
        detail: str = json.loads(self.body)["errors"][0]["detail"]
        return detail


class DirectClient:
    """The application on a database with the small world."""

    def __init__(self, folder: Path) -> None:
        # An operator may allow bodies as large as this everywhere, so size alone refuses none.
        settings = Settings(auth_strategy="noauth2", body_bytes_max=64 * 2**20)
        self._application: Application = assembly.build_application(
            settings=settings, database_url=f"sqlite:///{folder / 'roost.db'}", sync=True
        )
        small_world.restore(self._ask)

    def _ask(self, method: str, target: str, body: object = None) -> Any:
        path, _, query = target.partition("?")
        data = b"" if body is None else json.dumps(body).encode()
        answer = self.send(method, path, query=query, body=data)
        assert answer.status < 300, f"{method} {target}: {answer}"
        return json.loads(answer.body) if answer.body else None

    def send(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        body: bytes = b"",
        version: str = NEWEST,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Send a request; path and query are quoted as in a URL."""
        environ: Environ = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": urllib.parse.unquote_to_bytes(path).decode("latin-1"),
            "QUERY_STRING": query,
            "SERVER_NAME": "roost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
            "HTTP_HOST": "roost",
            "HTTP_X_AUTH_TOKEN": "admin",
            "HTTP_X_ROLES": "admin,service",
            "HTTP_OPENSTACK_API_VERSION": f"placement {version}",
        }
        if body:
            environ |= {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body))}
        environ |= headers or {}
        statuses: list[str] = []

        def start(status: str, headers: Sequence[tuple[str, str]], *_: Any) -> None:
            statuses.append(status)

        pieces = self._application(environ, start)
        content = b"".join(pieces)
        return Answer(int(statuses[-1][:3]), content)


def count_calls(work: Callable[[], object]) -> int:
    """How many functions are called, in Python and in C, until the work is done.

    Unlike a time it is the same on every machine, however busy.
    """
    count = 0

    def profile(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
