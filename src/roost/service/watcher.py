"""One client that waits for events, and what it is sent."""

import time
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from roost.model import Event, EventKind, Value
from roost.store.feed.positions import FeedPosition

# Proxies close a connection on which nothing is sent for long.
HEARTBEAT_SECONDS = 5.0

Deliver = Callable[[bytes | None], None]


class EventFilter(Value, frozen=True, kw_only=True):
    """Which events a client wants."""

    kinds: Collection[EventKind] = frozenset()  # empty: every kind
    tree: str | None = None  # only of the tree that this provider is in, by UUID


class WriteEvents(Value, frozen=True, kw_only=True):
    """The events of one write that pass a filter."""

    position: FeedPosition  # after the write
    events: tuple[Event, ...]


class Renderer(Protocol):
    """Makes the bytes for watchers of one sort.

    One renderer serves all of them for one piece of news, and makes the bytes of an event once.
    """

    ends_with_events: bool  # whether a watcher ends after the first events that it is told

    def events(self, found: Sequence[WriteEvents], position: FeedPosition) -> bytes:
        """These events; after them the watcher is at this position."""

    def heartbeat(self, position: FeedPosition) -> bytes | None:
        """A sign that the connection still works; None: nothing is sent."""

    def reset(self, position: FeedPosition) -> bytes | None:
        """The events until this position are lost; None: the watcher ends."""

    def end(self, position: FeedPosition) -> bytes | None:
        """The last bytes of a watcher that was at this position."""


class Renderers(dict[Callable[[], Renderer], Renderer]):
    """The renderers of one piece of news, each made when the first watcher needs it."""

    def __missing__(self, kind: Callable[[], Renderer]) -> Renderer:
        made = self[kind] = kind()
        return made


class Watcher:
    """A client that waits. It holds a place among the watchers of the process until it is over.

    `start` and `stop` are for the client's connection, everything else for the hub.
    """

    def __init__(
        self,
        *,
        position: FeedPosition,
        event_filter: EventFilter,
        seconds: float,
        renderer: Callable[[], Renderer],
        greeting: bytes | None,
        join: Callable[["Watcher"], None],
        leave: Callable[[], None],
    ) -> None:
        self.position = position  # where it starts
        self.event_filter = event_filter
        self.renderer = renderer
        self.is_over = False
        self.ends_at = self.heartbeat_at = 0.0
        self._seconds = seconds
        self._greeting = greeting
        self._join = join
        # A server may drop a response without starting or stopping it.
        self._leave = weakref.finalize(self, leave)

    def start(self, deliver: Deliver) -> None:
        now = time.monotonic()
        self._deliver = deliver
        self.ends_at = now + self._seconds
        self.heartbeat_at = now + HEARTBEAT_SECONDS
        if self._greeting is not None:
            deliver(self._greeting)
        self._join(self)

    def stop(self) -> None:
        """End without another word."""
        self.is_over = True
        self._leave()

    def send(self, piece: bytes) -> None:
        if not self.is_over:
            self.heartbeat_at = time.monotonic() + HEARTBEAT_SECONDS
            self._deliver(piece)

    def end(self, piece: bytes | None) -> None:
        if not self.is_over:
            self.stop()
            if piece is not None:
                self._deliver(piece)
            self._deliver(None)
