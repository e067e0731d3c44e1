"""The two clients: one that blocks, and one that awaits."""

import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio
import anyio.to_thread
import httpx

from roost.client.calls import Call, Page, Pages, Reading, Version
from roost.client.connected import SENDING_ERRORS, Connected, to_response
from roost.client.exchange import Authenticate, Locate, Pause, Send, Step, Steps

Answer = TypeVar("Answer")
Item = TypeVar("Item")


class Client(Connected[httpx.BaseTransport]):
    """A client of one service. Thread-safe; it keeps connections open.

    Methods that write take the generation at which the caller has read, and raise
    `ConcurrentUpdate` if another client has written since. `roost.client.errors` shows all errors.
    """

    def _connect(
        self, verify: ssl.SSLContext | bool, transport: httpx.BaseTransport | None
    ) -> None:
        self._http = httpx.Client(verify=verify, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    @property
    def version(self) -> Version:
        """The microversion of requests: the newest that both the client and the service know."""
        return self._run(self._exchange.version())

    @property
    def known_extensions(self) -> frozenset[str]:
        """What `extensions` returned when the version was read: this sends nothing of its own."""
        return self._run(self._exchange.extensions())

    def send(self, call: Call[Answer]) -> Answer:
        """Send a request, and return what its answer says."""
        return self._run(self._exchange.call(call))

    def items(self, pages: Pages[Item]) -> Iterator[Item]:
        """What a long answer says, read a page at a time."""
        return _Items(self.send, Reading(pages))

    def _run(self, steps: Steps[Answer]) -> Answer:
        outcome = None
        try:
            while True:
                outcome = self._take(steps.send(outcome))
        except StopIteration as end:
            answer: Answer = end.value
            return answer

    def _take(self, step: Step) -> Any:
        try:
            match step:
                case Send():
                    self._refuse_closed(self._http)
                    return to_response(self._http.request(**self._arguments(step)))
                case Authenticate():
                    return self._headers(step.renewed)
                case Locate():
                    return self._service_url()
                case Pause():
                    return time.sleep(step.seconds)
        except SENDING_ERRORS as error:
            return self._unreachable(step, error)


class AsyncClient(Connected[httpx.AsyncBaseTransport]):
    """The same client for programs that await, with asyncio or with trio.

    Its requests return awaitables, and its iterators are asynchronous.
    """

    def _connect(
        self, verify: ssl.SSLContext | bool, transport: httpx.AsyncBaseTransport | None
    ) -> None:
        self._http = httpx.AsyncClient(verify=verify, transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def version(self) -> Version:
        """The microversion of requests: the newest that both the client and the service know."""
        return await self._run(self._exchange.version())

    async def known_extensions(self) -> frozenset[str]:
        """What `extensions` returned when the version was read: this sends nothing of its own."""
        return await self._run(self._exchange.extensions())

    async def send(self, call: Call[Answer]) -> Answer:
        """Send a request, and return what its answer says."""
        return await self._run(self._exchange.call(call))

    def items(self, pages: Pages[Item]) -> AsyncIterator[Item]:
        """What a long answer says, read a page at a time."""
        return _AsyncItems(self.send, Reading(pages))

    async def _run(self, steps: Steps[Answer]) -> Answer:
        outcome = None
        try:
            while True:
                outcome = await self._take(steps.send(outcome))
        except StopIteration as end:
            answer: Answer = end.value
            return answer

    async def _take(self, step: Step) -> Any:
        try:
            match step:
                case Send():
                    self._refuse_closed(self._http)
                    return to_response(await self._http.request(**self._arguments(step)))
                case Authenticate():
                    # keystoneauth1 blocks while it fetches a token or a catalogue.
                    return await anyio.to_thread.run_sync(self._headers, step.renewed)
                case Locate():
                    return await anyio.to_thread.run_sync(self._service_url)
                case Pause():
                    return await anyio.sleep(step.seconds)
        except SENDING_ERRORS as error:
            return self._unreachable(step, error)


# ---------------------------------------------------------------------------------------------
# Iterators. They are not generators, which would be at their end after an error or a cancellation:
# these go on where they were.


class _Items(Iterator[Item]):
    def __init__(
        self, send: Callable[[Call[Page[Item]]], Page[Item]], reading: Reading[Item]
    ) -> None:
        self._send = send
        self._reading = reading

    def __next__(self) -> Item:
        reading = self._reading
        while not reading.items:
            if reading.due is None:
                raise StopIteration
            reading.add(self._send(reading.due))
        return reading.items.popleft()


class _AsyncItems(AsyncIterator[Item]):
    def __init__(
        self, send: Callable[[Call[Page[Item]]], Awaitable[Page[Item]]], reading: Reading[Item]
    ) -> None:
        self._send = send
        self._reading = reading

    async def __anext__(self) -> Item:
        reading = self._reading
        while not reading.items:
            if reading.due is None:
                raise StopAsyncIteration
            reading.add(await self._send(reading.due))
        return reading.items.popleft()
