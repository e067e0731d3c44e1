"""Clients with tokens, an address and certificates from Keystone."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from keystoneauth1.identity import v3
from keystoneauth1.noauth import NoAuth
from keystoneauth1.session import Session

from roost.client import AsyncClient, AuthenticationFailed, Client, KeystoneAuth, Unreachable
from tests.client.conftest import BACKENDS, Scripted
from tests.client.driven import driven
from tests.client.scripted import OK, VERSIONS, refused
from tests.keystone.stand_in import PASSWORD, Keystone, authtoken, token
from tests.support.certificates import write_certificates
from tests.support.database_servers import free_port
from tests.support.roost_server import RoostServer


@pytest.fixture(scope="module")
def keystone() -> Iterator[Keystone]:
    """It knows a user, whose token has the name of the user."""
    tokens = {"nova": token("nova", project="services", roles=("service",))}
    with Keystone(tokens, passwords={"nova": PASSWORD}) as keystone:
        yield keystone


@pytest.fixture(scope="module")
def keystone_server(
    keystone: Keystone, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RoostServer]:
    """A service that accepts tokens of this Keystone alone."""
    folder = tmp_path_factory.mktemp("keystone")
    path = folder / "placement.conf"
    path.write_text(authtoken(f"{keystone.url}/v3"))
    database = f"sqlite:///{folder / 'roost.db'}"
    with RoostServer(database, folder, config_file=path, auth="keystone") as server:
        yield server


def session_of(keystone: Keystone, *, password: str = PASSWORD, **options: Any) -> Session:
    plugin = v3.Password(
        auth_url=f"{keystone.url}/v3",
        username="nova",
        password=password,
        project_name="services",
        user_domain_name="Default",
        project_domain_name="Default",
    )
    return Session(auth=plugin, **options)


FromSession = Callable[..., AbstractContextManager[Client]]


@pytest.fixture(params=["blocking", *BACKENDS])
def from_session(request: pytest.FixtureRequest) -> FromSession:
    """Makes a client of a session, of each kind in turn."""
    if request.param == "blocking":
        return Client.from_session

    def make(session: Session, **options: Any) -> AbstractContextManager[Client]:
        return driven(request.param, session, make=AsyncClient.from_session, **options)

    return make


def test_a_refused_token_is_renewed(keystone: Keystone, scripted: Scripted) -> None:
    """The client sends the token of Keystone, and fetches a new one after a 401."""
    auth = KeystoneAuth.password(
        f"{keystone.url}/v3", username="nova", password=PASSWORD, project_name="services"
    )
    client, script = scripted(refused(401), OK, auth=auth)
    assert client.providers() == []
    assert script.sent == 2
    tokens = [request.headers.get("x-auth-token") for request in script.requests]
    assert tokens == ["nova"] * 3


@pytest.mark.process
def test_a_session_says_where_the_service_is(
    keystone: Keystone,
    keystone_server: RoostServer,
    from_session: FromSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(keystone.services, "placement", f"{keystone_server.url}/")
    with from_session(session_of(keystone), region="one", interface="public") as client:
        assert client.version == (1, 39)
        assert client.providers() == []


def test_a_session_without_the_service(keystone: Keystone, from_session: FromSession) -> None:
    message = "internal endpoint for placement service in two region not found"
    with (
        from_session(session_of(keystone), region="two") as client,
        pytest.raises(AuthenticationFailed, match=message),
    ):
        client.providers()


def test_a_session_without_a_catalogue(from_session: FromSession) -> None:
    session = Session(auth=NoAuth())
    with (
        from_session(session) as client,
        pytest.raises(AuthenticationFailed, match="the session has no catalogue"),
    ):
        client.providers()


def test_a_password_that_keystone_refuses(keystone: Keystone, from_session: FromSession) -> None:
    with (
        from_session(session_of(keystone, password="other")) as client,
        pytest.raises(AuthenticationFailed, match="Keystone"),
    ):
        client.providers()


@pytest.mark.usefixtures("no_pauses")
def test_a_keystone_that_is_away(from_session: FromSession) -> None:
    away = Keystone({})
    away.port = free_port()
    with (
        from_session(session_of(away), retries=2) as client,
        pytest.raises(Unreachable, match="Keystone") as unreachable,
    ):
        client.providers()
    assert not unreachable.value.sent


# ---------------------------------------------------------------------------------------------
# Certificates


class _Service(BaseHTTPRequestHandler):
    """Answers every request with its versions."""

    def do_GET(self) -> None:
        content = json.dumps({"versions": VERSIONS, "extensions": ["tls"]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""


@pytest.fixture
def certificates(tmp_path: Path) -> tuple[Path, Path, Path]:
    return write_certificates(tmp_path, address="127.0.0.1")


@pytest.fixture
def tls_url(certificates: tuple[Path, Path, Path]) -> Iterator[str]:
    """A service that speaks TLS, and asks clients for a certificate of the same authority."""
    authority, certificate, key = certificates
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(authority)
    context.verify_mode = ssl.CERT_REQUIRED
    with ThreadingHTTPServer(("127.0.0.1", 0), _Service) as service:
        service.socket = context.wrap_socket(service.socket, server_side=True)
        threading.Thread(target=service.serve_forever, daemon=True).start()
        yield f"https://127.0.0.1:{service.server_address[1]}"
        service.shutdown()


def test_a_session_says_whom_to_trust_and_who_it_is(
    keystone: Keystone,
    from_session: FromSession,
    tls_url: str,
    certificates: tuple[Path, Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(keystone.services, "placement", tls_url)
    authority, *pair = map(str, certificates)
    for verify in (authority, False):
        session = session_of(keystone, verify=verify, cert=tuple(pair))
        with from_session(session) as client:
            assert client.extensions() == {"tls"}
    for options in (
        {"cert": tuple(pair)},  # nobody vouches for the service
        {"verify": authority},  # the client does not say who it is
    ):
        session = session_of(keystone, **options)
        with from_session(session, retries=0) as client, pytest.raises(Unreachable):
            client.extensions()
