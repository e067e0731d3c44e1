"""Answers in pieces and streams hold no thread, and not much memory, however slow the reader is."""

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from roost.server import answer
from roost.server.connections import allow_open_files
from roost.server.wsgi_call import PIECES_BYTES_MAX
from tests.hostile.service import raw_http
from tests.hostile.service.fronted_application import PIECE, PIECES_MAX
from tests.hostile.service.fronted_server import FrontedServer

SECONDS_MAX = 30
WATCHERS = 1100


@pytest.fixture(scope="class")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontedServer]:
    with FrontedServer(tmp_path_factory.mktemp("answers")) as server:
        yield server


class Counted:
    """A server, and what was counted since a test began."""

    def __init__(self, server: FrontedServer) -> None:
        self.server = server
        self.port = server.port
        self.get = server.get
        self._before = server.counts()

    def __getitem__(self, name: str) -> int:
        return self.server.counts()[name] - self._before[name]


@pytest.fixture
def server(shared_server: Counted) -> Counted:
    return Counted(shared_server)


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS_MAX
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def begin(server: Counted, path: str, count: int, stack: ExitStack) -> list[socket.socket]:
    connections = [stack.enter_context(raw_http.connect(server.port)) for _ in range(count)]
    for connection in connections:
        connection.sendall(raw_http.head("GET", path, "x-auth-token: admin"))
    return connections


class TestPieces:
    def test_a_reader_gets_all_of_it(self, server: Counted) -> None:
        with raw_http.connect(server.port) as connection:
            connection.sendall(raw_http.head("GET", "/pieces"))
            assert raw_http.receive_answer(connection) == (200, PIECE * PIECES_MAX)
        wait_until(lambda: server["closed"] == 1)

    def test_no_more_is_made_than_is_read(self, server: Counted) -> None:
        count = 20
        with ExitStack() as stack:
            begin(server, "/pieces", count, stack)
            wait_until(lambda: server["pieces"] >= count)
            made = -1
            while made != (made := server["pieces"]):
                time.sleep(0.5)
            assert made < count * PIECES_MAX / 4
            assert server.server.threads == 4
        # All of them have gone away.
        wait_until(lambda: server["closed"] == count)

    def test_too_many_at_once_are_refused(self, server: Counted) -> None:
        """Before a piece of them is made."""
        most = PIECES_BYTES_MAX // (len(PIECE) * PIECES_MAX)
        with ExitStack() as stack:
            connections = begin(server, "/pieces", most, stack)
            for connection in connections:
                assert connection.recv(12) == b"HTTP/1.1 200"
            assert raw_http.ask(server.port, raw_http.head("GET", "/pieces"))[0] == 503
        wait_until(lambda: server["closed"] == most)
        with raw_http.connect(server.port) as connection:
            connection.sendall(raw_http.head("GET", "/pieces"))
            assert raw_http.receive_answer(connection)[0] == 200

    def test_a_reader_that_stalls_is_cut_off(self, tmp_path: Path) -> None:
        """Not only its answer: what the server holds for the connection goes, too."""
        with FrontedServer(tmp_path, stalled_seconds_max=1) as server, ExitStack() as stack:
            [reader] = begin(server, "/pieces", 1, stack)
            wait_until(lambda: server.counts()["closed"] == 1)
            received = 0
            with suppress(ConnectionError):
                while data := reader.recv(2**20):
                    received += len(data)
            assert received < len(PIECE) * PIECES_MAX

    @pytest.mark.parametrize(
        ("how", "logged"), [("refused", "the database is gone"), ("wrong", "ValueError: a mistake")]
    )
    def test_an_answer_that_fails_breaks_off(self, tmp_path: Path, how: str, logged: str) -> None:
        """The client must not take what it got for the whole, and the log says what happened."""
        with FrontedServer(tmp_path) as server:
            with (
                pytest.raises(httpx.RemoteProtocolError),
                httpx.stream(
                    "GET", f"http://127.0.0.1:{server.port}/pieces-that-fail?{how}"
                ) as answer,
            ):
                for _ in answer.iter_bytes():
                    pass
            wait_until(lambda: logged in server.output)
            assert "Application callable raised" not in server.output
            assert ("Traceback" in server.output) is (how == "wrong")


class TestStreams:
    def test_many_watchers_hold_no_thread(self, server: Counted) -> None:
        allow_open_files()
        with ExitStack() as stack:
            watchers = begin(server, "/watch", WATCHERS, stack)
            wait_until(lambda: server["watches"] == WATCHERS)
            assert server.server.threads == 4
            # The headers are there before anything happens.
            for watcher in watchers:
                assert b"text/event-stream" in watcher.recv(65536)
            server.get("/deliver?something")
            for watcher in watchers:
                assert b"something" in watcher.recv(65536)
            for watcher in watchers[:100]:
                watcher.close()
            wait_until(lambda: server["stopped"] >= 100)
            server.get("/deliver")
            for watcher in watchers[100:]:
                assert watcher.recv(65536) == b"0\r\n\r\n"
        wait_until(lambda: server["stopped"] >= WATCHERS)

    def test_a_watcher_that_does_not_read_is_stopped(self, server: Counted) -> None:
        with ExitStack() as stack:
            begin(server, "/watch", 1, stack)
            wait_until(lambda: server["watches"] == 1)
            delivered = 0
            while not server["stopped"]:
                server.get("/deliver?piece")
                delivered += 1
                # What the system and the server hold for a connection comes on top.
                assert delivered * len(PIECE) < 20 * answer.UNREAD_BYTES_MAX

    def test_streams_end_when_the_service_stops(self, tmp_path: Path) -> None:
        with FrontedServer(tmp_path) as server, ExitStack() as stack:
            watchers = begin(server, "/watch", 20, stack)
            wait_until(lambda: server.counts()["watches"] == 20)
            server.get("/stop")
            for watcher in watchers + begin(server, "/watch", 1, stack):
                answer = b""
                while data := watcher.recv(65536):
                    answer += data
                    if answer.endswith(b"0\r\n\r\n"):
                        break
                assert answer.endswith(b"0\r\n\r\n")

    def test_streams_that_nobody_reads_have_little_memory_together(self) -> None:
        loop, unread = asyncio.new_event_loop(), answer.Unread()
        watches = [KnownWatch() for _ in range(WATCHERS)]
        streams = [answer.Stream(SimpleNamespace(watch=each), loop, unread) for each in watches]
        for stream in streams:
            stream.start()
        held, delivered = 0, 0
        while not all(each.is_stopped for each in watches):
            for each in watches:
                if not each.is_stopped:
                    each.deliver(PIECE)
                    held += len(PIECE)
            delivered += 1
            assert delivered <= answer.UNREAD_BYTES_MAX / len(PIECE) + 1
        loop.close()
        # The last piece of each ended it.
        assert held <= answer.ALL_UNREAD_BYTES_MAX + WATCHERS * len(PIECE)


class KnownWatch:
    is_stopped = False

    def start(self, deliver: Callable[[bytes | None], None]) -> None:
        self.deliver = deliver

    def stop(self) -> None:
        self.is_stopped = True
