"""Clients that hold back their bodies hold no thread, and get an answer when their time is over."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from tests.hostile.service import raw_http
from tests.support.headers import HEADERS
from tests.support.roost_server import RoostServer

SENDERS = 64
BODY_SECONDS_MAX = 3
PATH = "/resource_providers"
JSON = "content-type: application/json"
TOKEN = "x-auth-token: admin"
VERSION = "openstack-api-version: placement 1.39"

BEGINNINGS = {
    "with a length": raw_http.head("POST", PATH, TOKEN, VERSION, JSON, "content-length: 40")
    + b'{"name":',
    "chunked": raw_http.head("POST", PATH, TOKEN, VERSION, JSON, "transfer-encoding: chunked")
    + b'8\r\n{"name":\r\n',
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    folder = tmp_path_factory.mktemp("slow_senders")
    config_file = folder / "roost.conf"
    config_file.write_text(f"[roost]\nbody_seconds_max = {BODY_SECONDS_MAX}\n")
    arguments = ["--threads", "4"]
    with RoostServer(
        f"sqlite:///{folder / 'roost.db'}", folder, config_file=config_file, arguments=arguments
    ) as server:
        yield server


def senders(server: RoostServer, beginning: bytes, stack: ExitStack) -> list[socket.socket]:
    connections = [stack.enter_context(raw_http.connect(server.port)) for _ in range(SENDERS)]
    for connection in connections:
        connection.sendall(beginning)
    return connections


def read_provider(server: RoostServer, uuid: str) -> int:
    url = f"{server.url}/resource_providers/{uuid}"
    return httpx.get(url, headers=HEADERS, timeout=30).status_code


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=BEGINNINGS)
def test_others_are_answered_before_slow_senders(server: RoostServer, beginning: bytes) -> None:
    added = httpx.post(server.url + PATH, headers=HEADERS, json={"name": str(hash(beginning))})
    with ExitStack() as stack:
        connections = senders(server, beginning, stack)
        for _ in range(5):
            assert httpx.get(f"{server.url}/livez", timeout=30).status_code == 200
            assert read_provider(server, added.json()["uuid"]) == 200
        # Nobody had to wait for their time to be over.
        assert raw_http.answered(connections) == 0
        for connection in connections:
            status, body = raw_http.receive_answer(connection)
            assert status == 408
            assert b"The body did not arrive within 3 s." in body


def test_without_a_token_a_body_is_not_waited_for(server: RoostServer) -> None:
    for beginning in BEGINNINGS.values():
        refused = beginning.replace(TOKEN.encode() + b"\r\n", b"")
        with ExitStack() as stack:
            for connection in senders(server, refused, stack):
                assert raw_http.receive_answer(connection)[0] == 401


@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", [PATH, "/livez", "/"])
def test_where_no_body_is_expected_none_is_waited_for(
    server: RoostServer, method: str, path: str
) -> None:
    head = raw_http.head(method, path, TOKEN, VERSION, JSON, "content-length: 1000000")
    expected = 200 if method == "GET" else 405
    assert raw_http.ask(server.port, head)[0] == expected


@pytest.mark.parametrize("path", ["/livez", "/"])
def test_an_open_path_reads_no_body_of_any_method(server: RoostServer, path: str) -> None:
    head = raw_http.head("POST", path, TOKEN, JSON, "content-length: 1000")
    assert raw_http.ask(server.port, head)[0] == 405


def test_a_client_that_goes_away_is_no_error(server: RoostServer) -> None:
    for beginning in BEGINNINGS.values():
        with raw_http.connect(server.port) as connection:
            connection.sendall(beginning)
    assert httpx.get(f"{server.url}/livez", timeout=30).status_code == 200
    assert "Traceback" not in server.output


def test_a_body_in_pieces_is_read_as_one(server: RoostServer) -> None:
    with raw_http.connect(server.port) as connection:
        connection.sendall(BEGINNINGS["chunked"])
        # Sent on its own, since the server would otherwise receive both chunks at once.
        httpx.get(f"{server.url}/livez", timeout=30)
        connection.sendall(b'8\r\n "slow"}\r\n0\r\n\r\n')
        status, body = raw_http.receive_answer(connection)
    assert status == 200
    assert b'"slow"' in body
