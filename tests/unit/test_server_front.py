"""Which requests the front answers without the event loop."""

import asyncio
import threading
from collections.abc import Iterable
from typing import Any

from roost.api.http.messages import Environ, StartResponse
from roost.server.front import Front
from roost.settings import Settings

SECONDS_MAX = 30


class Client:
    """Sends requests to a front as granian does, and has what was sent to it."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.answered = threading.Event()

    def send(self, message: dict[str, Any]) -> Any:
        self.messages.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self.answered.set()
        # The front need not await it.
        return _Done()

    async def receive(self) -> dict[str, Any]:
        await asyncio.sleep(SECONDS_MAX)
        return {"type": "http.disconnect"}


class _Done:
    def __await__(self) -> Iterable[None]:
        return iter(())


def scope(method: str, path: str = "/") -> dict[str, Any]:
    return {
        "type": "http",
        "method": method,
        "raw_path": path.encode(),
        "query_string": b"",
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", "80"),
        "client": ("127.0.0.1", "1"),
        "headers": [],
    }


def application(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    body = environ["PATH_INFO"].encode()
    if body == b"/pieces":
        start_response("200 OK", [("content-type", "text/plain")])
        return iter([b"one", b"two"])
    start_response("200 OK", [("content-length", str(len(body)))])
    return [body]


async def running_front() -> Front:
    front = Front(application, Settings(), threads=1, stopping=threading.Event())
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


def test_a_request_that_may_have_a_body_does() -> None:
    async def test() -> None:
        front, client = await running_front(), Client()
        for method in ("PUT", "POST", "PATCH", "INVENTED"):
            assert not front.begin(scope(method), client.receive, client.send)
        assert not client.messages

    asyncio.run(test())


def test_the_event_loop_sends_what_is_made_in_pieces() -> None:
    async def test() -> None:
        front, client = await running_front(), Client()
        assert front.begin(scope("GET", "/pieces"), client.receive, client.send)
        async with asyncio.timeout(SECONDS_MAX):
            while not client.answered.is_set():
                await asyncio.sleep(0.01)
        bodies = [each["body"] for each in client.messages if "body" in each]
        assert b"".join(bodies) == b"onetwo"

    asyncio.run(test())
