"""A connection between a service and its database that can be cut, slowed, or cut at COMMIT."""

import contextlib
import random
import re
import socket
import threading
import time
from collections import Counter
from types import TracebackType
from typing import Self

CHUNK_SIZE = 65536
CUT_SHARE = 0.3
# Of batches, which are fewer. A claim that was left out of one goes its own way.
BATCH_CUT_SHARE = 0.8
# How long the server may go on after its first answer, before it notices the cut. A batch has
# several statements there, of which the last one is COMMIT.
GO_ON_SECONDS_MAX = 0.05

# A batch on PostgreSQL is one statement (`tables/new_claims.py`): it is executed at once, or
# prepared under a name and executed by that name from then on.
_PARSE = re.compile(rb"P.{4}([^\0]*)\0\s*WITH moved([^\0]*)\0", re.DOTALL)
_BIND = re.compile(rb"B.{4}\0([^\0]+)\0", re.DOTALL)
_ANNOUNCES = b"roost_writers"


class _Transactions:
    """Recognises what commits among the bytes that a service sends over one connection."""

    def __init__(self) -> None:
        self._prepared: set[bytes] = set()

    def is_batch(self, chunk: bytes) -> bool:
        """Whether it executes a batch of claims, COMMIT included."""
        if b"START TRANSACTION" in chunk and b"COMMIT" in chunk:
            return True
        for name, text in _PARSE.findall(chunk):
            if _ANNOUNCES in text:
                if not name:
                    return True
                self._prepared.add(name)
        return not self._prepared.isdisjoint(_BIND.findall(chunk))


class Proxy:
    """Forwards connections from a port of its own to another one."""

    def __init__(self, target_port: int, seed: str) -> None:
        self._target_port = target_port
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._is_cut = False
        self._delay_seconds = 0.0
        self._cut_at_commit: str | None = None  # "before" or "after"
        self.cut_batches: Counter[str] = Counter()  # by the moment

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._listener.close()
        self.cut()

    # -- faults --------------------------------------------------------------------------------

    def cut(self) -> None:
        """Break every connection, and accept no new one."""
        self._is_cut = True
        with self._lock:
            broken, self._open = self._open, set()
        for end in broken:
            _close(end)

    def heal(self) -> None:
        self._is_cut = False
        self._delay_seconds = 0.0
        self._cut_at_commit = None

    def slow_down(self, seconds: float) -> None:
        """Delay everything that passes by so many seconds."""
        self._delay_seconds = seconds

    def cut_at_commit(self, moment: str) -> None:
        """Break some connections before a COMMIT gets through, or before its answer does."""
        self._cut_at_commit = moment

    def _chosen(self, is_batch: bool) -> bool:
        # Some must get through, or a client would never make progress.
        return self._random.random() < (BATCH_CUT_SHARE if is_batch else CUT_SHARE)

    # -- forwarding ----------------------------------------------------------------------------

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self._is_cut:
                _close(near)
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self._target_port), timeout=5)
            except OSError:
                _close(near)
                continue
            for end in (near, far):
                end.settimeout(None)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open |= {near, far}
            committing = threading.Event()
            for source, sink, is_answer in ((near, far, False), (far, near, True)):
                threading.Thread(
                    target=self._pump, args=(source, sink, committing, is_answer), daemon=True
                ).start()

    def _pump(
        self,
        source: socket.socket,
        sink: socket.socket,
        committing: threading.Event,
        is_answer: bool,
    ) -> None:
        transactions = _Transactions()
        with contextlib.suppress(OSError):
            while chunk := source.recv(CHUNK_SIZE):
                if self._delay_seconds:
                    time.sleep(self._delay_seconds)
                if is_answer:
                    if committing.is_set():
                        time.sleep(self._random.uniform(0, GO_ON_SECONDS_MAX))
                        break
                else:
                    is_batch = transactions.is_batch(chunk)
                    if is_batch or b"COMMIT" in chunk:
                        moment = self._cut_at_commit
                        if moment is not None and self._chosen(is_batch):
                            self.cut_batches[moment] += is_batch
                            if moment == "before":
                                break
                            committing.set()
                sink.sendall(chunk)
        for end in (source, sink):
            _close(end)
        with self._lock:
            self._open -= {source, sink}


def _close(end: socket.socket) -> None:
    # Shut down both directions, so that a thread that waits for data notices.
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(OSError):
        end.close()
