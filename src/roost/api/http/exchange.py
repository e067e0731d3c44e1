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


class Exchange:
    """One request and its answer."""

    def __init__(self, hold_pieces: Callable[[int | None], None]) -> None:
        # The application asks before it answers in pieces, of so many bytes together if that is
        # known: the server holds what they are made from for as long as the client reads. Raises
        # `TooManyLongAnswers`.
        self.hold_pieces = hold_pieces
        self.watch: Watch | None = None  # set by the application: the body of the answer
