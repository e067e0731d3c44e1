"""The requests of the front, from their beginning to their end."""

import asyncio
from collections import deque
from contextlib import suppress
from contextvars import Context
from typing import Any

from roost.api.http.messages import Environ
from roost.server.environ import Scope, make_environ
from roost.server.request_body import Receive
from roost.server.wsgi_call import Send

# How long finished requests wait for each other.
SWEEP_SECONDS = 0.02


class FrontRequest:
    """A request with its body, and where its answer goes."""

    __slots__ = ("_body", "context", "environ", "path", "receive", "scope", "send")

    def __init__(
        self,
        environ: Environ,
        path: str,
        context: Context,
        receive: Receive,
        send: Send,
        scope: Scope,
    ) -> None:
        self.environ = environ
        self.path = path
        self.context = context
        self.receive = receive
        self.send = send
        self.scope = scope
        self._body = environ["wsgi.input"]

    def again(self) -> "FrontRequest":
        """The same, as it was before somebody changed the environment and read the body."""
        environ = make_environ(self.scope)
        environ["wsgi.input"] = self._body
        self._body.seek(0)
        return FrontRequest(environ, self.path, self.context, self.receive, self.send, self.scope)


class FinishedRequests:
    """Ends the coroutines of requests that were answered by a thread, several at a time.

    To wake up the event loop for each takes as long as a small request.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._done: deque[asyncio.Future[Any]] = deque()
        self._is_due = False

    def add(self, done: "asyncio.Future[Any]") -> None:
        self._done.append(done)
        if not self._is_due:
            self._is_due = True
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._loop.call_later, SWEEP_SECONDS, self._sweep)

    def _sweep(self) -> None:
        # First: what is added from now on asks for another sweep.
        self._is_due = False
        while self._done:
            self._done.popleft().set_result(None)
