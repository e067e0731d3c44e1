"""A running server that holds the small world, and checks that every answer must pass."""

import json
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

from tests.generated import small_world
from tests.generated.tables import Tables
from tests.generated.wire import Answer, RawRequest, send
from tests.support import answer_schemas
from tests.support.roost_server import RoostServer

TOKEN = (b"x-auth-token", b"admin")
# Only services may use the reshaper.
ROLES = (b"x-roles", b"admin,service")
VERSION_NEWEST = "1.39"
SINCE_CODE = (1, 23)

EXPLANATION_END = "\n\n "

# The number of answers with each status, for the summary of the test run.
statuses: Counter[int] = Counter()

# The data is worthless after the test, so waiting for a disk would only cost time.
ENVIRONMENT = {
    "OS_PLACEMENT_DATABASE__SQLITE_SYNCHRONOUS": "false",
    # Requests that restore the world wait for the end of holds.
    "OS_ROOST__HOLD_SECONDS_MAX": "0.1",
}


def version_header(version: str) -> tuple[bytes, bytes]:
    return (b"openstack-api-version", f"placement {version}".encode())


def plain_request(
    method: str, target: str, body: object = None, version: str = VERSION_NEWEST
) -> RawRequest:
    """A request as a well-behaved client sends it."""
    headers = (TOKEN, ROLES, version_header(version))
    if body is None:
        return RawRequest(method.encode(), target.encode(), headers)
    content_type = (b"content-type", b"application/json")
    return RawRequest(
        method.encode(), target.encode(), (*headers, content_type), json.dumps(body).encode()
    )


class Subject:
    """`roost serve` on a database, the tables of that database, and the small world."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self.server = RoostServer(database_url, folder, environment=ENVIRONMENT)
        self._tables = Tables(database_url)
        self._expected = ""
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        # The server stops even if the world cannot be built or the tables cannot be closed.
        with ExitStack() as stack:
            stack.enter_context(self.server)
            stack.enter_context(self._tables)
            self.restore()
            self._opened = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._opened.close()

    def restore(self) -> None:
        small_world.restore(self._ask)
        self._expected = self._tables.digest()

    def _ask(self, method: str, target: str, body: object = None) -> Any:
        answer = self.send(plain_request(method, target, body))
        assert answer.status < 300, f"{method} {target}: {answer}"
        return json.loads(answer.body) if answer.body else None

    def send(self, request: RawRequest) -> Answer:
        return send(self.server.port, request)

    def check(self, request: RawRequest) -> Answer:
        """Send a request; it must be answered properly, and a refusal must not change any table.

        Afterwards the world is restored.
        """
        answer = self.send(request)
        check_answer(request, answer)
        self.check_tables_and_restore(request.method, answer.status)
        return answer

    def check_tables_and_restore(self, method: bytes, status: int) -> None:
        """Check that only an accepted write changed a table; then restore the world."""
        statuses[status] += 1
        if self._tables.digest() == self._expected:
            return
        for target in small_world.READS:
            # The write may have deleted a provider; what is left must be readable.
            assert self.send(plain_request("GET", target)).status in (200, 404), target
        self.restore()
        assert status < 300, f"a table changed although {status} was answered"
        assert method not in (b"GET", b"HEAD"), "a table changed by reading"


def check_answer(request: RawRequest, answer: Answer) -> None:
    """The answer is not a server error, and an error has the documented form."""
    assert 200 <= answer.status < 500, answer
    check_schema(request.method, request.target, answer)
    if not answer.is_from_roost:
        # The HTTP server may refuse what is not HTTP.
        assert answer.status >= 400, answer
        assert not request.is_http, f"roost never saw this request: {answer}"
        return
    if answer.status < 400:
        return
    if request.method == b"HEAD":
        assert answer.body == b""
        return
    if answer.headers["content-type"] == "application/json":
        check_error(answer)
    else:
        # Only a client that asks for another form gets one.
        assert request.header(b"accept") not in (None, b"*/*", b"application/json"), answer
        assert answer.headers["content-type"] in (
            "text/html; charset=UTF-8",
            "text/plain; charset=UTF-8",
        )
        answer.body.decode("utf-8")


def check_schema(method: bytes, target: bytes, answer: Answer) -> None:
    """The answer is as the OpenAPI document of its version says."""
    path = unquote(target.partition(b"?")[0].decode("latin-1"), "latin-1")
    answer_schemas.check(
        answer_schemas.Answer(
            method.decode("latin-1"), path, answer.status, answer.headers, answer.body
        )
    )


def check_error(answer: Answer) -> None:
    body = json.loads(answer.body)
    if answer.status == 401:
        # Errors of the authentication middleware have a form of their own.
        assert set(body) == {"message", "code", "title"}, body
        return
    assert set(body) == {"errors"}, body
    (error,) = body["errors"]
    expected = {"status", "title", "detail", "request_id"}
    if answer.status == 406 and "max_version" in error:
        expected |= {"max_version", "min_version"}
    version = answer.headers.get("openstack-api-version")
    if version is not None and _number(version) >= SINCE_CODE:
        expected |= {"code"}
    assert set(error) == expected, error
    assert error["status"] == answer.status
    assert error["request_id"] == answer.headers["x-openstack-request-id"]
    assert error["title"]
    assert EXPLANATION_END in error["detail"], error


def _number(header: str) -> tuple[int, ...]:
    return tuple(map(int, header.removeprefix("placement ").split(".")))
