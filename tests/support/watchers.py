"""Watchers of events in this process, and what they are sent."""

import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from roost.api.handlers.events import AnswerRenderer, StreamRenderer
from roost.api.http.watch_pieces import WatchPieces
from roost.api.parsing.tokens import decode_position
from roost.operations.watching import watch_events
from roost.service.service import Roost
from roost.service.watcher import EventFilter
from roost.store.feed.positions import FeedPosition

ALL = EventFilter()


def await_events(
    roost: Roost, *, position: FeedPosition, event_filter: EventFilter, until: float
) -> tuple[FeedPosition, list[dict[str, Any]]]:
    """Wait for one answer, as a request with `wait` does: its position and its events."""
    watch = watch_events(
        roost,
        position=position,
        event_filter=event_filter,
        seconds=until - time.monotonic(),
        renderer=AnswerRenderer,
        takes_thread=True,
    )
    document = msgspec.json.decode(b"".join(WatchPieces(watch)))
    return decode_position(document["position"]), document["events"]


class Recorder:
    """A stream whose pieces are collected as they are delivered."""

    def __init__(
        self,
        roost: Roost,
        position: FeedPosition,
        event_filter: EventFilter = ALL,
        seconds: float = 60,
    ) -> None:
        self.event_filter = event_filter
        self.pieces: list[bytes] = []
        self.has_ended = threading.Event()
        self.watch = watch_events(
            roost,
            position=position,
            event_filter=event_filter,
            seconds=seconds,
            renderer=StreamRenderer,
            takes_thread=False,
        )

    def start(self) -> "Recorder":
        self.watch.start(self.deliver)
        return self

    def deliver(self, piece: bytes | None) -> None:
        if piece is None:
            self.has_ended.set()
        else:
            self.pieces.append(piece)

    def blocks(self) -> list[dict[str, str]]:
        """The fields of each block so far; a comment is a field without a name."""
        text = b"".join(self.pieces).decode()
        return [
            dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
            for block in text.split("\n\n")[:-1]
        ]

    def events(self) -> list[dict[str, Any]]:
        """The data of the events so far."""
        return [
            msgspec.json.decode(block["data"])
            for block in self.blocks()
            if block.get("event", "reset") != "reset"
        ]

    def names(self) -> list[str]:
        """The kinds of the events so far, a reset included."""
        return [block["event"] for block in self.blocks() if "event" in block]


def wait_until(is_so: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)
