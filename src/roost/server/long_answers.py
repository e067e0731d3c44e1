"""Sends answers on the event loop that take longer than the work on their requests."""

import asyncio
import functools
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from typing import Any

from roost.server.answer import BegunPieces, Sender, Stream, Unread, send_pieces
from roost.server.front_request import FrontRequest
from roost.server.lanes import Lanes
from roost.server.wsgi_call import WsgiCall

# How long watches have for their last words when the process stops. The hub that has them usually
# needs milliseconds; it needs longer if the database does not answer.
LAST_WORDS_SECONDS = 0.25

_Work = Callable[[], Any]


class LongAnswers:
    """Answers in pieces, and streams, of one process."""

    def __init__(self, loop: asyncio.AbstractEventLoop, lanes: Lanes) -> None:
        """The lanes have the threads that make pieces."""
        self._loop = loop
        self._lanes = lanes
        self._streams: set[Stream] = set()
        self._unread = Unread()
        self._is_stopping = False

    def begin_stream(self, call: WsgiCall) -> Stream:
        """The stream of a call that watches, which begins to collect what it is to send."""
        stream = Stream(call, self._loop, self._unread)
        stream.start()
        return stream

    def watch_for(self, stopping: threading.Event) -> None:
        """End all streams once `stopping` is set."""

        def wait() -> None:
            stopping.wait()
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._end_streams)

        threading.Thread(target=wait, name="end streams", daemon=True).start()

    def _end_streams(self) -> None:
        self._is_stopping = True
        for stream in self._streams:
            self._loop.call_later(LAST_WORDS_SECONDS, stream.end)

    async def send(
        self,
        request: FrontRequest,
        call: WsgiCall,
        stream: Stream | None,
        begun: BegunPieces | None = None,
    ) -> None:
        """Send what is not sent yet: all of it, unless a thread has begun."""
        sender_of = functools.partial(
            Sender, request.send, request.receive, request.scope["cut_off"]
        )
        if stream is not None:
            await self._send_stream(stream, sender_of())
        elif call.pieces is not None:
            try:
                await send_pieces(
                    sender_of(),
                    call,
                    lambda: self._in_thread(call.next_piece, request.context),
                    begun,
                )
            finally:
                await self._in_thread(call.close, request.context)

    async def _send_stream(self, stream: Stream, sender: Sender) -> None:
        self._streams.add(stream)
        if self._is_stopping:
            self._loop.call_later(LAST_WORDS_SECONDS, stream.end)
        try:
            await stream.send_to(sender)
        finally:
            self._streams.discard(stream)

    async def _in_thread(self, work: _Work, context: Context) -> Any:
        done = self._loop.create_future()
        outcome: list[Any] = []

        def run() -> None:
            try:
                outcome.append(work())
            except Exception as error:
                outcome.append(error)

        def then() -> None:
            self._loop.call_soon_threadsafe(done.set_result, None)

        self._lanes.add(run, context, then, may_take_long=True)
        await done
        if isinstance(outcome[0], Exception):
            raise outcome[0]
        return outcome[0]
