"""Which requests the front answers without the event loop."""

import asyncio
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from roost.api.http.messages import Environ, StartResponse
from roost.api.http_error import HttpError
from roost.errors import RoostError
from roost.server.answer import PIECES_AT_ONCE
from roost.server.front import Front
from roost.server.http.later import Arrived, Later
from roost.server.request_body import AT_ONCE_BYTES_MAX, AT_ONCE_SECONDS_MAX
from roost.settings import Settings

SECONDS_MAX = 30
# What a request to /wait waits for, and that it does.
GO, WAITING = threading.Event(), threading.Event()


class Client:
    """Sends requests to a front as its server does, and has what was sent to it."""

    def __init__(self, *chunks: bytes) -> None:
        """With a body that is here already, in these chunks."""
        self._chunks = list(chunks)
        self.messages: list[dict[str, Any]] = []
        self.answered = threading.Event()

    def send(self, message: dict[str, Any]) -> Any:
        self.messages.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self.answered.set()

    def receive(self) -> Later | Arrived:
        if not self._chunks:
            return Later()
        body = self._chunks.pop(0)
        return Arrived({"type": "http.request", "body": body, "more_body": True})


def scope(method: str, path: str = "/", length: int | None = None) -> dict[str, Any]:
    headers = [] if length is None else [(b"content-length", str(length).encode())]
    return {
        "method": method,
        "raw_path": path.encode(),
        "query_string": b"",
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", "80"),
        "client": ("127.0.0.1", "1"),
        "cut_off": None,
        "headers": [*headers, (b"x-auth-token", b"admin")],
    }


def pieces(count: bytes) -> Iterator[bytes]:
    yield b"0"
    if count == b"broken":
        raise RoostError("half of it is lost")
    yield from (str(number).encode() for number in range(1, int(count)))


def application(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    try:
        body = environ["PATH_INFO"].encode() + environ["wsgi.input"].read()
    except HttpError as error:
        start_response(f"{error.status} ", [])
        return []
    if body == b"/wait":
        WAITING.set()
        GO.wait(SECONDS_MAX)
    if body.startswith(b"/pieces/"):
        start_response("200 OK", [("content-type", "text/plain")])
        return pieces(body.removeprefix(b"/pieces/"))
    start_response("200 OK", [("content-length", str(len(body)))])
    return [body]


async def running_front(settings: Settings | None = None) -> Front:
    front = Front(application, settings or Settings(), threads=1, stopping=threading.Event())
    # The event loop is known with the first request.
    assert not front.begin(scope("GET"), Client().receive, Client().send)
    client = Client()
    await front(scope("GET"), client.receive, client.send)
    return front


def test_a_request_without_a_body_needs_no_event_loop() -> None:
    async def test() -> None:
        front, client = await running_front(), Client()
        assert front.begin(scope("GET", "/one"), client.receive, client.send)
        # Meanwhile the event loop does nothing.
        assert client.answered.wait(SECONDS_MAX)
        start, body = client.messages
        assert (start["status"], body["body"]) == (200, b"/one")

    asyncio.run(test())


def test_nor_does_one_whose_body_is_here() -> None:
    async def test() -> None:
        front, client = await running_front(), Client(b"body")
        assert front.begin(scope("PUT", "/one", 4), client.receive, client.send)
        # In this thread, so it is over.
        start, body = client.messages
        assert (start["status"], body["body"]) == (200, b"/onebody")

    asyncio.run(test())


def arrive(pending: Later) -> None:
    pending.happen({"type": "http.request", "body": b"body", "more_body": False})


def test_the_thread_that_receives_a_body_goes_on() -> None:
    async def test() -> None:
        front, client, arriving = await running_front(), Client(), Later()
        assert front.begin(scope("PUT", "/one", 4), lambda: arriving, client.send)
        assert not client.messages
        thread = threading.Thread(target=arrive, args=[arriving])
        thread.start()
        # Meanwhile the event loop does nothing.
        assert client.answered.wait(SECONDS_MAX)
        thread.join()
        # It is too late to leave it to the event loop.
        await asyncio.sleep(3 * AT_ONCE_SECONDS_MAX)
        start, body = client.messages
        assert (start["status"], body["body"]) == (200, b"/onebody")

    asyncio.run(test())


def test_a_body_that_takes_long_is_left_to_the_event_loop_and_its_time_limit() -> None:
    async def test() -> None:
        settings = Settings(body_seconds_max=1)
        front = await running_front(settings)
        client, arriving = Client(), Later()
        assert front.begin(scope("PUT", "/one", 4), lambda: arriving, client.send)
        async with asyncio.timeout(SECONDS_MAX):
            while not client.messages:
                await asyncio.sleep(0.01)
        assert client.messages[0]["status"] == 408

    asyncio.run(test())


def test_the_event_loop_receives_the_rest_of_a_body() -> None:
    async def test() -> None:
        front = await running_front()
        for chunks in ([b"first", b"second"], [b"", b"firstsecond"]):
            client = Client(*chunks)
            assert front.begin(scope("PUT", "/one", 11), client.receive, client.send)
            assert not client.messages
            async with asyncio.timeout(SECONDS_MAX):
                while len(client._chunks):
                    await asyncio.sleep(0.001)
            # It waits for the end of the body, as for any that comes in parts.
            assert not client.messages

    asyncio.run(test())


def test_bodies_that_may_be_large_need_the_event_loop() -> None:
    async def test() -> None:
        front, client = await running_front(), Client(b"body")
        for length in (AT_ONCE_BYTES_MAX + 1, 10**30):
            assert not front.begin(scope("PUT", "/one", length), client.receive, client.send)
        chunked = scope("POST")
        chunked["headers"].append((b"transfer-encoding", b"chunked"))
        assert not front.begin(chunked, client.receive, client.send)
        assert not client.messages

    asyncio.run(test())


def test_a_thread_of_the_server_is_always_free() -> None:
    """While one answers a request that takes its time, another hands requests over."""

    async def test() -> None:
        front = await running_front()
        slow, body, read, later = Client(), Client(b"body"), Client(), Client(b"body")
        # As many as may be busy: one for each thread of the front.
        busy = threading.Thread(
            target=front.begin, args=(scope("GET", "/wait"), slow.receive, slow.send)
        )
        busy.start()
        assert WAITING.wait(SECONDS_MAX)
        assert front.begin(scope("PUT", "/one", 4), body.receive, body.send)
        assert front.begin(scope("GET", "/one"), read.receive, read.send)
        assert body.answered.wait(SECONDS_MAX)
        assert read.answered.wait(SECONDS_MAX)
        assert not slow.messages
        GO.set()
        busy.join(SECONDS_MAX)
        assert slow.answered.is_set()
        # And then it answers requests itself again.
        assert front.begin(scope("PUT", "/one", 4), later.receive, later.send)
        assert later.answered.is_set()

    asyncio.run(test())


async def answered(client: Client) -> bytes:
    async with asyncio.timeout(SECONDS_MAX):
        while not client.answered.is_set():
            await asyncio.sleep(0.001)
    return b"".join(each["body"] for each in client.messages if "body" in each)


def test_the_thread_sends_pieces_that_the_client_takes() -> None:
    async def test() -> None:
        front, client = await running_front(), Client()
        assert front.begin(scope("GET", "/pieces/3"), client.receive, client.send)
        # In this thread, so it is over.
        assert client.answered.is_set()
        assert await answered(client) == b"012"

    asyncio.run(test())


def test_the_event_loop_sends_the_rest_of_many_pieces() -> None:
    async def test() -> None:
        front, client = await running_front(), Client()
        count = PIECES_AT_ONCE + 2
        assert front.begin(scope("GET", f"/pieces/{count}"), client.receive, client.send)
        assert not client.answered.is_set()
        assert await answered(client) == "".join(map(str, range(count))).encode()

    asyncio.run(test())


@pytest.mark.parametrize("taken", range(1, 4))
def test_the_event_loop_waits_for_a_client_that_does_not_take_a_piece(taken: int) -> None:
    class SlowClient(Client):
        def send(self, message: dict[str, Any]) -> Any:
            done = super().send(message)
            if len(self.messages) == 1 + taken:
                self.is_asked = asyncio.get_running_loop().create_future()
                return self.is_asked
            return done

    async def test() -> None:
        front, client = await running_front(), SlowClient()
        assert front.begin(scope("GET", "/pieces/3"), client.receive, client.send)
        await asyncio.sleep(0.02)
        assert len(client.messages) == 1 + taken
        client.is_asked.set_result(None)
        assert await answered(client) == b"012"

    asyncio.run(test())


def test_an_answer_that_breaks_off_is_cut_off() -> None:
    async def test() -> None:
        front, client, request = await running_front(), Client(), scope("GET", "/pieces/broken")
        cut_off = asyncio.Event()
        request["cut_off"] = cut_off.set
        assert front.begin(request, client.receive, client.send)
        async with asyncio.timeout(SECONDS_MAX):
            await cut_off.wait()
        assert not client.answered.is_set()
        assert [each.get("body") for each in client.messages] == [None, b"0"]

    asyncio.run(test())
