"""The files of the console as the service sends them, and what it sends nobody."""

import gzip
import os
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urljoin
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import httpx
import pytest

import roost
from roost import assembly
from roost.api.console import SECURITY_HEADERS
from roost.console import files, paths
from roost.settings import Settings, load_settings
from tests.support.headers import ADMIN, HEADERS
from tests.support.roost_server import RoostServer

STATIC = Path(files.__file__).parent / "static"
NAMES = sorted(
    path.relative_to(STATIC).as_posix()
    for path in STATIC.rglob("*")
    if path.is_file() and path.name not in (files.INDEX, files.DOCS)
)
PAGES = ["", "cloud", "tree", "ask", "consumers", "events", "service"]
# What a console that is on answers, and one that is off does not.
CONSOLE_PATHS = ["/console", "/console/", "/console/cloud", "/console/session", "/console/token"]
DATABASE = "[placement_database]\nconnection = sqlite:////x.db\n"
OTHER_METHODS = ["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "BREW"]


def client_of(folder: Path, *, on_database: bool = True, **settings: Any) -> httpx.Client:
    application = assembly.build_application(
        settings=Settings(auth_strategy="noauth2", **settings),
        database_url=f"sqlite:///{folder / 'roost.db'}" if on_database else None,
        sync=True,
    )
    return httpx.Client(transport=httpx.WSGITransport(app=application), base_url="http://roost")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with client_of(tmp_path_factory.mktemp("console"), console=True) as client:
        yield client


def assert_secure(answer: httpx.Response) -> None:
    for name, value in SECURITY_HEADERS.items():
        assert answer.headers[name] == value


# ---------------------------------------------------------------------------------------------
# Pages and files


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_the_same_document(client: httpx.Client, page: str) -> None:
    """It needs neither a token nor a version, whatever the client accepts."""
    for headers in ({}, {"openstack-api-version": "placement 7.7", "accept": "image/png"}):
        answer = client.get(f"/console/{page}?uuid=x", headers=headers)
        assert answer.status_code == 200
        assert answer.content == (STATIC / files.INDEX).read_bytes()
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["cache-control"] == "no-cache"
        assert "openstack-api-version" not in answer.headers
        assert_secure(answer)


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere(client: httpx.Client) -> None:
    policy = client.get("/console/").headers["content-security-policy"]
    assert "default-src 'self'" in policy.split("; ")
    assert "frame-ancestors 'none'" in policy.split("; ")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_the_document_has_nothing_inline() -> None:
    text = (STATIC / files.INDEX).read_text()
    assert re.search(r"<script(?![^>]*\bsrc=)", text) is None
    assert re.search(r"<style|\bstyle=|\bon\w+=|<base", text) is None


def test_the_document_refers_to_files_that_exist(client: httpx.Client) -> None:
    text = (STATIC / files.INDEX).read_text()
    found = re.findall(r'\b(?:src|href)="([^"]+)"', text)
    assert found
    for page in PAGES:
        for reference in found:
            # As a browser would resolve it on that page.
            path = urljoin(f"http://roost/console/{page}", reference)
            assert client.get(path).status_code == 200, path


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_served_as_it_is(client: httpx.Client, name: str) -> None:
    answer = client.get(f"/console/static/{name}")
    assert answer.status_code == 200
    assert answer.content == (STATIC / name).read_bytes()
    assert_secure(answer)


@pytest.mark.parametrize(
    ("suffix", "media_type"),
    [
        (".js", "text/javascript; charset=utf-8"),
        (".css", "text/css; charset=utf-8"),
        (".svg", "image/svg+xml; charset=utf-8"),
        (".html", "text/html; charset=utf-8"),
        (".json", "application/json"),
        (".png", "image/png"),
        ("", "text/plain; charset=utf-8"),
        (".unknown", "text/plain; charset=utf-8"),
    ],
)
def test_browsers_learn_what_a_file_is(suffix: str, media_type: str) -> None:
    assert files.File(f"pages/some{suffix}", b"").media_type == media_type


def test_the_served_files_have_these_types(client: httpx.Client) -> None:
    for name in NAMES:
        if name.endswith(".js"):
            kind = client.get(f"/console/static/{name}").headers["content-type"]
            assert kind == "text/javascript; charset=utf-8"


def test_the_root_leads_to_the_first_page(client: httpx.Client) -> None:
    answer = client.get("/console?x=1")
    assert answer.status_code == 307
    # Relative: a proxy may have put a prefix before it.
    assert answer.headers["location"] == "console/"
    assert_secure(answer)
    assert urljoin("https://cloud/placement/console", "console/").endswith("/placement/console/")


# ---------------------------------------------------------------------------------------------
# Caches and encodings


def test_a_file_that_the_client_has_is_not_sent_again(client: httpx.Client) -> None:
    for path in ("/console/", "/console/static/vendor/preact.js"):
        tag = client.get(path).headers["etag"]
        assert re.fullmatch(r'W/"[0-9a-f]{32}"', tag)
        for known in (tag, tag.removeprefix("W/"), f'"other", {tag}', "*"):
            answer = client.get(path, headers={"if-none-match": known})
            assert (answer.status_code, answer.content) == (304, b"")
            assert answer.headers["etag"] == tag
            assert_secure(answer)
        for unknown in ('W/"other"', "nonsense", "", ",", '"' * 5000, tag.strip('W/"')):
            assert client.get(path, headers={"if-none-match": unknown}).status_code == 200


def test_files_have_different_tags() -> None:
    tags = [file.etag for file in files.static_files().values()]
    assert len(set(tags)) == len({file.content for file in files.static_files().values()})


@pytest.mark.parametrize("accepted", ["gzip", "br, GZIP;q=0.5", "deflate, gzip;q=1.0, *;q=0"])
def test_a_file_is_compressed_for_clients_that_accept_it(
    client: httpx.Client, accepted: str
) -> None:
    path = "/console/static/vendor/preact.js"
    with client.stream("GET", path, headers={"accept-encoding": accepted}) as answer:
        sent = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["vary"] == "accept-encoding"
    assert int(answer.headers["content-length"]) == len(sent)
    content = (STATIC / "vendor" / "preact.js").read_bytes()
    assert len(sent) < len(content) / 2
    assert gzip.decompress(sent) == content


@pytest.mark.parametrize("accepted", ["", "identity", "br", "gzip;q=0", "gzip; q=0.00", "gzipped"])
def test_a_file_is_not_compressed_for_others(client: httpx.Client, accepted: str) -> None:
    path = "/console/static/vendor/preact.js"
    answer = client.get(path, headers={"accept-encoding": accepted})
    assert "content-encoding" not in answer.headers
    assert answer.headers["vary"] == "accept-encoding"
    assert answer.content == (STATIC / "vendor" / "preact.js").read_bytes()


def test_what_does_not_become_smaller_is_not_compressed() -> None:
    assert files.File("tiny.js", b"x").gzipped is None
    assert files.File("empty.js", b"").gzipped is None


# ---------------------------------------------------------------------------------------------
# What is refused


@pytest.mark.parametrize("method", OTHER_METHODS)
def test_only_get_is_allowed(client: httpx.Client, method: str) -> None:
    for path in ("/console", "/console/tree", "/console/session", "/console/static/app.js"):
        answer = client.request(method, path)
        assert answer.status_code == 405
        assert answer.headers["allow"] == "GET"
        assert_secure(answer)


HOSTILE = [
    "/console/nowhere",
    "/console/cloud/",
    "/console/CLOUD",
    "/console//",
    "/console/static",
    "/console/static/",
    "/console/static/index.html",
    "/console/static/nowhere.js",
    "/console/static/vendor",
    "/console/static/vendor/",
    "/console/static//vendor/preact.js",
    "/console/static/./vendor/preact.js",
    "/console/static/vendor/../vendor/preact.js",
    "/console/static/../static/vendor/preact.js",
    "/console/static/../files.py",
    "/console/static/%2e%2e/files.py",
    "/console/static/%2e%2e%2ffiles.py",
    "/console/static/..%5cfiles.py",
    "/console/static/%252e%252e/files.py",
    "/console/static//etc/passwd",
    "/console/static/%2fetc%2fpasswd",
    "/console/static/vendor/preact.js%00",
    "/console/static/vendor/preact.js%00.css",
    "/console/static/vendor/preact.js/",
    "/console/static/vendor/preact.js%0a",
    "/console/static/%ff%fe",
    "/console/static/%e2%80%ae",
    "/console/../console/static/vendor/preact.js",
    "/console/session/",
    "/console/token/",
    f"/console/{'x' * 20_000}",
    f"/console/static/{'../' * 5000}etc/passwd",
]


def get_as_it_is(client: httpx.Client, path: str, **environ: str) -> httpx.Response:
    """The answer to a path as it is. httpx would resolve its dots, and refuse odd characters."""
    # As servers hand it to WSGI applications.
    environ["PATH_INFO"] = unquote_to_bytes(path).decode("latin-1")
    setup_testing_defaults(environ)
    transport = client._transport
    assert isinstance(transport, httpx.WSGITransport)
    started: list[Any] = []
    body = b"".join(transport.app(environ, lambda *arguments: started.extend(arguments)))
    return httpx.Response(int(started[0][:3]), headers=started[1], content=body)


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path[:50])
def test_what_does_not_exist_is_a_404_as_the_api_has_it(client: httpx.Client, path: str) -> None:
    answer = get_as_it_is(client, path)
    assert answer.status_code == 404
    [error] = answer.json()["errors"]
    assert (error["status"], error["title"]) == (404, "Not Found")
    assert answer.headers["x-openstack-request-id"] == error["request_id"]
    assert_secure(answer)


@pytest.mark.parametrize("path", ["/consoles", "/consolex/", "/console%0a", "/Console/"])
def test_paths_that_only_look_alike_need_a_token(client: httpx.Client, path: str) -> None:
    assert get_as_it_is(client, path).status_code == 401
    assert get_as_it_is(client, path, HTTP_X_AUTH_TOKEN="admin").status_code == 404


def test_without_keystone_there_is_no_login(client: httpx.Client) -> None:
    assert client.post("/console/token", json={}).status_code == 404


def test_other_paths_are_as_they_were(client: httpx.Client) -> None:
    assert client.get("/resource_providers").status_code == 401
    assert client.get("/nowhere").status_code == 401
    assert client.get("/nowhere", headers=HEADERS).status_code == 404
    answer = client.get("/", headers=HEADERS)
    assert answer.status_code == 200
    assert "content-security-policy" not in answer.headers


def test_labels_of_metrics_do_not_grow_with_paths(client: httpx.Client) -> None:
    for number in range(5):
        client.get(f"/console/static/nowhere{number}.js")
        client.get(f"/console/page{number}")
    for page in PAGES:
        client.get(f"/console/{page}")
    routes = set(re.findall(r'route="(/console[^"]*)"', client.get("/metrics").text))
    assert routes <= {"/console", "/console/{page}", "/console/static/{path}", *CONSOLE_PATHS[3:]}
    assert "/console/{page}" in routes


# ---------------------------------------------------------------------------------------------
# What a page learns before it has a token


def session_of(client: httpx.Client) -> Any:
    answer = client.get("/console/session")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert_secure(answer)
    return answer.json()


def test_on_this_machine_noauth2_needs_no_questions(client: httpx.Client) -> None:
    session = session_of(client)
    assert session == {
        "auth": "noauth2",
        "token": "admin",
        "login": False,
        "version": roost.__version__,
        "docs": "../openapi.json",
    }
    headers = {**HEADERS, "x-auth-token": session["token"]}
    assert client.get("/resource_providers", headers=headers).status_code == 200
    for page in PAGES:
        assert client.get(urljoin(f"http://roost/console/{page}", session["docs"])).is_success


@pytest.mark.parametrize("allowed", [False, True])
def test_users_elsewhere_are_asked_for_a_token(tmp_path: Path, allowed: bool) -> None:
    settings = Settings(auth_strategy="noauth2", console=True, allow_remote_noauth2=allowed)
    application = assembly.build_application(
        settings=settings, database_url=f"sqlite:///{tmp_path / 'roost.db'}", sync=True
    )
    transport = httpx.WSGITransport(app=application, remote_addr="192.0.2.7")
    with httpx.Client(transport=transport, base_url="http://roost") as client:
        assert session_of(client)["token"] is None


# ---------------------------------------------------------------------------------------------
# Other servers


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing."""


@pytest.fixture
def served_by_wsgiref(tmp_path: Path) -> Iterator[str]:
    """The address of the application behind a plain server, which validates every call."""
    application = assembly.build_application(
        settings=Settings(auth_strategy="noauth2", console=True, url_prefix="/placement"),
        database_url=f"sqlite:///{tmp_path / 'roost.db'}",
        sync=True,
    )
    with make_server("127.0.0.1", 0, validator(application), handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/placement"
        server.shutdown()
        thread.join()


def test_every_wsgi_server_serves_it(served_by_wsgiref: str) -> None:
    with httpx.Client(base_url=served_by_wsgiref) as client:
        answer = client.get("/console", follow_redirects=True)
        assert answer.status_code == 200
        assert str(answer.url) == f"{served_by_wsgiref}/console/"
        tag = {"if-none-match": answer.headers["etag"]}
        assert client.get("/console/tree", headers=tag).status_code == 304
        assert client.get("/console/static/vendor/preact.js").status_code == 200
        assert client.get("/console/static/nowhere.js").status_code == 404
        assert client.get("/console/session").json()["token"] == "admin"
        assert client.post("/console/session", json={}).status_code == 405


# ---------------------------------------------------------------------------------------------
# On and off


@pytest.mark.parametrize("console", [None, False])
def test_with_a_configured_database_it_is_off(tmp_path: Path, console: bool | None) -> None:
    with client_of(tmp_path, console=console) as client:
        for path in [*CONSOLE_PATHS, "/console/static/vendor/preact.js"]:
            for method in ("GET", "POST"):
                assert client.request(method, path).status_code == 401
                answer = client.request(method, path, headers=HEADERS)
                assert answer.status_code == 404
                assert "content-security-policy" not in answer.headers
        headers = {**ADMIN, "openstack-api-version": "placement 7.7"}
        assert client.get("/console", headers=headers).status_code == 406


def test_with_the_embedded_database_it_is_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with client_of(tmp_path, on_database=False) as client:
        assert client.get("/console/").status_code == 200
    with client_of(tmp_path, on_database=False, console=False) as client:
        assert client.get("/console/").status_code == 401


@pytest.mark.parametrize(
    ("text", "has_console", "has_login"),
    [
        ("", True, True),
        ("[roost]\nconsole_login = false\n", True, False),
        ("[roost]\nconsole = false\n", False, False),
        ("[api]\nauth_strategy = noauth2\n", True, False),
        (f"{DATABASE}", False, False),
        (f"{DATABASE}[roost]\nconsole = true\n", True, True),
    ],
)
def test_the_settings_say_whether_it_is_on(
    tmp_path: Path, text: str, has_console: bool, has_login: bool
) -> None:
    path = tmp_path / "placement.conf"
    path.write_text(text)
    settings = load_settings(default_files=[], config_files=[path])
    assert (settings.has_console, settings.has_console_login) == (has_console, has_login)


# ---------------------------------------------------------------------------------------------
# Over HTTP


@pytest.mark.process
class TestServed:
    @pytest.fixture(scope="class")
    @classmethod
    def server(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
        """As a newcomer starts it, but for the prefix: with the embedded database."""
        folder = tmp_path_factory.mktemp("served")
        environment = {"XDG_DATA_HOME": str(folder), "OS_PLACEMENT_CONFIG_DIR": ""}
        arguments = ["--prefix", "/placement"]
        with RoostServer(None, folder, arguments=arguments, environment=environment) as server:
            yield server

    def test_the_greeting_ends_with_a_link(self, server: RoostServer) -> None:
        [url] = re.findall(r"^  console +(\S+)$", server.output, re.MULTILINE)
        assert url == f"{server.url}/placement/console/"
        assert httpx.get(url).headers["content-type"].startswith("text/html")

    @pytest.mark.parametrize("prefix", ["", "/placement"])
    def test_it_is_below_every_prefix(self, server: RoostServer, prefix: str) -> None:
        with httpx.Client(base_url=f"{server.url}{prefix}") as client:
            answer = client.get("/console", follow_redirects=True)
            assert answer.status_code == 200
            assert str(answer.url) == f"{server.url}{prefix}/console/"
            answer = client.get("/console/static/vendor/preact.js")
            assert answer.content == (STATIC / "vendor" / "preact.js").read_bytes()
            assert answer.headers["content-encoding"] == "gzip"
            again = {"if-none-match": answer.headers["etag"]}
            assert client.get("/console/static/vendor/preact.js", headers=again).status_code == 304
            assert client.get("/console/session").json()["token"] == "admin"
            assert client.head("/console/").status_code == 405

    @pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path[:50])
    def test_no_path_leads_out(self, server: RoostServer, path: str) -> None:
        with closing(socket.create_connection(("127.0.0.1", server.port), 10)) as connection:
            request = f"GET /placement{path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
            connection.sendall(request.encode())
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        status = answer.split(b" ", 2)[1]
        assert status == b"404"
        assert b"importlib" not in answer
        assert b"root:" not in answer

    def test_a_body_that_nobody_wants_is_not_read(self, server: RoostServer) -> None:
        with httpx.Client(base_url=server.url) as client:
            body = os.urandom(200_000)
            for path in ("/console/", "/console/static/vendor/preact.js", "/console/session"):
                assert client.post(path, content=body).status_code == 405
            assert client.get("/console/").status_code == 200

    @pytest.mark.parametrize(
        ("arguments", "status"), [([], 401), (["--console"], 200), (["--no-console"], 401)]
    )
    def test_with_a_database_it_has_to_be_asked_for(
        self, tmp_path: Path, arguments: list[str], status: int
    ) -> None:
        url = f"sqlite:///{tmp_path / 'roost.db'}"
        with RoostServer(url, tmp_path, arguments=arguments) as server:
            assert httpx.get(f"{server.url}/console/").status_code == status
            assert ("  console  " in server.output) == (status == 200)


def test_the_paths_of_the_pages_are_known() -> None:
    assert {f"/console/{page}" for page in PAGES} == paths.PAGE_PATHS
