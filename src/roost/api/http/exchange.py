"""What a server in front and the application tell each other about one request, beside WSGI."""

from collections.abc import Callable
from typing import Protocol

# Key of the WSGI environment. Only there if the server in front can wait without a thread.
EXCHANGE = "roost.exchange"

# What of a watch may wait for a client that does not read. With more, the watch is stopped: the
# client reconnects, and goes on at its last position.
UNREAD_BYTES_MAX = 1024 * 1024


class Watch(Protocol):
    """The rest of an answer, in pieces that come when something happens."""

    def start(self, deliver: Callable[[bytes | None], None]) -> None:
        """Begin. Another thread calls `deliver` with each piece, and with None at the end."""

    def stop(self) -> None:
        """End early, because the client is gone. May be called at any time, and repeatedly."""


class Waiting(Protocol):
    """Why a request cannot be answered yet."""

    def start(self, wake: Callable[[], None]) -> None:
        """Begin. Another thread calls `wake` when the request should be tried again."""

    def stop(self) -> None:
        """The request is tried again, or its client is gone. May be called repeatedly."""


class Postponed(BaseException):
    """The application cannot answer yet. The server calls it again, when `waiting` is over.

    It is no `Exception`: nothing on the way to the server may take it for a failure and answer.
    Raised only where there is an `Exchange`.
    """

    def __init__(self, waiting: Waiting) -> None:
        super().__init__()
        self.waiting = waiting


class Exchange:
    """One request and its answer."""

    def __init__(self, hold_pieces: Callable[[int | None], None]) -> None:
        # The application asks before it answers in pieces, of so many bytes together if that is
        # known: the server holds what they are made from for as long as the client reads. Raises
        # `TooManyLongAnswers`.
        self.hold_pieces = hold_pieces
        self.watch: Watch | None = None  # set by the application: the body of the answer
