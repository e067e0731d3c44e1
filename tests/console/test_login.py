"""A name and a password for a token of Keystone: `POST /console/token`."""

import logging
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from roost import assembly
from roost.api import console
from roost.api.access.keystone import keystone_server
from roost.api.routes.bounds import LOGIN_BYTES_MAX
from roost.console import login
from roost.settings import load_settings
from tests.keystone.stand_in import Keystone, authtoken, token
from tests.support.roost_server import RoostServer

PASSWORD = "correct horse battery staple"
ALICE = {
    "username": "alice",
    "password": PASSWORD,
    "project": "admins",
    "user_domain": "People",
    "project_domain": "Projects",
}
TOKENS = {"alice": token("alice", project="admins", roles=("admin",))}
REFUSED = "Keystone refuses this name and password, or this project."


@pytest.fixture(scope="module")
def running_keystone() -> Iterator[Keystone]:
    with Keystone(TOKENS, passwords={"alice": PASSWORD}) as keystone:
        yield keystone


@pytest.fixture(autouse=True)
def keystone(running_keystone: Keystone) -> Iterator[Keystone]:
    """Keystone, which behaves until a test tells it not to."""
    running_keystone.reset()
    yield running_keystone
    running_keystone.reset()


def configured(keystone: Keystone, folder: Path, *, more: str = "", section: str = "") -> Path:
    path = folder / "placement.conf"
    text = section or authtoken(f"{keystone.url}/v3")
    path.write_text(f"{text}\n[roost]\nconsole = true\n{more}")
    return path


def client_of(path: Path, database: Path) -> httpx.Client:
    """A client of the service in this process, in which errors are answers too."""
    application = assembly.build_application(
        settings=load_settings(config_files=[path]),
        database_url=f"sqlite:///{database}",
        sync=True,
    )
    return httpx.Client(transport=httpx.WSGITransport(app=application), base_url="http://roost")


@pytest.fixture(scope="module")
def client(
    running_keystone: Keystone, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("login")
    with client_of(configured(running_keystone, folder), folder / "roost.db") as client:
        yield client


def log_in(client: httpx.Client, credentials: Any = ALICE) -> httpx.Response:
    return client.post("/console/token", json=credentials)


def assert_unavailable(answer: httpx.Response, sentence: str) -> None:
    assert answer.status_code == 503
    assert sentence in answer.json()["errors"][0]["detail"]
    assert int(answer.headers["retry-after"]) > 0


class TestToken:
    def test_a_password_becomes_a_token_that_the_api_accepts(self, client: httpx.Client) -> None:
        answer = log_in(client)
        assert answer.status_code == 200
        assert answer.json() == {"token": "alice", "expires_at": TOKENS["alice"]["expires_at"]}
        assert answer.headers["cache-control"] == "no-store"
        headers = {"x-auth-token": answer.json()["token"]}
        assert client.get("/resource_providers", headers=headers).status_code == 200

    def test_keystone_learns_who_asks_for_what_from_where(
        self, client: httpx.Client, keystone: Keystone
    ) -> None:
        log_in(client)
        [(asked, forwarded)] = keystone.logins
        assert asked == {
            "identity": {
                "methods": ["password"],
                "password": {
                    "user": {"name": "alice", "domain": {"name": "People"}, "password": PASSWORD}
                },
            },
            "scope": {"project": {"name": "admins", "domain": {"name": "Projects"}}},
        }
        assert forwarded == "for=127.0.0.1"

    @pytest.mark.parametrize("empty", [{}, {"project": "", "user_domain": ""}])
    def test_what_is_left_out_has_a_default(
        self, client: httpx.Client, keystone: Keystone, empty: Mapping[str, str]
    ) -> None:
        answer = log_in(client, {"username": "alice", "password": PASSWORD, **empty})
        assert answer.status_code == 200
        asked, _ = keystone.logins[-1]
        assert "scope" not in asked
        assert asked["identity"]["password"]["user"]["domain"] == {"name": "Default"}

    @pytest.mark.parametrize("ending", ["", "/", "/v3", "/v3/", "/v2.0"])
    def test_the_address_of_keystone_may_end_in_a_version(
        self, keystone: Keystone, tmp_path: Path, ending: str
    ) -> None:
        section = authtoken(f"{keystone.url}/v3").replace("/v3\n", f"{ending}\n")
        path = configured(keystone, tmp_path, section=section)
        with client_of(path, tmp_path / "roost.db") as client:
            assert log_in(client).status_code == 200

    @pytest.mark.parametrize(
        ("section", "url"),
        [
            ("auth_url = http://a/v3\nwww_authenticate_uri = http://b\n", "http://a/v3"),
            ("www_authenticate_uri = http://b\n", "http://b"),
            ("auth_uri = http://c\n", "http://c"),
            ("auth_section = account\n[account]\nauth_url = http://d\n", "http://d"),
        ],
    )
    def test_the_section_of_the_middleware_says_where_keystone_is(
        self, tmp_path: Path, section: str, url: str
    ) -> None:
        path = tmp_path / "placement.conf"
        path.write_text(f"[keystone_authtoken]\ncafile = /ca.pem\ninsecure = true\n{section}")
        found = keystone_server(load_settings(config_files=[path]))
        assert found == login.KeystoneServer(url=url, cafile="/ca.pem", insecure=True)


class TestRefusals:
    @pytest.mark.parametrize("changed", [{"password": "wrong"}, {"username": "nobody"}])
    def test_a_wrong_password_is_a_401(
        self, client: httpx.Client, changed: Mapping[str, str]
    ) -> None:
        answer = log_in(client, {**ALICE, **changed})
        assert answer.status_code == 401
        assert answer.json() == {
            "message": REFUSED,
            "code": "401 Unauthorized",
            "title": "Unauthorized",
        }
        assert answer.headers["x-content-type-options"] == "nosniff"

    def test_a_user_who_needs_more_than_a_password_is_told_so(
        self, client: httpx.Client, keystone: Keystone
    ) -> None:
        keystone.wants_second_factor = True
        answer = log_in(client)
        assert answer.status_code == 401
        assert "more than a password" in answer.json()["message"]

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"{",
            b"[]",
            b"null",
            b"\xff\xfe",
            b'{"username": "alice"}',
            b'{"username": "", "password": "secret"}',
            b'{"username": "alice", "password": 7}',
            b'{"username": "alice", "password": "secret", "otp": "1"}',
            b'{"username": "alice", "password": "%s"}' % (b"secret" * 1000),
            b"[" * 5000,
        ],
        ids=lambda body: repr(body[:40]),
    )
    def test_what_are_no_credentials_is_a_400(
        self, client: httpx.Client, keystone: Keystone, body: bytes
    ) -> None:
        headers = {"content-type": "application/json"}
        answer = client.post("/console/token", content=body, headers=headers)
        assert answer.status_code == 400
        assert "secret" not in answer.text
        assert "These are no credentials" in answer.json()["errors"][0]["detail"]
        assert keystone.logins == []

    def test_a_large_body_is_a_413(self, client: httpx.Client) -> None:
        answer = log_in(client, {**ALICE, "project": "x" * LOGIN_BYTES_MAX})
        assert answer.status_code == 413

    def test_a_form_is_a_415(self, client: httpx.Client, keystone: Keystone) -> None:
        """Other pages can send forms and plain text without asking, but no JSON."""
        for kind in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data"):
            answer = client.post("/console/token", content=b"{}", headers={"content-type": kind})
            assert answer.status_code == 415
        assert keystone.logins == []

    @pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
    def test_only_post_is_allowed(self, client: httpx.Client, method: str) -> None:
        answer = client.request(method, "/console/token")
        assert answer.status_code == 405
        assert answer.headers["allow"] == "POST"


class TestKeystoneTrouble:
    def test_an_unreachable_keystone_is_a_503(
        self, client: httpx.Client, keystone: Keystone, caplog: pytest.LogCaptureFixture
    ) -> None:
        keystone.stop()
        answer = log_in(client)
        assert_unavailable(answer, "Keystone cannot be reached")
        # Where it is concerns operators alone.
        assert str(keystone.port) not in answer.text
        assert str(keystone.port) in caplog.text

    def test_a_misbehaving_keystone_is_a_503(
        self, client: httpx.Client, keystone: Keystone
    ) -> None:
        keystone.is_confused = True
        assert_unavailable(log_in(client), "Keystone's answer has no token in it.")

    def test_a_keystone_that_does_not_answer_is_given_up(
        self, client: httpx.Client, keystone: Keystone, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(login, "STEP_SECONDS_MAX", 0.2)
        keystone.pause_seconds = 2
        begun = time.monotonic()
        assert_unavailable(log_in(client), "Keystone cannot be reached, or does not answer.")
        assert time.monotonic() - begun < keystone.pause_seconds

    def test_a_large_answer_is_not_read(self, client: httpx.Client, keystone: Keystone) -> None:
        keystone.answer_bytes = 2 * login.BYTES_MAX
        assert_unavailable(log_in(client), "too large")

    def test_a_slow_answer_is_not_waited_for(
        self, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(login, "SECONDS_MAX", 0.0)
        assert_unavailable(log_in(client), "takes too long")

    def test_few_logins_wait_at_a_time(self, client: httpx.Client, keystone: Keystone) -> None:
        keystone.pause_seconds = 1
        others = [threading.Thread(target=log_in, args=[client]) for _ in range(console.LOGINS_MAX)]
        for other in others:
            other.start()
        deadline = time.monotonic() + 10
        while len(keystone.logins) < console.LOGINS_MAX and time.monotonic() < deadline:
            time.sleep(0.01)
        assert_unavailable(log_in(client), "Others are waiting for Keystone.")
        for other in others:
            other.join()
        assert log_in(client).status_code == 200


class TestSecrecy:
    def test_the_password_is_never_logged(
        self, client: httpx.Client, keystone: Keystone, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        for name in ("keystoneauth", "urllib3", "roost"):
            caplog.set_level(logging.DEBUG, logger=name)
        log_in(client)
        log_in(client, {**ALICE, "username": "nobody"})
        log_in(client, {**ALICE, "otp": "1"})
        keystone.is_confused = True
        log_in(client)
        keystone.stop()
        log_in(client)
        assert "/console/token" in caplog.text
        assert PASSWORD not in caplog.text

    def test_credentials_do_not_show_their_password(self) -> None:
        assert PASSWORD not in repr(login.Credentials(username="alice", password=PASSWORD))


class TestSettings:
    def test_the_page_learns_that_it_can_log_in(self, client: httpx.Client) -> None:
        session = client.get("/console/session").json()
        assert (session["auth"], session["token"], session["login"]) == ("keystone", None, True)

    def test_logins_can_be_turned_off(self, keystone: Keystone, tmp_path: Path) -> None:
        path = configured(keystone, tmp_path, more="console_login = false\n")
        with client_of(path, tmp_path / "roost.db") as client:
            assert client.get("/console/session").json()["login"] is False
            assert log_in(client).status_code == 404
            assert client.get("/console/").status_code == 200
        assert keystone.logins == []

    def test_without_the_console_there_are_no_logins(
        self, keystone: Keystone, tmp_path: Path
    ) -> None:
        path = tmp_path / "placement.conf"
        path.write_text(authtoken(keystone.url))
        with client_of(path, tmp_path / "roost.db") as client:
            for route in ("/console", "/console/", "/console/session", "/console/static/app.js"):
                assert client.get(route).status_code == 401
            assert log_in(client).status_code == 401
        assert keystone.logins == []


@pytest.mark.process
class TestServed:
    """Over HTTP, where the server reads bodies before the application does."""

    @pytest.fixture(scope="class")
    @classmethod
    def server(
        cls, running_keystone: Keystone, tmp_path_factory: pytest.TempPathFactory
    ) -> Iterator[RoostServer]:
        folder = tmp_path_factory.mktemp("served")
        path = configured(running_keystone, folder)
        database = f"sqlite:///{folder / 'roost.db'}"
        with RoostServer(database, folder, config_file=path, auth="keystone") as server:
            yield server

    def test_a_login(self, server: RoostServer) -> None:
        with httpx.Client(base_url=server.url, timeout=30) as client:
            answer = log_in(client)
            assert answer.status_code == 200
            headers = {"x-auth-token": answer.json()["token"]}
            assert client.get("/resource_providers", headers=headers).status_code == 200
            assert client.get("/resource_providers").status_code == 401
            assert log_in(client, {**ALICE, "password": "wrong"}).json()["message"] == REFUSED
            large = {**ALICE, "project": "x" * LOGIN_BYTES_MAX}
            assert log_in(client, large).status_code == 413
            chunks = iter([b'{"username": "alice", ', b'"password": "%s"}' % PASSWORD.encode()])
            headers = {"content-type": "application/json"}
            sent = client.post("/console/token", content=chunks, headers=headers)
            assert sent.status_code == 200
        assert PASSWORD not in server.output

    def test_a_body_that_never_comes_keeps_nobody_waiting(self, server: RoostServer) -> None:
        head = (
            b"POST /console/token HTTP/1.1\r\nhost: localhost\r\n"
            b"content-type: application/json\r\ncontent-length: 100\r\n\r\n"
        )
        connections = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
        try:
            for connection in connections:
                connection.sendall(head)
            with httpx.Client(base_url=server.url, timeout=5) as client:
                assert log_in(client).status_code == 200
        finally:
            for connection in connections:
                with closing(connection):
                    pass
