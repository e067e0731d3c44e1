"""The application sees of a request what it sees with another server, but for underscores."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.hostile.service import fronted_application, raw_http
from tests.hostile.service.fronted_server import FrontedServer
from tests.support.database_servers import free_port
from tests.support.roost_server import RoostServer
from tests.support.service_process import ServiceProcess

JSON = "content-type: application/json"

REQUESTS = {
    "plain": raw_http.head("GET", "/echo/a?b=c&d=%20e+f", "x-auth-token: admin", "accept: */*"),
    "percent": raw_http.head("GET", "/echo/%41%2f%C3%A9%ff%00%zz?q=%C3%A9", "x-auth-token: é"),
    "bytes": raw_http.head("GET", "/echo/ab?q=~", "x-text: caf\xe9", "x-other: \ttab\t"),
    "repeated": raw_http.head(
        *("GET", "/echo", "x-auth-token: a", "x-auth-token: b", "cookie: a=1", "cookie: b=2"),
        *("accept: text/html", "accept: application/json", "x-forwarded-for: 1", "x-roles: "),
    ),
    "a body": raw_http.head("POST", "/echo", "x-auth-token: a", JSON, "content-length: 4")
    + b"null",
    "media types": raw_http.head("GET", "/echo", "content-type: a/b", "content-type: c/d"),
    "absolute": b"GET http://other:81/echo/x?y HTTP/1.1\r\nhost: some:82\r\n\r\n",
    "old": b"GET /echo HTTP/1.0\r\n\r\n",
    "old with a host": b"GET /echo HTTP/1.0\r\nhost: some\r\n\r\n",
    "options": raw_http.head("OPTIONS", "/echo/x"),
    "known method": raw_http.head("PROPFIND", "/echo/x"),
    "slashes": raw_http.head("GET", "//echo///x/../y/./;z=1"),
}
# They say something about the server, and not about the request.
DIFFERENT = {"SERVER_PORT", "SERVER_SOFTWARE", "GATEWAY_INTERFACE", "SERVER_PROTOCOL"}


class OtherServer(ServiceProcess):
    """The same application behind granian, a server for WSGI that others wrote."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        super().__init__(
            [
                *(sys.executable, "-m", "granian", f"{fronted_application.__name__}:application"),
                *("--interface", "wsgi", "--host", "127.0.0.1", "--port", str(self.port)),
            ],
            environment=os.environ,
            output_path=folder / "other.log",
            is_ready=lambda: httpx.get(f"http://127.0.0.1:{self.port}/counts").status_code == 200,
        )


@pytest.fixture(scope="module")
def servers(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[FrontedServer, OtherServer]]:
    folder = tmp_path_factory.mktemp("headers")
    with FrontedServer(folder) as front, OtherServer(folder) as other:
        yield front, other


def shown(server: FrontedServer | OtherServer, request: bytes) -> dict[str, str]:
    """The environment that the application sees, without the variables of the process."""
    status, body = raw_http.ask(server.port, request)
    assert status == 200
    environ = json.loads(body)
    if environ.get("HTTP_HOST") == "":
        # The other one says so of a request that has none.
        del environ["HTTP_HOST"]
    return {
        key: value
        for key, value in environ.items()
        if key not in DIFFERENT
        and (key.startswith(("HTTP_", "wsgi.", "CONTENT_", "SERVER_", "REMOTE_")) or key in NAMED)
    }


NAMED = {"REQUEST_METHOD", "PATH_INFO", "QUERY_STRING", "SCRIPT_NAME", "body"}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_the_environment_is_that_of_another_server(
    servers: tuple[FrontedServer, OtherServer], request_: bytes
) -> None:
    front, other = servers
    assert shown(front, request_) == shown(other, request_)


def test_headers_with_underscores_are_dropped(
    servers: tuple[FrontedServer, OtherServer],
) -> None:
    names = ("X_Auth_Token", "x-auth_token", "X_Forwarded_Host", "X_Roles", "Content_Length", "_")
    request = raw_http.head("GET", "/echo", *(f"{name}: 7" for name in names), "x-kept: 1")
    seen = shown(servers[0], request)
    assert {key for key in seen if key.startswith(("HTTP_", "CONTENT_"))} == {
        "HTTP_HOST",
        "HTTP_X_KEPT",
    }
    spoofed = raw_http.head("GET", "/echo", "X_Forwarded_Host: evil", "x-forwarded-host: good")
    assert shown(servers[0], spoofed)["HTTP_X_FORWARDED_HOST"] == "good"


def test_a_token_with_underscores_is_none(tmp_path: Path) -> None:
    with RoostServer(f"sqlite:///{tmp_path / 'roost.db'}", tmp_path) as server:
        url = f"{server.url}/resource_providers"
        assert httpx.get(url, headers={"X_Auth_Token": "admin"}).status_code == 401
        assert httpx.get(url, headers={"X-Auth-Token": "admin"}).status_code == 200
