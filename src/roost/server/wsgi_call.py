"""One call of the WSGI application, in a thread."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from roost.api.http import error_response
from roost.api.http.exchange import EXCHANGE, Exchange, Postponed, Waiting, Watch
from roost.api.http.messages import REQUEST_ID, Application, Environ
from roost.api.http.request_middleware import REQUEST_ID_HEADER
from roost.api.http_error import HttpError
from roost.errors import RoostError, TooManyLongAnswers

LOG = logging.getLogger(__name__)


class BrokenOff(Exception):
    """The rest of an answer cannot be made. The log says why."""


# Of all answers that are being sent in pieces, and what each counts at least.
PIECES_BYTES_MAX = 2**31
ANSWER_BYTES_MIN = 2**26

# Sends when it is called, in whatever thread. What it gives back is to be awaited if much waits for
# the client; otherwise it is None.
Send = Callable[[dict[str, Any]], Any]


class PiecesRoom:
    """What all answers in pieces of a process may have in memory, measured by their lengths.

    What the pieces are made from takes about a seventh of what they will be.
    """

    def __init__(self, bytes_max: int = PIECES_BYTES_MAX) -> None:
        self._bytes_free = bytes_max
        self._lock = threading.Lock()

    def take(self, length: int | None) -> int:
        """Make room for an answer; gives back how much, or raises `TooManyLongAnswers`."""
        count = max(length or 0, ANSWER_BYTES_MIN)
        with self._lock:
            if count > self._bytes_free:
                raise TooManyLongAnswers()
            self._bytes_free -= count
        return count

    def give_back(self, count: int) -> None:
        with self._lock:
            self._bytes_free += count


class WsgiCall:
    """What the application answers.

    `body` is the whole answer, unless `watch` or `pieces` has the rest of it. With `waiting`
    there is no answer yet.
    """

    def __init__(self, environ: Environ, room: PiecesRoom) -> None:
        self.status = 500
        self.headers: list[tuple[str, str]] = []
        self.body = b""
        self.pieces: Iterator[bytes] | None = None
        self.watch: Watch | None = None
        self.waiting: Waiting | None = None  # nothing is answered yet; try again when it is over
        self._environ = environ
        self._room = room
        self._bytes_held = 0
        self._written: list[bytes] = []
        self._answer: Iterable[bytes] = ()

    def run(self, application: Application) -> None:
        """Let the application answer, and take the answer if it is short."""
        exchange = self._environ[EXCHANGE] = Exchange(self._hold)
        try:
            self._answer = application(self._environ, self._start_response)
            if exchange.watch is not None:
                self.watch = exchange.watch
                self.close()
            elif isinstance(self._answer, list):
                self.body = b"".join([*self._written, *self._answer])
                self.close()
            else:
                self._begin_pieces(iter(self._answer))
        except Postponed as postponed:
            self.waiting = postponed.waiting
        except Exception as error:
            LOG.error("the application failed", exc_info=error)
            self.close()
            self._refuse(HttpError(500))
        finally:
            # It knows this call. Both would stay in memory until the garbage collector comes.
            del self._environ[EXCHANGE]

    def _refuse(self, error: HttpError) -> None:
        """Answer with this error instead."""
        self.watch = self.pieces = None
        answer = error_response.respond(error, self._environ, self._start_response)
        request_id = self._environ.get(REQUEST_ID)
        if request_id is not None:
            self.headers.append((REQUEST_ID_HEADER, request_id))
        self.body = b"".join(answer)

    def next_piece(self) -> bytes | None:
        """The next piece; None if there is none."""
        assert self.pieces is not None
        try:
            return next(self.pieces, None)
        except RoostError as error:
            LOG.warning("the answer breaks off: %s", error)
            raise BrokenOff from error
        except Exception as error:
            LOG.error("the answer breaks off", exc_info=error)
            raise BrokenOff from error

    def close(self) -> None:
        """Tell the application that its answer is no longer needed. May be called repeatedly."""
        close = getattr(self._answer, "close", None)
        self._answer = ()
        if close is not None:
            try:
                close()
            except Exception as error:
                LOG.error("an answer could not be closed", exc_info=error)
        held, self._bytes_held = self._bytes_held, 0
        if held:
            self._room.give_back(held)

    @property
    def media_type(self) -> str:
        found = [value for name, value in self.headers if name.lower() == "content-type"]
        return found[0] if found else ""

    @property
    def is_short(self) -> bool:
        """Whether `body` is the whole answer."""
        return self.watch is None and self.pieces is None

    def start_message(self) -> dict[str, Any]:
        headers = [
            (_NAMES.get(name) or name.lower().encode(), value.encode("latin-1", "replace"))
            for name, value in self.headers
        ]
        return {"type": "http.response.start", "status": self.status, "headers": headers}

    def _hold(self, length: int | None) -> None:
        self._bytes_held += self._room.take(length)

    def _begin_pieces(self, pieces: Iterator[bytes]) -> None:
        # Middleware hides short answers, and those without a body, in iterators of its own.
        self.body = b"".join(self._written) + next(pieces, b"")
        lengths = [value for name, value in self.headers if name.lower() == "content-length"]
        if not self.body or lengths == [str(len(self.body))]:
            self.close()
        else:
            self.pieces = pieces

    def _start_response(
        self, status: str, headers: list[tuple[str, str]], *_: Any
    ) -> Callable[[bytes], None]:
        self.status = int(status[:3])
        self.headers = headers
        return self._written.append


# The headers that most answers have.
_NAMES = {
    name: name.encode()
    for name in (
        *("cache-control", "content-length", "content-type", "last-modified"),
        *("openstack-api-version", "vary", REQUEST_ID_HEADER),
    )
}
