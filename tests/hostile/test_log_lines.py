"""Nothing that a client sends adds a line to the log, or hides one."""

import io
import json
import logging
import re
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes
from wsgiref.util import setup_testing_defaults

import pytest

from roost.api.http.messages import Application
from roost.assembly import build_application
from roost.observe import logs
from roost.settings import Settings
from tests.support.roost_server import RoostServer

LOG = logging.getLogger("roost.test")
FORGED = '2026-01-01 00:00:00.000 1 INFO roost.requests [-] 10.0.0.1 "DELETE /traits" status: 204'
# Ends of lines, a terminal's escapes, C1 controls, directions of text, what is no UTF-8.
ENDS = ["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"]
OTHERS = ["\x00", "\t", "\x1b[2K\x1b[1A", "\x7f", "\x9b2J", "\u202e", "\u2066", "\ud800", "\b"]

ENTRY = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \d+ [A-Z]+ [\w.]+ \[[^\]]+\] .*")
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """The log file. Logging is left as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield tmp_path / "roost.log"
    for handler in set(root.handlers) - set(handlers):
        handler.close()
    root.handlers[:], root.level = handlers, level


def configure(path: Path, *, use_json: bool = False) -> None:
    # Those of pytest would keep texts that its report to another process cannot hold.
    logging.getLogger().handlers.clear()
    logs.configure(Settings(log_file=str(path), use_json=use_json))


def entries(path: Path) -> list[str]:
    """The entries of a log in plain text. A line of none must belong to the one before."""
    text = path.read_bytes().decode()
    assert not CONTROL.search(text), text
    lines = text.removesuffix("\n").split("\n")
    found = [line for line in lines if not line.startswith("  ")]
    assert all(map(ENTRY.fullmatch, found)), found
    return found


@pytest.mark.parametrize("control", ENDS + OTHERS, ids=ascii)
class TestFormats:
    def test_plain_lines(self, path: Path, control: str) -> None:
        configure(path)
        LOG.info("name %s is bad", f"x{control}{FORGED}")
        [entry] = entries(path)
        assert entry.endswith("is bad")
        assert FORGED in entry

    def test_a_traceback_cannot_be_left(self, path: Path, control: str) -> None:
        configure(path)
        try:
            raise ValueError(f"x{control}{FORGED}")
        except ValueError:
            LOG.exception("cannot answer")
        LOG.info("cannot answer either", stack_info=True)
        assert len(entries(path)) == 2
        assert "\n  Traceback (most recent call last):\n" in path.read_text()

    def test_json_lines(self, path: Path, control: str) -> None:
        configure(path, use_json=True)
        try:
            raise ValueError(f"x{control}{FORGED}")
        except ValueError:
            LOG.exception("name %s is bad", f"x{control}{FORGED}")
        text = path.read_bytes().decode()
        assert not CONTROL.search(text)
        # Tools that know more ends of lines than one see the same lines.
        [line] = text.splitlines()
        assert json.loads(line)["message"] == f"name x{control}{FORGED} is bad"


class TestRequests:
    """Through the whole application: paths, names, headers and bodies that get into messages."""

    @pytest.fixture
    def application(self, path: Path) -> Application:
        application = build_application(
            settings=Settings(auth_strategy="noauth2", parse_proxy_headers=True),
            database_url=f"sqlite:///{path.parent}/roost.db",
            sync=True,
        )
        configure(path)
        request(application, "GET", "/traits")
        return application

    @pytest.mark.parametrize("control", ENDS + OTHERS[:7], ids=ascii)
    def test_one_entry_for_each(self, path: Path, application: Application, control: str) -> None:
        path.write_text("")
        text = f"x{control}{FORGED}"
        quoted = quote(text)
        requests: list[tuple[str, str, Any]] = [
            ("GET", f"/{quoted}", None),
            ("GET", f"/resource_providers/{quoted}", None),
            ("PUT", f"/traits/{quoted}", None),
            ("GET", f"/resource_providers?{quoted}={quoted}", None),
            ("GET", f"/allocation_candidates?resources={quoted}:1", None),
            ("POST", "/resource_providers", {"name": text, "uuid": text}),
            ("POST", "/resource_providers", {text: text}),
            ("POST", "/resource_classes", {"name": text}),
            (text, "/traits", None),
        ]
        for method, url, body in requests:
            request(application, method, url, body)
        assert len(requests_in(path)) == len(requests)

    def test_what_a_line_repeats_is_cut_short(self, path: Path, application: Application) -> None:
        path.write_text("")
        long = 60_000 * "x"
        request(application, "GET", f"/resource_providers?name={long}")
        request(application, "GET", f"/{long}")
        request(application, long, "/traits")
        lines = requests_in(path)
        assert len(lines) == 3
        assert all("x..." in line and len(line) < 5000 for line in lines)

    def test_headers(self, path: Path, application: Application) -> None:
        path.write_text("")
        # A server may let any byte but line feeds and NUL through.
        value = f"for=x\x1b[1A\x85\r\x9b{FORGED}"
        names = [
            *("X_OPENSTACK_REQUEST_ID", "OPENSTACK_API_VERSION", "X_FORWARDED_FOR", "FORWARDED"),
            *("X_AUTH_TOKEN", "USER_AGENT", "IDEMPOTENCY_KEY", "LAST_EVENT_ID", "ACCEPT", "HOST"),
        ]
        for name in names:
            request(application, "GET", "/resource_providers", **{f"HTTP_{name}": value})
        assert len(requests_in(path)) == len(names)


def request(
    application: Application, method: str, url: str, body: Any = None, **environ: str
) -> None:
    """Call the application as a server does, in which a byte of a path is a character."""
    path, _, query = url.partition("?")
    content = b"" if body is None else json.dumps(body).encode()
    everything: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(content)),
        "HTTP_X_AUTH_TOKEN": "admin",
        "HTTP_OPENSTACK_API_VERSION": "placement latest",
        "wsgi.input": io.BytesIO(content),
        **environ,
    }
    setup_testing_defaults(everything)
    for _ in application(everything, lambda *_: lambda _: None):
        pass


def requests_in(path: Path) -> list[str]:
    return [entry for entry in entries(path) if " roost.requests " in entry]


@pytest.mark.process
def test_the_log_of_a_server(tmp_path: Path) -> None:
    """Including what the HTTP server itself thinks of a request."""
    path = tmp_path / "roost.log"
    forged = FORGED.replace(" ", "%20")
    lines = [
        f"GET /x%0a{forged} HTTP/1.1",
        f"GET /x%0d%0a{forged} HTTP/1.1",
        f"GET /x%e2%80%a8{forged} HTTP/1.1",
        "GET /x%1b[2K HTTP/1.1",
        "G\x1bT / HTTP/1.1",
        "PÜT / HTTP/1.1",
        f"{FORGED} / HTTP/1.1",
        "GET /\x1b[2K HTTP/1.1",
        "GET / HTTP/1.1\r\nx-forwarded-for: \x1b[2K",
        "GET / HTTP/1.1\r\nx-openstack-request-id: \x9b2J",
        "GET / HTTP/1.1\r\nx\x1bname: y",
    ]
    environment = {"OS_DEFAULT__LOG_FILE": str(path)}
    with RoostServer(f"sqlite:///{tmp_path}/roost.db", tmp_path, environment=environment) as server:
        for line in lines:
            with closing(socket.create_connection(("127.0.0.1", server.port), 30)) as connection:
                request = f"{line}\r\nhost: x\r\nconnection: close\r\n\r\n"
                connection.sendall(request.encode("latin-1"))
                while connection.recv(65536):
                    pass
        assert len([each for each in entries(path) if r"/x\n2026" in each]) == 1
        # What the server prints beside the log.
        assert not CONTROL.search(server.output.replace("\x1b[1m", "").replace("\x1b[0m", ""))
