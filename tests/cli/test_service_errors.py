"""What the command line says if it cannot use a service: one line, with what to do."""

import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from roost.cli.main import roost as program
from roost.cli.output import Failure
from tests.keystone.stand_in import PASSWORD, Keystone, authtoken, token
from tests.support.answering_server import answering_server
from tests.support.database_servers import free_port
from tests.support.roost_server import RoostServer, command

NAME_ANOTHER = "name another with --url or ROOST_URL"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in os.environ:
        if name.startswith(("OS_", "ROOST_")):
            monkeypatch.delenv(name)


def failure(*arguments: str, exit_code: int = 1) -> str:
    result = CliRunner().invoke(program, arguments, prog_name="roost")
    assert isinstance(result.exception, Failure), (result.exception, result.output)
    assert result.exception.exit_code == exit_code
    told = str(result.exception)
    assert "\n" not in told
    return told


# ---------------------------------------------------------------------------------------------
# Addresses


def test_nobody_listens() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    assert failure("tree", "--url", url) == (
        f"no service at {url} (connection refused): start one with `roost serve`, or {NAME_ANOTHER}"
    )


def test_the_address_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_URL", f"http://127.0.0.1:{free_port()}")
    assert "connection refused" in failure("capacity", "resources=VCPU:1")


def test_an_unknown_host() -> None:
    told = failure("tree", "--url", "http://nowhere.invalid")
    assert told.startswith("no service at http://nowhere.invalid (")
    assert told.endswith(NAME_ANOTHER)


@pytest.mark.parametrize(
    "url", ["nonsense", "127.0.0.1:8778", "ftp://host", "http://", "http://[::1", "http://host:x"]
)
def test_an_address_that_is_none(url: str) -> None:
    assert failure("tree", "--url", url, exit_code=2) == (
        f"--url {url!r}: expected http://HOST:PORT or https://HOST, such as http://127.0.0.1:8778"
    )


class Page(BaseHTTPRequestHandler):
    status, content = 200, b"<html>It works!</html>"

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("content-length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing."""


@pytest.fixture(params=[(200, b"<html>It works!</html>"), (404, b"<html>No</html>"), (200, b"{}")])
def other_server(request: pytest.FixtureRequest) -> Iterator[str]:
    kind = type("Handler", (Page,), dict(zip(("status", "content"), request.param, strict=True)))
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_server_of_something_else(other_server: str) -> None:
    told = failure("tree", "--url", other_server)
    assert told.startswith(f"{other_server} is not a placement service (")
    assert told.endswith(f"): {NAME_ANOTHER}")
    assert "html" not in told


def test_a_path_that_has_no_service(tmp_path: Path) -> None:
    with RoostServer(f"sqlite:///{tmp_path / 'roost.db'}", tmp_path) as server:
        assert failure("tree", "--url", f"{server.url}/placement") == (
            f"{server.url}/placement is not a placement service (it answers 404): {NAME_ANOTHER}"
        )


def test_a_server_without_tls(server: RoostServer) -> None:
    url = server.url.replace("http:", "https:")
    assert failure("tree", "--url", url) == (
        f"{url} does not speak TLS: write http:// for https://, or {NAME_ANOTHER}"
    )


def test_a_server_that_does_not_speak_http() -> None:
    with answering_server(b"220 mail.example ready\r\n") as port:
        url = f"http://127.0.0.1:{port}"
        told = failure("tree", "--url", url)
        assert told.startswith(f"no answer from {url} (")
        assert told.endswith(NAME_ANOTHER)


# ---------------------------------------------------------------------------------------------
# Keystone

USERS = {"alice": "wonder", "rita": "reads"}
TOKENS = {
    "alice": token("alice", project="admins", roles=("admin", "service")),
    "rita": token("rita", project="one", roles=("reader",)),
}


@pytest.fixture(scope="module")
def keystone() -> Iterator[Keystone]:
    with Keystone(TOKENS, passwords=USERS) as keystone:
        yield keystone


@pytest.fixture(scope="module")
def server(keystone: Keystone, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    folder: Path = tmp_path_factory.mktemp("keystone")
    path = folder / "placement.conf"
    path.write_text(authtoken(f"{keystone.url}/v3"))
    database = f"sqlite:///{folder / 'roost.db'}"
    with RoostServer(database, folder, config_file=path, auth="keystone") as server:
        keystone.services["placement"] = server.url
        yield server


def set_user(monkeypatch: pytest.MonkeyPatch, keystone: Keystone, name: str, password: str) -> None:
    for variable, value in {
        "OS_AUTH_URL": keystone.url,
        "OS_USERNAME": name,
        "OS_PASSWORD": password,
        "OS_PROJECT_NAME": "admins",
    }.items():
        monkeypatch.setenv(variable, value)


def test_a_user_of_keystone(
    server: RoostServer, keystone: Keystone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service is found in the catalogue; OS_AUTH_URL may end in /v3 or not."""
    for suffix in ("", "/v3"):
        set_user(monkeypatch, keystone, "alice", "wonder")
        monkeypatch.setenv("OS_AUTH_URL", keystone.url + suffix)
        result = CliRunner().invoke(program, ["tree", "--json"], prog_name="roost")
        assert result.exit_code == 0, result.exception


def test_a_token_is_needed(server: RoostServer) -> None:
    assert failure("tree", "--url", server.url) == (
        f"{server.url} refuses the token (401): set OS_AUTH_URL, OS_USERNAME, OS_PASSWORD and "
        "OS_PROJECT_NAME, or give a token of Keystone with --token or ROOST_TOKEN"
    )
    assert "401" in failure("tree", "--url", server.url, "--token", "nonsense")


def test_a_user_may_not(
    server: RoostServer, keystone: Keystone, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_user(monkeypatch, keystone, "rita", "reads")
    told = failure("tree")
    assert told.startswith(f"{server.url} does not allow this (403): Policy does not allow ")
    assert told.endswith("; use a user, project or token with another role")


def test_a_wrong_password(keystone: Keystone, monkeypatch: pytest.MonkeyPatch) -> None:
    set_user(monkeypatch, keystone, "alice", "guess")
    assert failure("tree") == (
        f"Keystone at {keystone.url} refuses the user 'alice' (401): check OS_USERNAME, "
        "OS_PASSWORD, OS_PROJECT_NAME and the domains"
    )


def test_variables_that_are_missing(keystone: Keystone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OS_AUTH_URL", keystone.url)
    assert "but OS_USERNAME, OS_PASSWORD and OS_PROJECT_NAME are not" in failure(
        "tree", exit_code=2
    )
    monkeypatch.setenv("OS_PASSWORD", PASSWORD)
    assert failure("tree", exit_code=2) == (
        "OS_AUTH_URL is set, but OS_USERNAME and OS_PROJECT_NAME are not: set them, or unset "
        "OS_AUTH_URL"
    )
    monkeypatch.setenv("OS_AUTH_TYPE", "v3applicationcredential")
    told = failure("tree", exit_code=2)
    assert told.startswith("the variables OS_* for OS_AUTH_TYPE v3applicationcredential: ")
    monkeypatch.setenv("OS_AUTH_TYPE", "nonsense")
    assert "nonsense" in failure("tree", exit_code=2)


def test_no_keystone(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = Keystone({})
    nobody.port = free_port()
    set_user(monkeypatch, nobody, "alice", "wonder")
    told = failure("tree")
    assert told.startswith(f"no Keystone at {nobody.url} (")
    assert told.endswith("): check OS_AUTH_URL")


def test_a_catalogue_without_placement(monkeypatch: pytest.MonkeyPatch) -> None:
    with Keystone(TOKENS, passwords=USERS) as keystone:
        set_user(monkeypatch, keystone, "alice", "wonder")
        assert failure("tree") == (
            f"Keystone at {keystone.url} knows no placement service: name it with --url or "
            "ROOST_URL, or check OS_REGION_NAME and OS_INTERFACE"
        )


# ---------------------------------------------------------------------------------------------
# Output


@pytest.mark.parametrize("words", [["--help"], ["completion", "bash"]])
def test_output_that_nobody_takes(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command(*words), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (1, "roost: [Errno 28] No space left on device\n")


# ---------------------------------------------------------------------------------------------
# Help


@pytest.mark.parametrize("words", [[], ["tree"], ["explain"], ["agent", "run"]])
def test_help_names_the_variables(words: list[str]) -> None:
    shown = CliRunner().invoke(program, [*words, "--help"], prog_name="roost").output
    assert "ROOST_URL" in shown
    assert "ROOST_TOKEN" in shown
