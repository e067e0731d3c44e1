"""A body that is too large is refused before it is read, with the front and without it."""

import asyncio
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from roost.api.http.messages import Application
from roost.api.http_error import HttpError
from roost.assembly import open_application
from roost.server.request_body import BodyReader, RefusedBody
from roost.settings import DatabaseSettings, Settings
from tests.hostile.service import raw_http
from tests.support.roost_server import RoostServer

BYTES_MAX = 10_000
LARGE_BYTES_MAX = 64 * BYTES_MAX
HEADERS = (
    "x-auth-token: admin",
    "openstack-api-version: placement 1.39",
    "content-type: application/json",
)
CASES = [("POST", "/resource_providers", BYTES_MAX), ("POST", "/allocations", LARGE_BYTES_MAX)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    folder = tmp_path_factory.mktemp("body_sizes")
    config_file = folder / "roost.conf"
    config_file.write_text(f"[roost]\nbody_bytes_max = {BYTES_MAX}\n")
    with RoostServer(f"sqlite:///{folder / 'roost.db'}", folder, config_file=config_file) as server:
        yield server


@pytest.mark.parametrize(("method", "path", "bytes_max"), CASES)
class TestFront:
    def test_a_length_is_refused_before_the_body_arrives(
        self, server: RoostServer, method: str, path: str, bytes_max: int
    ) -> None:
        length = f"content-length: {bytes_max + 1}"
        status, body = raw_http.ask(server.port, raw_http.head(method, path, *HEADERS, length))
        assert status == 413
        [error] = json.loads(body)["errors"]
        assert f"The body may have {bytes_max} bytes." in error["detail"]

    def test_a_chunked_body_is_refused_when_it_is_too_large(
        self, server: RoostServer, method: str, path: str, bytes_max: int
    ) -> None:
        head = raw_http.head(method, path, *HEADERS, "transfer-encoding: chunked")
        # The body never ends.
        data = b"%x\r\n%b\r\n" % (bytes_max + 1, b" " * (bytes_max + 1))
        assert raw_http.ask(server.port, head + data)[0] == 413

    def test_a_client_that_sends_first_and_reads_later_sees_why(
        self, server: RoostServer, method: str, path: str, bytes_max: int
    ) -> None:
        headers = dict(header.split(": ", 1) for header in HEADERS)
        body = b" " * (bytes_max + 8_000_000)
        url = server.url + path
        assert httpx.request(method, url, headers=headers, content=body).status_code == 413
        headers.pop("x-auth-token")
        assert httpx.request(method, url, headers=headers, content=body).status_code == 401

    def test_the_largest_body_is_read(
        self, server: RoostServer, method: str, path: str, bytes_max: int
    ) -> None:
        body = b" " * (bytes_max - 2) + b"{}"
        head = raw_http.head(method, path, *HEADERS, f"content-length: {bytes_max}")
        status, answer = raw_http.ask(server.port, head + body)
        assert status == 400
        assert b"JSON does not validate" in answer


class Unreadable(io.BytesIO):
    """The body of a slow sender, of which nothing ever arrives."""

    def read(self, *_: object) -> bytes:
        raise AssertionError("the body is read")


class TestWithoutFront:
    @pytest.fixture
    def application(self, tmp_path: Path) -> Iterator[Application]:
        database = DatabaseSettings(connection=f"sqlite:///{tmp_path / 'roost.db'}")
        settings = Settings(auth_strategy="noauth2", body_bytes_max=BYTES_MAX, database=database)
        with open_application(settings, sync=True) as application:
            yield application

    def ask(
        self, application: Application, method: str, path: str, body: io.BytesIO, **extra: str
    ) -> str:
        statuses = []
        environ = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "QUERY_STRING": "",
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_TYPE": "application/json",
            "HTTP_X_AUTH_TOKEN": "admin",
            "HTTP_OPENSTACK_API_VERSION": "placement 1.39",
            "wsgi.url_scheme": "http",
            "wsgi.errors": sys.stderr,
            "wsgi.input": body,
            "wsgi.input_terminated": True,
            **extra,
        }
        list(application(environ, lambda status, *_: statuses.append(status)))
        return str(statuses[0])

    @pytest.mark.parametrize(("method", "path", "bytes_max"), CASES)
    def test_a_large_body_is_refused(
        self, application: Application, method: str, path: str, bytes_max: int
    ) -> None:
        length = str(bytes_max + 1)
        status = self.ask(application, method, path, Unreadable(), CONTENT_LENGTH=length)
        assert status.startswith("413")
        chunked = io.BytesIO(b" " * (bytes_max + 1))
        status = self.ask(application, method, path, chunked, HTTP_TRANSFER_ENCODING="chunked")
        assert status.startswith("413")

    @pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "OPTIONS"])
    def test_no_body_is_read_where_none_is_expected(
        self, application: Application, method: str
    ) -> None:
        length = str(100 * BYTES_MAX)
        for path in ("/resource_providers", "/traits/CUSTOM_A", "/", "/livez"):
            status = self.ask(application, method, path, Unreadable(), CONTENT_LENGTH=length)
            assert status[:3] in ("200", "404", "405")


class TestMemory:
    """All bodies of a process together are bounded."""

    @staticmethod
    def body(*chunks: bytes):
        left = list(chunks)

        async def receive() -> dict[str, object]:
            chunk = left.pop(0)
            return {"type": "http.request", "body": chunk, "more_body": bool(left)}

        return receive

    def test_large_bodies_leave_room_for_usual_ones(self) -> None:
        async def read() -> None:
            bodies = BodyReader(30, memory_bytes_max=1_000_000)
            half, held = await bodies.read({}, self.body(b"x" * 400_000), 10**9)
            assert half.read() == b"x" * 400_000
            refused, nothing = await bodies.read({}, self.body(b"x" * 400_000), 10**9)
            assert isinstance(refused, RefusedBody)
            assert nothing == 0
            with pytest.raises(HttpError) as error:
                refused.read()
            assert error.value.status == 503
            assert "retry-after" in error.value.headers
            for _ in range(10):
                usual, _ = await bodies.read({}, self.body(b"x" * 30_000, b"x" * 30_000), 10**9)
                assert len(usual.read()) == 60_000
            # A refused body is not held, and one that was used is no longer held.
            bodies.release(held)
            again, _ = await bodies.read({}, self.body(b"x" * 150_000), 10**9)
            assert len(again.read()) == 150_000

        asyncio.run(read())
