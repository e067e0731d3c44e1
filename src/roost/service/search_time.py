"""How long one search may take, and where it gives way to other requests."""

import contextlib
import time
from contextvars import ContextVar
from typing import Protocol

from roost.errors import TooManyLongRequests
from roost.observe import metrics


class Place(Protocol):
    """Where a request is worked on, for a server that lets long requests give way to others."""

    def give_way(self, until: float) -> None:
        """Let others go first, if they should, but no longer than the monotonic clock says `until`.

        May raise `TooManyLongRequests`.
        """

    def rest(self) -> None:
        """Let go of the interpreter for a moment if other requests are being worked on."""

    def lend(self) -> None:
        """Let another request be worked on meanwhile: this one waits for others like it."""


# Set by the server for each request. Without one, a long request just goes on.
PLACE: ContextVar[Place | None] = ContextVar("place", default=None)


# How long an answer that is being written waits for its turn.
_TURN_SECONDS_MAX = 1.0


def give_way() -> None:
    """Let others go first, if they should: for long work that is no search.

    It has begun to answer, so it goes on even where there are too many others like it.
    """
    place = PLACE.get()
    if place is not None:
        with contextlib.suppress(TooManyLongRequests):
            place.give_way(time.monotonic() + _TURN_SECONDS_MAX)
        # Each piece of an answer is work of its own, which `give_way` seldom takes for long.
        place.rest()


def lend_place() -> None:
    """Let others be worked on while this request waits; it goes on beside them."""
    place = PLACE.get()
    if place is not None:
        place.lend()


class SearchTime:
    """The time of one search. The search asks every millisecond or so whether it may go on."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self._place = PLACE.get()
        self._is_over = False

    def may_go_on(self) -> bool:
        if self._place is not None:
            self._place.give_way(self._deadline)
        if time.monotonic() < self._deadline:
            return True
        if not self._is_over:
            self._is_over = True
            metrics.SEARCHES_OUT_OF_TIME.inc()
        return False
