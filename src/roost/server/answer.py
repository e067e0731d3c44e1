"""Sends long answers: in pieces, or as streams that go on for as long as something happens.

A client that does not read holds neither a thread nor more than a bounded amount of memory.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any, NamedTuple

from roost.api.http.exchange import UNREAD_BYTES_MAX
from roost.api.http.messages import EVENTS
from roost.server.request_body import Receive
from roost.server.wsgi_call import BrokenOff, Send, WsgiCall

# What is handed to the server at once. It holds a few of them for each connection. There may be
# many streams. Answers in pieces have more room (`PiecesRoom`), and each frame takes time.
STREAM_FRAME_BYTES_MAX = 64 * 1024
PIECES_FRAME_BYTES_MAX = 256 * 1024
# How many pieces a thread makes and sends itself, as long as the client takes them. With more, the
# answer is one of those that must not keep a thread.
PIECES_AT_ONCE = 8
# What may wait for all clients that do not read their streams. Beyond that, only clients that are a
# little behind may stay.
ALL_UNREAD_BYTES_MAX = 64 * 1024 * 1024
LITTLE_UNREAD_BYTES_MAX = 16 * 1024

NextPiece = Callable[[], Awaitable[bytes | None]]


class Sender:
    """Sends one answer to a client, who may go away or stop reading."""

    def __init__(self, send: Send, receive: Receive, cut_off: Callable[[], None]) -> None:
        self.frame_bytes_max = STREAM_FRAME_BYTES_MAX
        self._send = send
        self._cut_off = cut_off
        self.gone = asyncio.ensure_future(until_gone(receive))

    def start(self, call: WsgiCall) -> None:
        self._send(call.start_message())
        # Without a body, the server would keep the headers back.
        self._send(_body_message(b""))

    async def send(self, data: bytes) -> bool:
        """Whether the client takes it."""
        for begin in range(0, len(data), self.frame_bytes_max):
            sent = self._send(_body_message(data[begin : begin + self.frame_bytes_max]))
            if not await self.wait(sent):
                return False
        return True

    async def wait(self, sent: Awaitable[None] | None) -> bool:
        """Wait until something is sent; whether the client takes it."""
        if sent is not None and not self.gone.done():
            sending = asyncio.ensure_future(_awaited(sent))
            # A client that takes next to nothing for long is gone for the server.
            await asyncio.wait({sending, self.gone}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                sending.cancel()
                return False
        return not self.gone.done()

    def end(self) -> None:
        self.gone.cancel()
        self._send(_body_message(b"", more=False))

    def break_off(self) -> None:
        """End the connection, so that nobody takes what was sent for the whole answer."""
        self._cut_off()
        self.gone.cancel()


class BegunPieces(NamedTuple):
    """How far a thread has come with an answer in pieces."""

    sent: Awaitable[None] | None = None  # the client has not taken it yet
    piece: bytes | None = None  # the next one; None: it cannot be made


def begin_pieces(send: Send, call: WsgiCall, context: Context) -> BegunPieces | None:
    """Send the first pieces in this thread; None if these are all.

    Most answers have few, and their clients take them. To hand each to the event loop, and the
    making of the next one to a thread, takes longer than both.
    """
    send(call.start_message())
    piece = call.body
    for _ in range(PIECES_AT_ONCE):
        try:
            following = context.run(call.next_piece)
        except BrokenOff:
            return BegunPieces(send(_body_message(piece)))
        sent = send(_body_message(piece, more=following is not None))
        if following is None:
            # The server has all of it, as it has a short answer that nobody reads.
            return None
        if sent is not None:
            return BegunPieces(sent, following)
        piece = following
    return BegunPieces(piece=piece)


async def send_pieces(
    sender: Sender, call: WsgiCall, next_piece: NextPiece, begun: BegunPieces | None = None
) -> None:
    """Send an answer whose pieces are made while the client reads, or the rest of it."""
    sender.frame_bytes_max = PIECES_FRAME_BYTES_MAX
    piece: bytes | None
    if begun is None:
        sender.start(call)
        piece = call.body
    else:
        piece = begun.piece
        has_taken = await sender.wait(begun.sent)
        if piece is None or not has_taken:
            sender.break_off()
            return
    try:
        while piece is not None:
            if not await sender.send(piece):
                sender.break_off()
                return
            piece = await next_piece()
    except BrokenOff:
        # The client must not take it for the whole answer.
        sender.break_off()
        return
    except Exception:
        sender.break_off()
        raise
    sender.end()


class Unread:
    """How much waits for the clients of all streams of a process."""

    def __init__(self) -> None:
        self._bytes = 0
        self._lock = threading.Lock()

    def add(self, count: int) -> bool:
        """Count more, or less; whether that is more than there should be."""
        with self._lock:
            self._bytes += count
            return self._bytes > ALL_UNREAD_BYTES_MAX


class Stream:
    """The pieces of a watch that were delivered and not sent yet."""

    def __init__(self, call: WsgiCall, loop: asyncio.AbstractEventLoop, unread: Unread) -> None:
        assert call.watch is not None
        self._all_unread = unread
        self._call = call
        self._watch = call.watch
        self._loop = loop
        self._lock = threading.Lock()
        self._pieces: deque[bytes] = deque()
        self._unread_bytes = 0
        self._is_over = False
        self._arrived = asyncio.Event()

    def start(self) -> None:
        self._watch.start(self._deliver)

    def end(self) -> None:
        """No more is to be delivered. May be called in any thread."""
        self._deliver(None)

    async def send_to(self, sender: Sender) -> None:
        sender.gone.add_done_callback(lambda _: self.end())
        try:
            sender.start(self._call)
            is_empty = True
            while (data := await self._take()) is not None:
                if not await sender.send(data):
                    sender.break_off()
                    return
                self._count_sent(len(data))
                is_empty = False
        finally:
            self._watch.stop()
            self._forget()
        if is_empty and self._call.media_type != EVENTS:
            # Nothing is no document.
            sender.break_off()
        else:
            sender.end()

    def _deliver(self, piece: bytes | None) -> None:
        with self._lock:
            if self._is_over:
                return
            if piece is None:
                self._is_over = True
            else:
                # The client reconnects with its last position, if it is still there.
                self._is_over = self._count(len(piece))
                self._pieces.append(piece)
            is_over = self._is_over
        try:
            self._loop.call_soon_threadsafe(self._arrived.set)
        except RuntimeError:
            # The event loop has ended, and the process will.
            is_over = True
        if is_over and piece is not None:
            self._watch.stop()

    def _count(self, count: int) -> bool:
        """Count more that is unread, or less; whether that is too much."""
        self._unread_bytes += count
        bytes_max = LITTLE_UNREAD_BYTES_MAX if self._all_unread.add(count) else UNREAD_BYTES_MAX
        return self._unread_bytes > bytes_max

    def _count_sent(self, count: int) -> None:
        with self._lock:
            self._count(-count)

    def _forget(self) -> None:
        """Nothing is sent any more, nor delivered."""
        with self._lock:
            self._is_over = True
            self._pieces.clear()
            self._count(-self._unread_bytes)

    async def _take(self) -> bytes | None:
        while True:
            await self._arrived.wait()
            with self._lock:
                self._arrived.clear()
                data = b"".join(self._pieces)
                self._pieces.clear()
                is_over = self._is_over
            if data:
                if is_over:
                    self._arrived.set()
                return data
            if is_over:
                return None


def _body_message(data: bytes, *, more: bool = True) -> dict[str, Any]:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def _awaited(sending: Awaitable[None]) -> None:
    await sending


async def until_gone(receive: Receive) -> None:
    """Wait until the client is gone; what it sends is not read by anybody else."""
    while (await receive())["type"] != "http.disconnect":
        pass
