"""The place of a request among those that are worked on at the same time."""

import time
from typing import Protocol

from roost.server.turns import NOBODY, Sender, Turns

# How much processor time makes a request a long one, and how much if others wait for its place.
LONG_SECONDS = 0.01
LONG_SECONDS_CROWDED = 0.002
# How long a long request goes on while others wait for their turn.
TURN_SECONDS = 0.02
# How long a long request rests, each time it is asked, while short ones are being worked on.
REST_SECONDS = 0.0002


class Places(Protocol):
    """All places, of which one is a request's."""

    turns: Turns  # of long requests

    @property
    def places(self) -> "tuple[Place, ...]":
        """Those of the requests that are not long, and free ones."""

    @property
    def has_short_requests(self) -> bool:
        """Whether any of them is being worked on."""

    @property
    def short_seconds_max(self) -> float:
        """How much processor time a request may have before it has to leave its place."""

    def go_long(self, place: "Place") -> None:
        """Leave the place to another thread, and take turns with other long requests."""

    def lend(self, place: "Place") -> None:
        """Leave the place to another thread if no other is free."""


class Place:
    """The place of one thread, of a guest, or of a long or late request beside the places."""

    def __init__(self, lanes: Places, *, is_guest: bool = False) -> None:
        self.is_guest = is_guest
        self.is_kept = True
        self.is_working = False
        self.is_long = False
        self.is_late = False
        self.is_lent = False
        self.has_turn = False
        self.may_take_long = False
        self.sender: Sender = NOBODY
        self.begun_at = 0.0
        self._lanes = lanes
        self._processor_begun = 0.0
        self._turn_begun = 0.0

    def begin(self, sender: Sender, *, may_take_long: bool) -> None:
        self._processor_begun = time.thread_time()
        self.begun_at = time.monotonic()
        self.may_take_long = may_take_long
        self.sender = sender
        self.is_working = True

    def give_way(self, until: float) -> None:
        if not self.is_long:
            used = time.thread_time() - self._processor_begun
            if not self.is_late and used < self._lanes.short_seconds_max:
                return
            self._lanes.go_long(self)
            self._take_turn(until, is_first=True)
        elif time.monotonic() - self._turn_begun > TURN_SECONDS and self._lanes.turns.is_awaited:
            if self.has_turn:
                self._lanes.turns.give_back()
            self._take_turn(until, is_first=False)
        if self._lanes.has_short_requests:
            # They get the interpreter at once instead of waiting until it is taken away.
            time.sleep(REST_SECONDS)

    def lend(self) -> None:
        self._lanes.lend(self)

    def rest(self) -> None:
        if any(place.is_working and place is not self for place in self._lanes.places):
            time.sleep(REST_SECONDS)

    def _take_turn(self, until: float, *, is_first: bool) -> None:
        self.has_turn = self._lanes.turns.take(until, is_first=is_first)
        self._turn_begun = time.monotonic()
