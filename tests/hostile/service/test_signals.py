"""Ctrl-C in a terminal ends `roost serve` soon, whatever it does; its workers never outlive it."""

import contextlib
import os
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.database_servers import free_port
from tests.support.headers import HEADERS
from tests.support.long_form import choose
from tests.support.roost_server import RoostServer, command
from tests.support.terminal import CTRL_C, Terminal

SECONDS_MAX = 30
WORKERS = choose(short=2, long=4)
# What somebody at a terminal waits for.
INTERRUPT_SECONDS_MAX = 2.0


class Service:
    """`roost serve` in a terminal."""

    def __init__(self, folder: Path, *arguments: str, prefix: Sequence[str] = ()) -> None:
        """`prefix` are the words before the command, for a program that starts it."""
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.database = folder / "roost.db"
        serve = command(
            "serve",
            *("--port", str(self.port)),
            *("--database", f"sqlite:///{self.database}"),
            *arguments,
        )
        # Without colours.
        self.terminal = Terminal([*prefix, *serve], environment={"TERM": "dumb"})

    def wait_until_ready(self) -> None:
        until = time.monotonic() + SECONDS_MAX
        while time.monotonic() < until:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/readyz", timeout=SECONDS_MAX).status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(self.terminal.shown)

    def assert_ends_soon(self, *, presses: int = 1) -> int:
        """Press Ctrl-C; returns the exit status."""
        begun = time.monotonic()
        for _ in range(presses):
            self.terminal.press(CTRL_C)
            time.sleep(0.01)
        status = self.terminal.process.wait(SECONDS_MAX)
        assert time.monotonic() - begun < INTERRUPT_SECONDS_MAX, self.terminal.shown
        assert "Traceback" not in self.terminal.shown
        assert is_refused(self.port)
        return status


def is_refused(port: int) -> bool:
    """Whether nobody listens on the port, so that another server can."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        probe.listen()
    return True


# How programs are started. A shell script starts what it runs in the background with SIGINT
# ignored.
DIRECTLY: Sequence[str] = ()
BY_A_SCRIPT = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")

# ---------------------------------------------------------------------------------------------
# What is in flight when somebody presses Ctrl-C


@contextmanager
def nothing(service: Service) -> Iterator[None]:
    yield


@contextmanager
def idle_connections(service: Service) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            client = stack.enter_context(httpx.Client(base_url=service.url, headers=HEADERS))
            client.get("/resource_providers").raise_for_status()
        yield


@contextmanager
def held_back_bodies(service: Service) -> Iterator[None]:
    head = (
        b"POST /resource_providers HTTP/1.1\r\nhost: localhost\r\nx-auth-token: admin\r\n"
        b"content-type: application/json\r\ncontent-length: 100\r\n\r\n{"
    )
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            connection = socket.create_connection(("127.0.0.1", service.port), SECONDS_MAX)
            stack.enter_context(closing(connection)).sendall(head)
        # A later answer shows that the server has those requests.
        httpx.get(service.url)
        yield


@contextmanager
def event_streams(service: Service) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            stream = httpx.stream(
                "GET",
                f"{service.url}/events",
                headers={**HEADERS, "accept": "text/event-stream"},
                timeout=SECONDS_MAX,
            )
            stack.enter_context(stream).raise_for_status()
        yield


@contextmanager
def waiting_writes(service: Service) -> Iterator[None]:
    """Requests that wait within one call of the database's library for half a minute."""
    body = b'{"name": "waits"}'
    head = (
        "POST /resource_providers HTTP/1.1\r\nhost: localhost\r\nx-auth-token: admin\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    ).encode()
    with locked(service.database), contextlib.ExitStack() as stack:
        for _ in range(2):
            connection = socket.create_connection(("127.0.0.1", service.port), SECONDS_MAX)
            stack.enter_context(closing(connection)).sendall(head + body)
        time.sleep(0.2)
        yield


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Nobody else can write to the file, nor read it while it is new."""
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield


@pytest.mark.parametrize(
    ("in_flight", "workers"),
    [
        (nothing, WORKERS),
        (idle_connections, WORKERS),
        (held_back_bodies, 1),
        (event_streams, 1),
        (waiting_writes, WORKERS),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_ctrl_c(
    tmp_path: Path, in_flight: Callable[[Service], AbstractContextManager[None]], workers: int
) -> None:
    service = Service(tmp_path, "--workers", str(workers))
    with service.terminal:
        service.wait_until_ready()
        with in_flight(service):
            assert service.assert_ends_soon() == 0


def test_ctrl_c_although_a_script_has_started_it(tmp_path: Path) -> None:
    service = Service(tmp_path, prefix=BY_A_SCRIPT)
    with service.terminal:
        service.wait_until_ready()
        assert service.assert_ends_soon() == 0


def test_ctrl_c_again_and_again(tmp_path: Path) -> None:
    service = Service(tmp_path, "--workers", "2")
    with service.terminal:
        service.wait_until_ready()
        with waiting_writes(service):
            assert service.assert_ends_soon(presses=10) == 0


def test_ctrl_c_as_soon_as_it_listens(tmp_path: Path) -> None:
    """The workers have just been forked, and have not loaded what they serve."""
    service = Service(tmp_path, "--workers", "4")
    with service.terminal:
        service.terminal.wait_for("roost listens on")
        # 1 if the workers had not been started yet.
        assert service.assert_ends_soon() in (0, 1)


@pytest.mark.parametrize("prefix", [DIRECTLY, BY_A_SCRIPT], ids=["directly", "by a script"])
def test_ctrl_c_while_it_waits_for_the_database(tmp_path: Path, prefix: Sequence[str]) -> None:
    """The tables cannot be created. That wait is one call, which no exception interrupts."""
    database = tmp_path / "roost.db"
    with locked(database):
        service = Service(tmp_path, prefix=prefix)
        with service.terminal:
            wait_until_open(service.terminal.process.pid, database)
            time.sleep(0.3)
            assert service.assert_ends_soon() == 1
            assert "listens" not in service.terminal.shown


def wait_until_open(process_id: int, path: Path) -> None:
    """Wait until a process has opened a file."""
    until = time.monotonic() + SECONDS_MAX
    while time.monotonic() < until:
        for link in Path(f"/proc/{process_id}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                if link.readlink() == path:
                    return
        time.sleep(0.02)
    raise AssertionError(f"{path} was not opened")


class TestOtherSignals:
    def test_sigterm_waits_for_requests_and_ctrl_c_then_does_not(self, tmp_path: Path) -> None:
        service = Service(tmp_path)
        with service.terminal:
            service.wait_until_ready()
            with waiting_writes(service):
                service.terminal.process.send_signal(signal.SIGTERM)
                time.sleep(1.5)
                assert service.terminal.process.poll() is None
                assert service.assert_ends_soon() == 0

    def test_sigterm_to_the_whole_group_stops_once(self, tmp_path: Path) -> None:
        """As systemd does it with KillMode=control-group: workers hear of it twice."""
        with RoostServer(f"sqlite:///{tmp_path}/roost.db", tmp_path, program=command()) as server:
            os.killpg(server.process.pid, signal.SIGTERM)
            assert server.process.wait(SECONDS_MAX) == 0
            assert "killed" not in server.output

    def test_a_terminal_that_is_closed_stops_it(self, tmp_path: Path) -> None:
        with (
            inherited(signal.SIG_DFL),
            RoostServer(f"sqlite:///{tmp_path}/roost.db", tmp_path, program=command()) as server,
        ):
            os.killpg(server.process.pid, signal.SIGHUP)
            assert server.process.wait(SECONDS_MAX) == 0

    def test_nohup_keeps_it_running(self, tmp_path: Path) -> None:
        with (
            inherited(signal.SIG_IGN),
            RoostServer(f"sqlite:///{tmp_path}/roost.db", tmp_path, program=command()) as server,
        ):
            os.killpg(server.process.pid, signal.SIGHUP)
            time.sleep(1)
            assert httpx.get(f"{server.url}/").status_code == 200
            assert server.process.poll() is None


@contextmanager
def inherited(disposition: signal.Handlers) -> Iterator[None]:
    """What a process that is started meanwhile does on SIGHUP; the tests may run under nohup."""
    before = signal.signal(signal.SIGHUP, disposition)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
