"""A watch as plain WSGI takes it: a thread waits for each piece."""

import queue
import threading
import weakref
from collections.abc import Iterator

from roost.api.http.exchange import UNREAD_BYTES_MAX, Watch


class WatchPieces:
    """The pieces of a watch, which begins with the first one that is asked for."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._buffer: _Buffer | None = None
        # Not every server calls `close`.
        self.close = weakref.finalize(self, watch.stop)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._buffer is None:
            self._buffer = _Buffer(self._watch)
            self._watch.start(self._buffer.put)
        piece = self._buffer.take()
        if piece is None:
            self.close()
            raise StopIteration
        return piece


class _Buffer:
    """Pieces on their way to the thread that sends them.

    The watch refers to the buffer, and not to `WatchPieces`, so a response that a server drops is
    noticed.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._pieces: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._bytes = 0

    def put(self, piece: bytes | None) -> None:
        with self._lock:
            self._bytes += len(piece or b"")
            is_full = self._bytes > UNREAD_BYTES_MAX
        if is_full:
            self._watch.stop()
            piece = None
        self._pieces.put(piece)

    def take(self) -> bytes | None:
        piece = self._pieces.get()
        with self._lock:
            self._bytes -= len(piece or b"")
        return piece
