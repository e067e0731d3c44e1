"""The connection of one client: its requests, one after the other, and their answers.

A connection is armed (`readiness.py`) for what it needs next. One thread at a time works on it when
that is there; answers are sent by whichever thread has them. Meanwhile nothing more is read.
"""

import math
import socket
import struct
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Protocol

from roost.server.http import head
from roost.server.http.exchange import HttpExchange
from roost.server.http.later import Later
from roost.server.http.outgoing import Outgoing
from roost.server.http.readiness import GONE, READ, WRITE, Readiness, has_gone, has_more
from roost.server.http.request_parser import Refused, RequestParser, Scope

RECEIVE_BYTES = 64 * 1024

# How many requests of a client may wait for the answer to the one ahead of them.
WAITING_MAX = 128
# How long a client may take for the head of a request, and until it sends the next one.
HEAD_SECONDS_MAX = 30.0
IDLE_SECONDS_MAX = 75.0
# How long a client may take nothing of what waits for it, or next to nothing (`outgoing.py`).
STALLED_SECONDS_MAX = 30.0
# How long, and how much, a client may go on to send what nobody reads. Most clients read their
# answer only then. Without it, they would only see that the connection was reset.
DISCARD_SECONDS_MAX = 5.0
DISCARD_BYTES_MAX = 64 * 1024 * 1024

# See socket(7): to linger, for 0 seconds.
_RESET = struct.pack("ii", 1, 0)


class Server(Protocol):
    """What a connection needs of the server that accepted it."""

    readiness: Readiness
    is_stopping: bool

    def begin(self, exchange: HttpExchange) -> None:
        """Answer a request, here or in another thread. Does not raise."""

    def forget(self, descriptor: int) -> None:
        """The connection with this descriptor is about to be closed."""


class Connection:
    """Its lock is never held while somebody waits."""

    __slots__ = (
        *("_address", "_arriving", "_current", "_discarded_bytes", "_discards_until", "_ends"),
        *("_idle_since", "_is_worked_on", "_next", "_outgoing", "_parser", "_refusal", "_server"),
        *("_socket", "is_closed", "lock"),
    )

    def __init__(
        self, server: Server, client_socket: socket.socket, client: tuple[str, str]
    ) -> None:
        self.lock = threading.Lock()
        self.is_closed = False
        self._server = server
        self._socket = client_socket
        host, port, *_ = client_socket.getsockname()
        self._address = {"server": (host, str(port)), "client": client}
        self._is_worked_on = False
        self._parser = RequestParser(self)
        self._outgoing = Outgoing(client_socket)
        # The request that is being answered, those after it, and of which of them more is arriving.
        self._current: HttpExchange | None = None
        self._next: deque[HttpExchange] = deque()
        self._arriving: HttpExchange | None = None
        self._idle_since = time.monotonic()
        # It ends when everything is sent. Until when is discarded what the client still sends.
        self._ends = False
        # What was sent last is no request; the answer to that.
        self._refusal: bytes | None = None
        self._discards_until: float | None = None
        self._discarded_bytes = 0

    # -----------------------------------------------------------------------------------------
    # In a thread of the server

    def work(self, ready: int) -> None:
        """Do what can be done now. It is armed again afterwards."""
        with self.lock:
            if self.is_closed or self._is_worked_on:
                return
            self._is_worked_on = True
        if ready & WRITE:
            self._send_more()
        if ready & READ:
            self._read()
        elif ready & GONE and self._has_gone():
            self.lose()
        while (exchange := self._take_next()) is not None:
            self._server.begin(exchange)

    def _take_next(self) -> HttpExchange | None:
        """The next request, if its turn has come. If not, the work is done."""
        with self.lock:
            if self._has_next:
                self._current = self._next.popleft()
                return self._current
            self._is_worked_on = False
            self.arm_if_idle()
            return None

    @property
    def _has_next(self) -> bool:
        is_free = self._current is None and not (self._outgoing.bytes_waiting or self._ends)
        return is_free and bool(self._next)

    def arm_if_idle(self) -> None:
        """Arm it for what it needs, unless a thread will do that. With the lock."""
        if self._is_worked_on or self.is_closed:
            return
        if interest := self._interest():
            self._server.readiness.arm(self._socket.fileno(), interest)

    def _interest(self) -> int:
        if self._discards_until is not None:
            return READ
        # A client that only takes its answers may have ended its side. One whose answer is still
        # being made is taken to be gone then.
        interest = WRITE if self._outgoing.bytes_waiting or self._has_next else 0
        if self._current is None:
            if not (interest or self._ends):
                interest = READ
        elif self._current.waits_for_body:
            interest |= READ
        elif self._current.pending is not None:
            interest |= GONE
        return interest

    def _has_gone(self) -> bool:
        with self.lock:
            return not self.is_closed and has_gone(self._socket)

    def _read(self) -> None:
        # Another connection has its descriptor as soon as it is closed.
        with self.lock:
            if self.is_closed:
                return
            is_discarded = self._ends
            try:
                data = self._socket.recv(RECEIVE_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
        if not data:
            self.lose()
        elif is_discarded:
            self._discarded_bytes += len(data)
            if self._discarded_bytes > DISCARD_BYTES_MAX:
                self.lose()
        else:
            try:
                self._parser.feed(data)
            except Refused as refused:
                self._refuse(refused)
            self._hand_over_body()

    def _hand_over_body(self) -> None:
        with self.lock:
            current = self._current
            if current is None or current.pending is None or not current.has_more_to_receive:
                return
            pending, current.pending = current.pending, None
            message = current.take_body()
        # Whoever waits may go on in this thread.
        pending.happen(message)

    def _refuse(self, refused: Refused) -> None:
        """Answer to what is no request, after the answers to all requests ahead of it."""
        with self.lock:
            self._refusal = head.refusal(refused.status, refused.detail)
            arriving, self._arriving = self._arriving, None
            pending = None
            if arriving is not None and arriving is self._current:
                pending = arriving.lose_client()
                self._current = None
                # Otherwise the refusal would be taken for a part of its answer.
                if arriving.has_begun:
                    self._refusal = b""
            elif arriving is not None and arriving in self._next:
                self._next.remove(arriving)
            self._send_refusal()
        HttpExchange.tell_gone(pending)

    def _send_refusal(self) -> None:
        """With the lock."""
        if self._refusal is not None and self._current is None and not self._next:
            self._outgoing.send([self._refusal])
            self._end_when_sent()

    def _send_more(self) -> None:
        with self.lock:
            happened = self._outgoing.send_more()
            if self._ends and not self._outgoing.bytes_waiting:
                self._end_when_sent()
        for each in happened:
            each.happen()
        if self._outgoing.has_failed:
            self.lose()

    # -----------------------------------------------------------------------------------------
    # What its parser has read

    def begin_request(self, scope: Scope, *, keeps_alive: bool, awaits_continue: bool) -> None:
        scope |= self._address
        exchange = HttpExchange(self, scope, keeps_alive, awaits_continue)
        with self.lock:
            if len(self._next) >= WAITING_MAX:
                raise Refused(400, f"{WAITING_MAX} requests may be sent ahead of their answers.")
            self._arriving = exchange
            self._next.append(exchange)

    def add_to_body(self, part: bytes) -> None:
        with self.lock:
            if self._arriving is not None:
                self._arriving.chunks.append(part)

    def end_request(self) -> None:
        with self.lock:
            if self._arriving is not None:
                self._arriving.is_complete = True
                self._arriving = None

    # -----------------------------------------------------------------------------------------
    # In any thread

    def write(self, parts: list[bytes], waiting_max: int) -> Later | None:
        """Send as much as the client takes now, and the rest later.

        What is given back happens when everything is sent; None if less than that waits.
        """
        with self.lock:
            if self.is_closed or self._ends:
                return None
            self.write_soon(parts)
            return self._outgoing.wait() if self._outgoing.bytes_waiting > waiting_max else None

    def write_soon(self, parts: list[bytes]) -> None:
        """The same with the lock."""
        self._outgoing.send(parts)
        if self._outgoing.bytes_waiting:
            self.arm_if_idle()

    def finish(self, exchange: HttpExchange) -> None:
        """The answer to a request is complete. The next one may follow."""
        with self.lock:
            pending = exchange.lose_client()
            if exchange is self._current:
                self._current = None
                self._idle_since = time.monotonic()
                if not exchange.keeps_alive or not exchange.is_complete:
                    self._next.clear()
                    self._end_when_sent()
                else:
                    self._send_refusal()
                    self.arm_if_idle()
        HttpExchange.tell_gone(pending)

    def lose(self, *, is_reset: bool = False) -> None:
        """Close it, whatever is going on."""
        with self.lock:
            if self.is_closed:
                return
            # The system would keep what waits for the client for long.
            if is_reset or self._outgoing.bytes_waiting:
                with suppress(OSError):
                    self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            waiting = [each.lose_client() for each in (self._current, *self._next) if each]
            happened = self._close()
        for pending in waiting:
            HttpExchange.tell_gone(pending)
        for each in happened:
            each.happen()

    # -----------------------------------------------------------------------------------------
    # The end

    @property
    def is_stopping(self) -> bool:
        return self._server.is_stopping

    def stop_if_idle(self) -> None:
        """End it, unless a request is being answered: then its answer is the last one."""
        with self.lock:
            is_free = not (self._is_worked_on or self._current or self._next or self._ends)
            is_free &= not (self._outgoing.bytes_waiting or self.is_closed)
            if is_free and not has_more(self._socket):
                self._close()

    def end_if_late(self, now: float) -> None:
        with self.lock:
            is_late = now > self._late_at()
        if is_late:
            self.lose()

    def _late_at(self) -> float:
        """When the client will have taken too long for whatever it should do next."""
        if self._discards_until is not None:
            return self._discards_until
        if self._outgoing.bytes_waiting:
            return self._outgoing.taken_at + STALLED_SECONDS_MAX
        if self._current is not None or self._next:
            return math.inf
        idle_since = max(self._idle_since, self._outgoing.taken_at)
        begun_at = self._parser.head_begun_at
        if begun_at is not None:
            return max(begun_at, idle_since) + HEAD_SECONDS_MAX
        return idle_since + IDLE_SECONDS_MAX

    def _end_when_sent(self) -> None:
        """End it as soon as nothing waits to be sent. With the lock."""
        self._ends = True
        if self._outgoing.bytes_waiting:
            self.arm_if_idle()
        elif self._outgoing.has_failed or not self._client_is_sending():
            self._close()
        elif self._discards_until is None:
            self._discards_until = time.monotonic() + DISCARD_SECONDS_MAX
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_WR)
            self.arm_if_idle()

    def _client_is_sending(self) -> bool:
        is_amid_request = self._arriving is not None or self._parser.head_begun_at is not None
        return is_amid_request or bool(self._refusal) or has_more(self._socket)

    def _close(self) -> list[Later]:
        """Whom to tell. With the lock."""
        if self.is_closed:
            return []
        self.is_closed = True
        self._server.forget(self._socket.fileno())
        self._socket.close()
        self._parser.close()
        self._current = self._arriving = None
        self._next.clear()
        return self._outgoing.give_up()
