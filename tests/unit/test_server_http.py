"""The server: requests as bytes, over real sockets, to the smallest application."""

import asyncio
import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from roost.server.http import connection as connection_module
from roost.server.http import readiness, request_parser
from roost.server.http import server as server_module
from roost.server.http.server import HttpServer

SECONDS_MAX = 30
CONNECTIONS_MAX = 20
LARGE = b"x" * 30_000_000


class Application:
    """Answers with what it has received. Below /loop it does so on the event loop."""

    server_threads = 2

    def __init__(self) -> None:
        self.gone = threading.Event()
        self.go = threading.Event()
        self.sent: list[bool] = []

    def begin(self, scope: dict[str, Any], receive: Any, send: Any) -> bool:
        path = scope["raw_path"]
        if path == b"/fails":
            raise ValueError("a mistake")
        if path == b"/waits":
            self.go.wait(SECONDS_MAX)
        if path.startswith(b"/loop") or not self.has_no_body(scope):
            return False
        self.answer(scope, b"", send)
        return True

    @staticmethod
    def has_no_body(scope: dict[str, Any]) -> bool:
        names = {name for name, _ in scope["headers"]}
        return not names & {b"content-length", b"transfer-encoding"}

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        path = scope["raw_path"]
        if path == b"/loop/fails":
            raise ValueError("a mistake")
        if path == b"/loop/begins-and-fails":
            send({"type": "http.response.start", "status": 200, "headers": []})
            send({"type": "http.response.body", "body": b"part", "more_body": True})
            raise ValueError("a mistake")
        if path == b"/loop/begun":
            send({"type": "http.response.start", "status": 200, "headers": []})
            send({"type": "http.response.body", "body": b"part", "more_body": True})
            asked = receive()
            await asyncio.sleep(0.05)
            send({"type": "http.response.body", "body": b"rest"})
            assert asked.done()
            return
        if path == b"/loop/unread":
            self.answer(scope, b"", send)
            return
        if path == b"/loop/until-gone":
            while (await receive())["type"] != "http.disconnect":
                pass
            self.gone.set()
            return
        if path == b"/loop/stream":
            send({"type": "http.response.start", "status": 200, "headers": []})
            for part in (b"one", b"", b"two"):
                send({"type": "http.response.body", "body": part, "more_body": True})
                await asyncio.sleep(0.01)
            send({"type": "http.response.body", "body": b""})
            return
        parts = []
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.gone.set()
                return
            parts.append(message["body"])
            if not message["more_body"]:
                break
        self.answer(scope, b"".join(parts), send)

    def answer(self, scope: dict[str, Any], body: bytes, send: Any) -> None:
        headers = [(name.decode(), value.decode("latin-1")) for name, value in scope["headers"]]
        answer = json.dumps(
            {
                "method": scope["method"],
                "path": scope["raw_path"].decode("latin-1"),
                "query": scope["query_string"].decode("latin-1"),
                "headers": headers,
                "body": body.decode("latin-1"),
            }
        ).encode()
        status = 200
        answer_headers: list[tuple[bytes, bytes]] = []
        if scope["raw_path"] == b"/nothing":
            status, answer = 204, b""
        elif scope["raw_path"] == b"/large":
            answer = LARGE
        elif scope["raw_path"] == b"/capital":
            status, answer_headers = 401, [(b"Content-Length", b"%d" % len(answer))]
        elif scope["raw_path"] == b"/split":
            answer_headers = [(b"x-given", b"one\r\nset-cookie: a=b\r\n\r\n")]
        send({"type": "http.response.start", "status": status, "headers": answer_headers})
        self.sent.append(send({"type": "http.response.body", "body": answer}) is None)


class Running:
    def __init__(self) -> None:
        self.application = Application()
        self.stopping = threading.Event()
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self.server = HttpServer(self.application, listener, connections_max=CONNECTIONS_MAX)
        self.thread = threading.Thread(target=self.server.run, args=[self.stopping])
        self.thread.start()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), SECONDS_MAX)

    def ask(self, data: bytes) -> bytes:
        """All that is answered until the server ends the connection."""
        with self.connect() as client:
            client.sendall(data)
            return everything(client)

    def stop(self) -> None:
        self.stopping.set()
        self.thread.join(SECONDS_MAX)
        assert not self.thread.is_alive()


@pytest.fixture(params=["Epoll", "Poll"])
def running(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setattr(server_module, "new_readiness", getattr(readiness, request.param))
    running = Running()
    yield running
    running.application.go.set()
    running.stop()


def everything(client: socket.socket) -> bytes:
    received = b""
    while data := client.recv(2**20):
        received += data
    return received


def receive(client: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """The status, the headers and the body of an answer with a length."""
    received = b""
    while b"\r\n\r\n" not in received:
        data = client.recv(1)
        assert data, received
        received += data
    status, headers = parsed(received)
    body = b""
    while len(body) < int(headers.get("content-length", 0)):
        body += client.recv(int(headers["content-length"]) - len(body))
    return status, headers, body


def parsed(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    return int(first.split()[1]), dict(line.split(": ", 1) for line in lines)


def eventually(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS_MAX
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.01)


GET = b"GET /a?b=c HTTP/1.1\r\nHost: here\r\n\r\n"
CLOSE = b"GET /last HTTP/1.1\r\nConnection: close\r\n\r\n"


class TestRequests:
    def test_one(self, running: Running) -> None:
        with running.connect() as client:
            for _ in range(3):
                client.sendall(GET)
                status, headers, body = receive(client)
                assert status == 200
                assert headers["date"].endswith(" GMT")
                assert "connection" not in headers
                seen = json.loads(body)
                assert (seen["method"], seen["path"], seen["query"]) == ("GET", "/a", "b=c")
                assert seen["headers"] == [["host", "here"]]

    @pytest.mark.parametrize("path", [b"/p", b"/loop/p"])
    def test_many_at_once_are_answered_in_order(self, running: Running, path: bytes) -> None:
        requests = [b"GET %s/%d HTTP/1.1\r\n\r\n" % (path, number) for number in range(100)]
        with running.connect() as client:
            client.sendall(b"".join(requests))
            seen = [json.loads(receive(client)[2])["path"] for _ in requests]
        assert seen == [f"{path.decode()}/{number}" for number in range(100)]

    def test_however_their_bytes_are_split(self, running: Running) -> None:
        bodies = ["", "a", "b" * 300]
        whole = b"".join(
            b"POST /%d HTTP/1.1\r\ncontent-length: %d\r\nx: y\r\n\r\n%b"
            b"POST /%d HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n%b0\r\n\r\n"
            % (number, len(body), body.encode(), number, chunked(body))
            for number, body in enumerate(bodies)
        )
        randomness = random.Random(19)
        for _ in range(10):
            cuts = sorted(randomness.sample(range(len(whole)), 12))
            with running.connect() as client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
                    client.sendall(whole[begin:end])
                    time.sleep(0.001)
                seen = [json.loads(receive(client)[2])["body"] for _ in range(2 * len(bodies))]
            assert seen == [body for body in bodies for _ in range(2)]

    def test_a_body_that_was_asked_for(self, running: Running) -> None:
        with running.connect() as client:
            client.sendall(b"PUT /x HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n")
            assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
            client.sendall(b"body")
            assert json.loads(receive(client)[2])["body"] == "body"

    def test_what_surrounds_a_body_is_limited(self, running: Running) -> None:
        head = b"POST /loop HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1"
        for beginning in (b"\r\na\r\n0\r\nx: ", b";x="):
            with running.connect() as client:
                client.sendall(head + beginning)
                time.sleep(0.05)
                with suppress(ConnectionError):
                    client.sendall(b"x" * 4 * request_parser.HEAD_BYTES_MAX)
                assert receive(client)[0] == 431

    def test_nobody_is_told_to_continue_an_answer(self, running: Running) -> None:
        with running.connect() as client:
            client.sendall(
                b"PUT /loop/begun HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n"
            )
            assert b"100 Continue" not in everything(client)
        answer = running.ask(
            b"PUT /x HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\nbody"
        )
        assert answer.startswith(b"HTTP/1.1 200")

    def test_trailers_are_no_headers(self, running: Running) -> None:
        data = (
            b"POST /loop HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"
            b"1\r\na\r\n0\r\nx-auth-token: admin\r\n\r\n"
        )
        with running.connect() as client:
            client.sendall(data + CLOSE)
            seen = json.loads(receive(client)[2])
            assert seen["headers"] == [["transfer-encoding", "chunked"]]
            assert json.loads(receive(client)[2])["headers"] == [["connection", "close"]]

    def test_a_whole_url(self, running: Running) -> None:
        with running.connect() as client:
            client.sendall(b"GET http://other:81/x?y HTTP/1.1\r\n\r\n")
            seen = json.loads(receive(client)[2])
        assert (seen["path"], seen["query"]) == ("/x", "y")

    @pytest.mark.parametrize("pause", [0, 0.05])
    def test_another_protocol_is_not_spoken(self, running: Running, pause: float) -> None:
        """Such a request is answered like any other, with its body, and so is what follows."""
        upgrade = b"connection: upgrade, http2-settings\r\nupgrade: h2c\r\n"
        with running.connect() as client:
            for framing, body in (
                (b"content-length: 4\r\n", b"body"),
                (b"transfer-encoding: chunked\r\n", b"4\r\nbody\r\n0\r\n\r\n"),
                (b"content-length: 0\r\n", b""),
                (b"", b""),
            ):
                client.sendall(b"POST /x HTTP/1.1\r\n%b%b\r\n" % (upgrade, framing))
                time.sleep(pause)
                client.sendall(body + GET)
                seen = json.loads(receive(client)[2])
                assert seen["body"] == ("body" if body else "")
                assert ["upgrade", "h2c"] in seen["headers"]
                assert json.loads(receive(client)[2])["path"] == "/a"

    def test_whatever_method_a_client_names(self, running: Running) -> None:
        """It is the application that knows them."""
        with running.connect() as client:
            for method in ("BREW", "get", "X-" * 20, "PROPFIND"):
                text = method.encode()
                client.sendall(b"%b /x HTTP/1.1\r\ncontent-length: 2\r\n\r\nab" % text)
                seen = json.loads(receive(client)[2])
                assert (seen["method"], seen["path"], seen["body"]) == (method, "/x", "ab")
                client.sendall(GET)
                assert json.loads(receive(client)[2])["method"] == "GET"

    def test_a_client_that_only_sends_first(self, running: Running) -> None:
        """It ends its side, as `nc -N` does, and takes all answers."""
        with running.connect() as client:
            client.sendall(b"GET /large HTTP/1.1\r\n\r\n")
            client.shutdown(socket.SHUT_WR)
            time.sleep(0.2)
            assert everything(client).endswith(LARGE)


def chunked(body: str) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body.encode()) if body else b""


REFUSED = {
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01", 400),
    "no method": (b" / HTTP/1.1\r\n\r\n", 400),
    "a method in parts": (b"BREW", 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "HTTP/0.9": (b"GET /\r\n\r\n", 505),
    "a space in the target": (b"GET /a b HTTP/1.1\r\n\r\n", 400),
    "no URL": (b"GET http://[x/ HTTP/1.1\r\n\r\n", 400),
    "a space before the colon": (b"GET / HTTP/1.1\r\nx-auth-token : a\r\n\r\n", 400),
    "a folded header": (b"GET / HTTP/1.1\r\na: b\r\n c: d\r\n\r\n", 400),
    "a zero byte": (b"GET / HTTP/1.1\r\na: \0\r\n\r\n", 400),
    "lines without CR": (b"GET / HTTP/1.1\nhost: a\n\n", 400),
    "two lengths": (
        b"PUT / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        400,
    ),
    "a length and chunks": (
        b"PUT / HTTP/1.1\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    "chunks and a length": (
        b"PUT / HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n",
        400,
    ),
    "an unknown coding": (b"PUT / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n0\r\n\r\n", 400),
    "old with chunks": (b"PUT / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "a signed length": (b"PUT / HTTP/1.1\r\ncontent-length: +1\r\n\r\na", 400),
    "a long target": (b"GET /" + b"a" * request_parser.TARGET_BYTES_MAX, 414),
    "many headers": (
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * (request_parser.HEADERS_MAX + 2),
        431,
    ),
    "a large head": (b"GET / HTTP/1.1\r\na: " + b"b" * 2 * request_parser.HEAD_BYTES_MAX, 431),
}


class TestRefusals:
    @pytest.mark.parametrize(("data", "status"), REFUSED.values(), ids=REFUSED)
    def test_what_is_no_request(self, running: Running, data: bytes, status: int) -> None:
        """One answer, which says why, whatever follows; and the others are served."""
        with running.connect() as client:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            head, _, body = everything(client).partition(b"\r\n\r\n")
        seen_status, headers = parsed(head)
        assert seen_status == status
        assert headers["connection"] == "close"
        [error] = json.loads(body)["errors"]
        assert error["status"] == status
        assert error["detail"]
        assert b'"/last"' in running.ask(CLOSE)

    @pytest.mark.parametrize("name", ["a length and chunks", "old with chunks", "two lengths"])
    def test_nothing_is_smuggled(self, running: Running, name: str) -> None:
        answers = running.ask(REFUSED[name][0] + CLOSE)
        assert answers.count(b"HTTP/1.1") == 1
        assert b'"/last"' not in answers

    def test_whatever_arrives_harms_nobody_else(
        self, running: Running, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Requests with random changes, several on each connection, which may end anywhere."""
        whole = [data for data, _ in REFUSED.values() if len(data) < 500]
        whole += [
            GET,
            b"POST /x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            b"PUT /loop HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\nbody",
            b"GET /loop/stream HTTP/1.0\r\nconnection: keep-alive\r\n\r\n",
        ]
        randomness = random.Random(2616)
        with ExitStack() as stack:
            for _ in range(400):
                client = stack.enter_context(running.connect())
                data = bytearray(b"".join(randomness.choices(whole, k=3)))
                for _ in range(randomness.randrange(6)):
                    place = randomness.randrange(len(data))
                    data[place : place + randomness.randrange(3)] = randomness.randbytes(
                        randomness.randrange(3)
                    )
                with suppress(ConnectionError):
                    client.sendall(data[: randomness.randrange(1, len(data) + 1)])
                    if randomness.random() < 0.5:
                        client.shutdown(socket.SHUT_WR)
                if randomness.random() < 0.8:
                    client.close()
                if len(running.server._connections) > CONNECTIONS_MAX // 2:
                    stack.close()
        with running.connect() as client:
            client.sendall(GET)
            assert receive(client)[0] == 200
        assert caplog.records == []

    def test_a_body_that_goes_wrong(self, running: Running) -> None:
        head = b"PUT /loop HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"
        for rest in (b"1\r\nabc", b"zz\r\n"):
            assert running.ask(head + rest).startswith(b"HTTP/1.1 400")
            with running.connect() as client:
                client.sendall(head)
                time.sleep(0.05)
                client.sendall(rest)
                assert everything(client).startswith(b"HTTP/1.1 400")
        eventually(running.application.gone.is_set)

    def test_what_follows_a_request_is_not_answered_in_its_place(self, running: Running) -> None:
        with running.connect() as client:
            client.sendall(b"GET /waits HTTP/1.1\r\n\r\n")
            time.sleep(0.05)
            client.sendall(b"\0\0\0")
            running.application.go.set()
            assert json.loads(receive(client)[2])["path"] == "/waits"
            assert everything(client).startswith(b"HTTP/1.1 400")

    def test_a_client_that_reads_only_when_all_is_sent(self, running: Running) -> None:
        head = b"PUT /loop/unread HTTP/1.1\r\ncontent-length: 8000000\r\n\r\n"
        with running.connect() as client:
            client.sendall(head + b" " * 8_000_000)
            assert receive(client)[1]["connection"] == "close"
            assert client.recv(1) == b""


class TestAnswers:
    def test_without_a_body(self, running: Running) -> None:
        with running.connect() as client:
            client.sendall(b"GET /nothing HTTP/1.1\r\n\r\n" + CLOSE)
            status, headers, _ = receive(client)
            assert status == 204
            assert "content-length" not in headers
            assert json.loads(receive(client)[2])["path"] == "/last"

    def test_with_a_length_in_any_spelling(self, running: Running) -> None:
        answer = running.ask(b"GET /capital HTTP/1.1\r\nconnection: close\r\n\r\n")
        assert answer.lower().count(b"content-length") == 1

    def test_of_head(self, running: Running) -> None:
        with running.connect() as client:
            client.sendall(b"HEAD /x HTTP/1.1\r\n\r\n" + CLOSE)
            answers = everything(client)
        assert answers.count(b"HTTP/1.1 200") == 2
        head, _, rest = answers.partition(b"\r\n\r\n")
        assert int(parsed(head)[1]["content-length"]) > 0
        assert rest.startswith(b"HTTP/1.1 200")

    def test_for_old_clients(self, running: Running) -> None:
        answer = running.ask(b"GET /x HTTP/1.0\r\n\r\n")
        assert parsed(answer.partition(b"\r\n\r\n")[0])[1]["connection"] == "close"
        with running.connect() as client:
            for _ in range(2):
                client.sendall(b"GET /x HTTP/1.0\r\nconnection: keep-alive\r\n\r\n")
                assert receive(client)[1]["connection"] == "keep-alive"
        stream = running.ask(b"GET /loop/stream HTTP/1.0\r\nconnection: keep-alive\r\n\r\n")
        assert stream.endswith(b"\r\n\r\nonetwo")

    def test_in_chunks(self, running: Running) -> None:
        with running.connect() as client:
            client.sendall(b"GET /loop/stream HTTP/1.1\r\n\r\n" + CLOSE)
            answers = everything(client)
        assert b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\nHTTP/1.1 200" in answers

    def test_nobody_begins_another_header(self, running: Running) -> None:
        with running.connect() as client:
            client.sendall(b"GET /split HTTP/1.1\r\n\r\n")
            status, headers, body = receive(client)
        assert (status, json.loads(body)["path"]) == (200, "/split")
        assert headers["x-given"] == "one  set-cookie: a=b    "

    def test_a_large_one_is_kept_until_it_is_read(self, running: Running) -> None:
        with running.connect() as client:
            client.sendall(b"GET /large HTTP/1.1\r\n\r\n" + CLOSE)
            time.sleep(0.2)
            # Whoever has sent it can wait for the client.
            assert running.application.sent == [False]
            assert receive(client)[2] == LARGE
            assert json.loads(receive(client)[2])["path"] == "/last"

    @pytest.mark.parametrize("path", [b"/fails", b"/loop/fails"])
    def test_of_an_application_that_fails(
        self, running: Running, path: bytes, caplog: pytest.LogCaptureFixture
    ) -> None:
        answer = running.ask(b"GET %s HTTP/1.1\r\n\r\n" % path)
        assert answer.startswith(b"HTTP/1.1 500")
        assert b"a mistake" not in answer
        assert "a mistake" in caplog.text

    def test_that_breaks_off(self, running: Running) -> None:
        """Nothing says that it was the whole answer."""
        answer = running.ask(b"GET /loop/begins-and-fails HTTP/1.1\r\n\r\n")
        assert answer.endswith(b"4\r\npart\r\n")
        with running.connect() as client:
            client.sendall(b"GET /loop/begins-and-fails HTTP/1.0\r\n\r\n")
            with pytest.raises(ConnectionResetError):
                everything(client)


class TestClients:
    def test_that_go_away(self, running: Running) -> None:
        for path in (b"/loop/until-gone", b"/loop"):
            running.application.gone.clear()
            with running.connect() as client:
                client.sendall(b"PUT %s HTTP/1.1\r\ncontent-length: 4\r\n\r\n12" % path)
                time.sleep(0.05)
                assert not running.application.gone.is_set()
            assert running.application.gone.wait(SECONDS_MAX)
        eventually(lambda: not running.server._connections)

    @pytest.mark.parametrize(
        ("name", "data"),
        [
            ("HEAD_SECONDS_MAX", b"GET / HT"),
            ("IDLE_SECONDS_MAX", b""),
            ("STALLED_SECONDS_MAX", b"GET /large HTTP/1.1\r\n\r\n"),
        ],
    )
    def test_that_take_too_long(
        self, running: Running, monkeypatch: pytest.MonkeyPatch, name: str, data: bytes
    ) -> None:
        monkeypatch.setattr(server_module, "SWEEP_SECONDS", 0.05)
        monkeypatch.setattr(connection_module, name, 0.2)
        with running.connect() as client, running.connect() as neighbour:
            client.sendall(data)
            eventually(lambda: bool(running.server._connections))
            until = time.monotonic() + SECONDS_MAX
            while len(running.server._connections) > 1 and time.monotonic() < until:
                if name != "IDLE_SECONDS_MAX":
                    neighbour.sendall(GET)
                    receive(neighbour)
                time.sleep(0.01)
            assert len(running.server._connections) <= 1

    def test_that_trickle_their_head(
        self, running: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is the whole head that has to be there in time."""
        monkeypatch.setattr(server_module, "SWEEP_SECONDS", 0.05)
        monkeypatch.setattr(connection_module, "HEAD_SECONDS_MAX", 0.3)
        with running.connect() as client:
            client.sendall(b"GET / HTTP/1.1\r\n")
            eventually(lambda: bool(running.server._connections))
            with suppress(ConnectionError):
                for _ in range(90):
                    client.sendall(b"a: b\r\n")
                    time.sleep(0.02)
                    if not running.server._connections:
                        break
            assert not running.server._connections

    def test_too_many_wait_until_others_go(self, running: Running) -> None:
        with ExitStack() as stack:
            clients = [stack.enter_context(running.connect()) for _ in range(CONNECTIONS_MAX)]
            for client in clients:
                client.sendall(GET)
                receive(client)
            late = stack.enter_context(running.connect())
            late.sendall(GET)
            late.settimeout(0.3)
            with pytest.raises(TimeoutError):
                late.recv(1)
            # The others are served meanwhile.
            clients[1].sendall(GET)
            receive(clients[1])
            clients[0].close()
            late.settimeout(SECONDS_MAX)
            assert receive(late)[0] == 200

    def test_one_that_has_no_files_left_goes_on_later(
        self, running: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Exhausted:
            def __init__(self, listener: socket.socket) -> None:
                self._listener = listener
                self.asked = 0

            def accept(self) -> tuple[socket.socket, Any]:
                self.asked += 1
                if self.asked <= 2:
                    raise OSError(24, "Too many open files")
                return self._listener.accept()

            def __getattr__(self, name: str) -> Any:
                return getattr(self._listener, name)

        monkeypatch.setattr(server_module, "SWEEP_SECONDS", 0.05)
        exhausted = running.server._listener = Exhausted(running.server._listener)
        assert b'"/last"' in running.ask(CLOSE)
        # It was asked once a sweep, and not as often as possible.
        assert exhausted.asked <= 10


class TestStopping:
    def test_whoever_came_in_time_is_answered(self, running: Running) -> None:
        """Also those who have ended their side, and whom nobody has accepted yet."""
        with ExitStack() as stack:
            for _ in range(Application.server_threads):
                busy = stack.enter_context(running.connect())
                busy.sendall(b"GET /waits HTTP/1.1\r\n\r\n")
            time.sleep(0.1)
            clients = [stack.enter_context(running.connect()) for _ in range(10)]
            for number, client in enumerate(clients):
                client.sendall(GET)
                if number % 2:
                    client.shutdown(socket.SHUT_WR)
            running.stopping.set()
            time.sleep(0.1)
            running.application.go.set()
            assert [receive(client)[0] for client in clients] == [200] * 10

    @pytest.mark.parametrize("_attempt", range(5))
    def test_no_request_that_was_read_is_lost(self, running: Running, _attempt: int) -> None:
        """Each is answered, or its client sees that the connection has ended before it was read."""
        received: list[int] = []

        def ask() -> None:
            with suppress(OSError, AssertionError), running.connect() as client:
                while True:
                    client.sendall(GET)
                    received.append(receive(client)[0])

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.1)
        running.stop()
        for thread in threads:
            thread.join()
        assert len(received) == len(running.application.sent) > 10

    def test_requests_are_answered_and_idle_connections_end(self, running: Running) -> None:
        with running.connect() as idle, running.connect() as busy, running.connect() as slow:
            idle.sendall(GET)
            receive(idle)
            busy.sendall(b"GET /waits HTTP/1.1\r\n\r\n")
            slow.sendall(b"PUT /loop HTTP/1.1\r\ncontent-length: 4\r\n\r\n12")
            time.sleep(0.1)
            running.stopping.set()
            assert idle.recv(1) == b""
            running.application.go.set()
            status, headers, _ = receive(busy)
            assert (status, headers["connection"]) == (200, "close")
            assert busy.recv(1) == b""
            # The rest of a request that has begun to arrive, too.
            slow.sendall(b"34")
            assert json.loads(receive(slow)[2])["body"] == "1234"
        running.stop()
        with pytest.raises(ConnectionRefusedError):
            running.connect()

    def test_a_client_that_does_not_read_does_not_hold_it_up(
        self, running: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connection_module, "STALLED_SECONDS_MAX", 0.2)
        with running.connect() as client:
            client.sendall(b"GET /large HTTP/1.1\r\n\r\n")
            time.sleep(0.1)
            running.stop()

    def test_its_threads_end(self, running: Running) -> None:
        running.stop()
        eventually(lambda: "server" not in {thread.name for thread in threading.enumerate()})
