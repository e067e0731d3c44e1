"""The server: threads that accept connections and work on those that are ready.

There is one thread more than may be busy, so that one is always free to take what comes. It answers
short requests in the thread that has read them, which is what most of their time would go to
otherwise: to hand a request to another thread, or to an event loop, takes as long as a small one.
The event loop has what takes longer.
"""

import asyncio
import errno
import functools
import logging
import os
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol

from roost.server.http.connection import Connection
from roost.server.http.exchange import HttpExchange
from roost.server.http.readiness import READ, new_readiness
from roost.server.http.request_parser import Scope

LOG = logging.getLogger(__name__)

# How many connections one thread accepts before others may do something else.
ACCEPTED_AT_ONCE = 64
# How often to look for clients that take too long, and for connections to end when it stops.
SWEEP_SECONDS = 1.0
STOP_SWEEP_SECONDS = 0.01
# A connection that was given up before it was accepted. Others may follow.
_NEXT_CONNECTION = frozenset({errno.ECONNABORTED, errno.EPROTO})


class Application(Protocol):
    """An application of ASGI that may also take a request in the thread that has read it."""

    server_threads: int

    def __call__(self, scope: Any, receive: Any, send: Any) -> Awaitable[None]:
        """Answer a request on the event loop."""

    def begin(self, scope: Any, receive: Any, send: Any) -> bool:
        """Take a request in a thread of the server; False: it must be awaited instead."""


class Sharing(Protocol):
    """What a server needs of others with which it shares connections."""

    # Becomes readable when another server has handed over a connection.
    receiver: socket.socket

    def note(self, count: int) -> None:
        """Say how many connections the server has."""

    def leave(self) -> None:
        """Take no more connections, but for those that are on their way."""

    def hand_over(self, accepted: socket.socket, count: int) -> bool:
        """Give a new connection to another server, if this one has more; whether it did."""

    def receive(self) -> Iterable[socket.socket]:
        """Connections that others have handed over."""


class HttpServer:
    """Serves HTTP/1.1 on a socket that listens."""

    def __init__(
        self,
        application: Application,
        listener: socket.socket,
        *,
        connections_max: int,
        sharing: Sharing | None = None,
    ) -> None:
        """`sharing` spreads connections over several servers of one service."""
        self.readiness = new_readiness()
        self.is_stopping = False
        self._application = application
        self._listener = listener
        self._connections_max = connections_max
        self._sharing = sharing
        # By descriptor. Each change is one step.
        self._connections: dict[int, Connection] = {}
        self._accepts = threading.Lock()
        # Nothing is accepted until a connection ends, or there are files again.
        self._is_full = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        # Becomes readable when the threads are to end.
        self._end, self._ending = os.pipe()

    def run(self, stopping: threading.Event) -> None:
        """Serve until `stopping` is set and all requests have been answered."""
        asyncio.run(self._run(stopping))

    async def _run(self, stopping: threading.Event) -> None:
        loop = self._loop = asyncio.get_running_loop()
        stopped = asyncio.Event()

        def wait() -> None:
            stopping.wait()
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(stopped.set)

        _start_thread(wait, "stop")
        self._listener.setblocking(False)
        self.readiness.add(self._listener.fileno(), READ)
        if self._sharing is not None:
            self.readiness.add(self._sharing.receiver.fileno(), READ)
        for _ in range(self._application.server_threads):
            _start_thread(self._work, "server")
        while not stopped.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), SWEEP_SECONDS)
            self._sweep()
            self._accept_again()
        await self._stop()
        self.readiness.add(self._end, READ)
        os.close(self._ending)

    # -----------------------------------------------------------------------------------------
    # In a thread

    def _work(self) -> None:
        listener, connections = self._listener.fileno(), self._connections
        receiver = -1 if self._sharing is None else self._sharing.receiver.fileno()
        while True:
            ready = self.readiness.wait()
            if ready is None:
                continue
            descriptor, what = ready
            if descriptor == self._end:
                # For the next thread.
                self.readiness.arm(self._end, READ)
                return
            connection = connections.get(descriptor)
            try:
                if connection is not None:
                    connection.work(what)
                elif descriptor == listener:
                    self._accept()
                elif descriptor == receiver:
                    self._receive()
            except Exception as error:
                LOG.error("a connection failed", exc_info=error)
                if connection is not None:
                    _end(connection.lose)

    def _accept(self) -> None:
        with self._accepts:
            if self.is_stopping:
                return
            # Until it is armed again. Whatever goes wrong, the next sweep does that.
            self._is_full = True
            self._is_full = not self._accept_some(ACCEPTED_AT_ONCE)
            if not self._is_full:
                self.readiness.arm(self._listener.fileno(), READ)

    def _accept_some(self, count_max: int) -> bool:
        """Whether there may be more."""
        for _ in range(count_max):
            if len(self._connections) >= self._connections_max:
                return False
            try:
                accepted, address = self._listener.accept()
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno in _NEXT_CONNECTION:
                    continue
                # There are no more files, or no memory.
                return False
            if self._sharing is None or not self._sharing.hand_over(
                accepted, len(self._connections)
            ):
                self._add(accepted, address)
        return True

    def _receive(self) -> None:
        """Take what other servers have handed over."""
        assert self._sharing is not None
        with self._accepts:
            for accepted in self._sharing.receive():
                try:
                    address = accepted.getpeername()
                except OSError:
                    # The client is gone.
                    accepted.close()
                    continue
                self._add(accepted, address)
            self.readiness.arm(self._sharing.receiver.fileno(), READ)

    def _accept_again(self) -> None:
        """Go on after it was full."""
        with self._accepts:
            if self._is_full and not self.is_stopping:
                self._is_full = False
                self.readiness.arm(self._listener.fileno(), READ)

    def _add(self, accepted: socket.socket, address: Any) -> None:
        accepted.setblocking(False)
        try:
            connection = Connection(self, accepted, (str(address[0]), str(address[1])))
        except OSError:
            accepted.close()
            return
        self._connections[accepted.fileno()] = connection
        self._note_count()
        try:
            self.readiness.add(accepted.fileno(), READ)
        except OSError:
            connection.lose()

    def begin(self, exchange: HttpExchange) -> None:
        """Answer a request in this thread, if the application takes it, or on the event loop."""
        scope = exchange.take_scope()
        try:
            if self._application.begin(scope, exchange.receive, exchange.send):
                return
        except Exception as error:
            LOG.error("a request could not be begun", exc_info=error)
            exchange.fail()
            return
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._await, exchange, scope)
        except RuntimeError:
            # The event loop has ended, and the process will.
            exchange.fail()

    def forget(self, descriptor: int) -> None:
        """Called before the descriptor is closed: another connection may have it at once."""
        del self._connections[descriptor]
        self._note_count()
        # It is not there if it could not be added.
        with suppress(OSError):
            self.readiness.remove(descriptor)
        if self._is_full:
            self._accept_again()

    def _note_count(self) -> None:
        if self._sharing is not None and not self.is_stopping:
            self._sharing.note(len(self._connections))

    # -----------------------------------------------------------------------------------------
    # On the event loop

    def _await(self, exchange: HttpExchange, scope: Scope) -> None:
        assert self._loop is not None
        task = self._loop.create_task(self._answer(exchange, scope))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, exchange: HttpExchange, scope: Scope) -> None:
        try:
            await self._application(scope, exchange.receive, exchange.send)
        except Exception as error:
            LOG.error("a request failed", exc_info=error)
        finally:
            # Nothing happens if it was answered.
            exchange.fail()

    def _sweep(self) -> None:
        now = time.monotonic()
        for connection in list(self._connections.values()):
            _end(functools.partial(connection.end_if_late, now))

    async def _stop(self) -> None:
        """Accept nothing any more, and wait until all requests have been answered."""
        with self._accepts:
            self.is_stopping = True
            if self._sharing is not None:
                self._sharing.leave()
            self.readiness.remove(self._listener.fileno())
            # Those that came in time.
            self._accept_some(self._connections_max)
            self._listener.close()
        while True:
            if self._sharing is not None:
                # They may still be on their way.
                self._receive()
            if not self._connections:
                break
            for connection in list(self._connections.values()):
                connection.stop_if_idle()
            self._sweep()
            await asyncio.sleep(STOP_SWEEP_SECONDS)


def _end(end: Callable[[], None]) -> None:
    """End one connection, whose mistakes are no concern of the others."""
    try:
        end()
    except Exception as error:
        LOG.error("a connection could not be ended", exc_info=error)


def _start_thread(work: Callable[[], None], name: str) -> None:
    threading.Thread(target=work, name=name, daemon=True).start()
