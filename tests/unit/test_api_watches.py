"""Requests that wait, where the server in front waits for them, and where a thread does."""

import io
import queue
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from roost import assembly
from roost.api.http.exchange import EXCHANGE, Exchange
from roost.settings import load_settings
from tests.keystone.stand_in import Keystone, authtoken, token
from tests.support.headers import HEADERS

STREAM = "text/event-stream"
ORIGIN = "http://page.example"


class Answer:
    """What the application gave a server: status, headers and body."""

    def __init__(
        self, application: assembly.Application, target: str, exchange: Exchange | None, **more: str
    ) -> None:
        path, _, query = target.partition("?")
        headers = {**HEADERS, **more}
        environ: dict[str, Any] = {
            "REQUEST_METHOD": "GET",
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SERVER_NAME": "cloud.example",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(),
            "wsgi.errors": io.StringIO(),
            **{f"HTTP_{name.upper().replace('-', '_')}": text for name, text in headers.items()},
        }
        if exchange is not None:
            environ[EXCHANGE] = exchange
        self.status = ""
        self.headers: dict[str, str] = {}
        self.body = application(environ, self._start)

    def _start(self, status: str, headers: list[tuple[str, str]], *_: object) -> None:
        self.status = status
        self.headers = {name.lower(): value for name, value in headers}


@pytest.fixture(scope="module", params=["bare", "behind middleware"])
def application(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[assembly.Application]:
    """Without middleware, and behind all there is: proxy headers, CORS and Keystone."""
    folder = tmp_path_factory.mktemp("watches")
    path = folder / "placement.conf"
    known = {HEADERS["x-auth-token"]: token("nova", project="services", roles=("service",))}
    with Keystone(known) as keystone:
        if request.param == "bare":
            path.write_text("[api]\nauth_strategy = noauth2\n")
        else:
            path.write_text(
                f"{authtoken(f'{keystone.url}/v3')}\n[cors]\nallowed_origin = {ORIGIN}\n"
                "[oslo_middleware]\nenable_proxy_headers_parsing = true\n"
            )
        yield assembly.build_application(
            settings=load_settings(config_files=[path]),
            database_url=f"sqlite:///{folder / 'roost.db'}",
            sync=True,
        )


def position_of(application: assembly.Application) -> str:
    answer = Answer(application, "/events", None)
    return str(msgspec.json.decode(b"".join(answer.body))["position"])


@pytest.mark.parametrize("accept", [STREAM, "application/json"])
def test_a_server_that_can_wait_gets_a_watch(
    application: assembly.Application, accept: str
) -> None:
    exchange = Exchange(lambda _: None)
    target = f"/events?after={position_of(application)}&wait=1"
    answer = Answer(application, target, exchange, accept=accept, origin=ORIGIN)
    assert answer.status == "200 OK"
    assert answer.headers["content-type"] == accept
    assert answer.headers["openstack-api-version"] == "placement 1.39"
    assert answer.headers["cache-control"] == "no-cache"
    # The length of the body is not known, and the server must not be told that it is 0.
    assert "content-length" not in answer.headers
    assert list(answer.body) == []
    assert exchange.watch is not None
    delivered: queue.Queue[bytes | None] = queue.Queue()
    exchange.watch.start(delivered.put)
    pieces = list(iter(lambda: delivered.get(timeout=10), None))
    if accept == STREAM:
        assert pieces == [b"retry: 100\n\n"]
    else:
        assert [msgspec.json.decode(piece)["events"] for piece in pieces] == [[]]
    exchange.watch.stop()


@pytest.mark.parametrize("accept", [STREAM, "application/json"])
def test_without_an_exchange_a_thread_waits(application: assembly.Application, accept: str) -> None:
    target = f"/events?after={position_of(application)}&wait=1"
    answer = Answer(application, target, None, accept=accept)
    assert answer.headers["content-type"] == accept
    body = b"".join(answer.body)
    if accept == STREAM:
        assert body == b"retry: 100\n\n"
    else:
        assert msgspec.json.decode(body)["events"] == []
        assert answer.headers["content-length"] == str(len(body))


@pytest.mark.parametrize(
    ("target", "accept"),
    [
        ("/events", "application/json"),
        ("/events?after={}", "application/json"),
        ("/events?after={}&wait=0", "application/json"),
        ("/events?after=nonsense&wait=5", STREAM),
        ("/events?after=kZLNMDkH&wait=5", "application/json"),
        ("/resource_providers", "application/json"),
    ],
)
def test_what_need_not_wait_is_answered_at_once(
    application: assembly.Application, target: str, accept: str
) -> None:
    """Errors too: a position that makes no sense, and one that is gone."""
    exchange = Exchange(lambda _: None)
    answer = Answer(application, target.format(position_of(application)), exchange, accept=accept)
    assert b"".join(answer.body)
    assert exchange.watch is None
