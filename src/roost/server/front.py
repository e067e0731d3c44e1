"""The front of `roost serve`: an ASGI application that runs the WSGI application in threads.

It reads bodies and sends answers on the event loop, so that only the work of the application takes
a thread. Most requests do not need the event loop: their body, if they have one, is here already,
and their answer is short. The thread of the server answers them itself, or hands them to a thread
of the application if it is needed for other requests.

Without the front, under another WSGI server, the same application runs with threads alone.
"""

import asyncio
import functools
import gc
import io
import logging
import sys
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context
from typing import Any

from roost.api import probes
from roost.api.application import open_paths
from roost.api.http.exchange import Waiting
from roost.api.http.messages import Application, Environ
from roost.api.http.request_middleware import has_prefix
from roost.api.routes import bounds
from roost.console import paths as console_paths
from roost.server import turns
from roost.server.answer import BegunPieces, Stream, begin_pieces, until_gone
from roost.server.environ import Scope, make_environ
from roost.server.front_request import FinishedRequests, FrontRequest
from roost.server.lanes import Lanes
from roost.server.long_answers import LongAnswers
from roost.server.request_body import (
    ArrivingBodies,
    BodyReader,
    Disconnected,
    Receive,
    comes_at_once,
    has_body,
)
from roost.server.wsgi_call import PiecesRoom, Send, WsgiCall
from roost.settings import Settings

LOG = logging.getLogger(__name__)

# How long a thread may keep the interpreter while others want it. A request waits for it several
# times, so Python's default of 5 ms adds up.
SWITCH_SECONDS = 0.0005
# Keystone's middleware knows both names.
_TOKEN, _OTHER_TOKEN = "HTTP_X_AUTH_TOKEN", "HTTP_X_STORAGE_TOKEN"


# Annotations of functions within functions are evaluated for each request.
Body = bytes | Receive
MaybeStream = Stream | None


class Front:
    """What a worker process serves with its `HttpServer`, until `stopping` is set."""

    def __init__(
        self,
        application: Application,
        settings: Settings,
        *,
        threads: int,
        stopping: threading.Event,
    ) -> None:
        self._application = application
        self._settings = settings
        self._threads = threads
        self._stopping = stopping
        self._running: _Running | None = None
        # Of the server. One more than may answer requests, which hands others over meanwhile.
        self.server_threads = threads + 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._running is None:
            self._running = _Running(self._application, self._settings, self._threads)
            self._running.long_answers.watch_for(self._stopping)
        await self._running.answer(scope, receive, send)

    def begin(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Take a request in the thread of the server; False: it must be awaited instead.

        To wake up the event loop takes as long as a small request. Does not raise.
        """
        return self._running is not None and self._running.begin(scope, receive, send)


class _Running:
    """The front once its event loop runs."""

    def __init__(self, application: Application, settings: Settings, threads: int) -> None:
        self._application = application
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._open_paths = open_paths(settings)
        self._bodies = BodyReader(settings.body_seconds_max)
        self._arriving = ArrivingBodies(self._loop)
        self._lanes = Lanes(threads, "requests", guests_max=threads)
        # Probes are answered while all other threads are busy; one that asks the database must not
        # keep the other waiting.
        self._alive = Lanes(1, "livez")
        self._probes = Lanes(1, "probes")
        self._finished = FinishedRequests(self._loop)
        self._room = PiecesRoom()
        self.long_answers = LongAnswers(self._loop, self._lanes)
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_frozen = False
        sys.setswitchinterval(SWITCH_SECONDS)

    # -----------------------------------------------------------------------------------------
    # A request

    def begin(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answer a request in a thread of the server, or in another one; False if it has to be
        awaited: the event loop reads bodies that are large.
        """
        environ = make_environ(scope)
        path = self._path(environ)
        if not has_body(environ):
            environ["wsgi.input"] = io.BytesIO()
            self._work(FrontRequest(environ, path, Context(), receive, send, scope))
            return True
        if not (comes_at_once(environ) and self._reads_body(environ, path)):
            return False

        def take(body: Body) -> None:
            # Whoever calls it may not care whether it fails.
            try:
                if isinstance(body, bytes):
                    environ["wsgi.input"] = io.BytesIO(body)
                    self._work(FrontRequest(environ, path, Context(), receive, send, scope))
                else:
                    self._loop.call_soon_threadsafe(
                        self._keep, scope, self.answer, scope, body, send
                    )
            except Exception as error:
                _give_up(scope, error)

        self._arriving.read(receive, int(environ["CONTENT_LENGTH"]), take)
        return True

    def _work(self, request: FrontRequest) -> None:
        """Answer a request in this thread as a guest, or let another one do it."""
        call = WsgiCall(request.environ, self._room)
        sender, may_take_long = self._kind(request)
        lanes = self._lane(request.path)
        place = lanes.enter(sender, may_take_long=may_take_long)
        if place is None:
            work, then = self._steps(call, functools.partial(self._finish, request, call))
            lanes.add(work, request.context, then, sender=sender, may_take_long=may_take_long)
            return
        try:
            work_now = functools.partial(self._call, call)
            self._finish(request, call, lanes.work_as_guest(place, work_now, request.context))
        finally:
            lanes.leave(place)

    def _finish(self, request: FrontRequest, call: WsgiCall, stream: Stream | None) -> None:
        try:
            self._send(request, call, stream)
        except Exception as error:
            _give_up(request.scope, error)

    def _send(self, request: FrontRequest, call: WsgiCall, stream: Stream | None) -> None:
        """Send an answer that is short, or that its client takes; others need the event loop."""
        begun = None
        if stream is None and call.waiting is None:
            if call.is_short:
                self._send_at_once(call, request.send)
                return
            begun = begin_pieces(request.send, call, request.context)
            if begun is None:
                call.close()
                return
        self._loop.call_soon_threadsafe(
            self._keep, request.scope, self._send_rest, request, call, stream, begun
        )

    def _keep(
        self, scope: Scope, run: Callable[..., Coroutine[Any, Any, None]], *more: Any
    ) -> None:
        """Run a coroutine on the event loop, which does not keep its tasks itself."""

        def end(task: "asyncio.Task[None]") -> None:
            self._tasks.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                _give_up(scope, error)

        task = self._loop.create_task(run(*more))
        self._tasks.add(task)
        task.add_done_callback(end)

    async def _send_rest(
        self,
        request: FrontRequest,
        call: WsgiCall,
        stream: Stream | None,
        begun: BegunPieces | None,
    ) -> None:
        await self.long_answers.send(request, call, stream, begun)
        await self._wait_and_repeat(request, call.waiting)

    def _path(self, environ: Environ) -> str:
        """The path without the prefix at which the API is served."""
        path: str = environ["PATH_INFO"]
        prefix = self._settings.url_prefix
        return path.removeprefix(prefix) if prefix and has_prefix(path, prefix) else path

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        environ = make_environ(scope)
        path = self._path(environ)
        held = 0
        environ["wsgi.input"] = io.BytesIO()
        if has_body(environ) and self._reads_body(environ, path):
            bytes_max = bounds.body_bytes_max(environ["REQUEST_METHOD"], path, self._settings)
            try:
                environ["wsgi.input"], held = await self._bodies.read(environ, receive, bytes_max)
            except Disconnected:
                return
        request = FrontRequest(environ, path, Context(), receive, send, scope)
        try:
            await self._wait_and_repeat(request, await self._answer(request))
        finally:
            self._bodies.release(held)

    async def _wait_and_repeat(self, request: FrontRequest, waiting: Waiting | None) -> None:
        """Try the request again each time that what it waits for is over."""
        while waiting is not None:
            if not await self._is_over(waiting, request.receive):
                return
            waiting = await self._answer(request.again())

    def _reads_body(self, environ: Environ, path: str) -> bool:
        if path in self._open_paths:
            return path == console_paths.TOKEN
        # Without a token, the application refuses a request whatever its body is.
        return _token(environ) is not None

    async def _answer(self, request: FrontRequest) -> Waiting | None:
        """Answer a request, or say for what it has to wait before it is tried again."""
        call = WsgiCall(request.environ, self._room)
        done: asyncio.Future[Stream | None] = self._loop.create_future()

        def then(stream: MaybeStream) -> None:
            if stream is None and call.waiting is None and call.is_short:
                self._send_at_once(call, request.send)
                self._finished.add(done)
            else:
                self._loop.call_soon_threadsafe(done.set_result, stream)

        self._add(request, call, then)
        await self.long_answers.send(request, call, await done)
        return call.waiting

    def _add(
        self, request: FrontRequest, call: WsgiCall, then: Callable[[Stream | None], None]
    ) -> None:
        """Let a thread call the application, and then do what follows."""
        work, follow = self._steps(call, then)
        sender, may_take_long = self._kind(request)
        self._lane(request.path).add(
            work, request.context, follow, sender=sender, may_take_long=may_take_long
        )

    def _kind(self, request: FrontRequest) -> tuple[turns.Sender, bool]:
        """Whose request it is, and whether it may take long."""
        environ = request.environ
        return (
            turns.Sender(environ["REMOTE_ADDR"], _token(environ)),
            bounds.may_take_long(environ["REQUEST_METHOD"], request.path),
        )

    def _steps(
        self, call: WsgiCall, then: Callable[[Stream | None], None]
    ) -> tuple[turns.Work, turns.Work]:
        """What calls the application, and what follows outside of the request's context."""
        streams: list[Stream | None] = []
        return lambda: streams.append(self._call(call)), lambda: then(streams[0])

    def _call(self, call: WsgiCall) -> Stream | None:
        """Let the application answer. If the answer watches, its stream has begun."""
        call.run(self._application)
        return None if call.watch is None else self.long_answers.begin_stream(call)

    async def _is_over(self, waiting: Waiting, receive: Receive) -> bool:
        """Wait without a thread; whether the client is still there."""
        over = self._loop.create_future()

        def wake() -> None:
            # The event loop may have ended, and the process will.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_set_result, over)

        gone = asyncio.ensure_future(until_gone(receive))
        try:
            waiting.start(wake)
            await asyncio.wait({over, gone}, return_when=asyncio.FIRST_COMPLETED)
            return not gone.done()
        finally:
            waiting.stop()
            gone.cancel()

    def _lane(self, path: str) -> Lanes:
        if path == probes.LIVEZ:
            return self._alive
        return self._probes if path in probes.OPEN_PATHS else self._lanes

    def _send_at_once(self, call: WsgiCall, send: Send) -> None:
        send(call.start_message())
        send({"type": "http.response.body", "body": call.body})
        if not self._is_frozen:
            self._freeze()

    def _freeze(self) -> None:
        """Take what the application consists of out of the garbage collection.

        It lives as long as the process, and looking through all of it takes longer than a request.
        """
        self._is_frozen = True
        gc.freeze()


def _give_up(scope: Scope, error: BaseException) -> None:
    """Let the server answer, if nothing was answered yet, or end the connection."""
    LOG.error("a request failed", exc_info=error)
    scope["fail"]()


def _set_result(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def _token(environ: Environ) -> str | None:
    token: str | None = environ.get(_TOKEN)
    return environ.get(_OTHER_TOKEN) if token is None else token
