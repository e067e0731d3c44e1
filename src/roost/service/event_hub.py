"""The clients of this process that wait for events. One thread looks at the feed for all of them.

Clients at the same position form an audience, and what happened after it is read once for them. A
look takes every audience to the position that was polled, so all of them meet there, and from then
on are one. So nothing has to be compared when a client that was behind joins the others: each
audience is told exactly what lies between two positions.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from roost.errors import PositionGone, TooManyWatchers, Unavailable
from roost.observe import metrics
from roost.service.watcher import EventFilter, Renderer, Renderers, Watcher
from roost.store.feed.positions import FeedPosition
from roost.store.store import Store

LOG = logging.getLogger(__name__)

# The most that passes before the process notices a write of another process.
POLL_SECONDS = 0.2

# Between two polls, audiences that are behind are read to for so long.
CATCH_UP_SECONDS_MAX = 0.1

# How many clients of a process may wait if nothing is configured.
WATCHERS_MAX = 1000
WATCHERS_WITH_THREAD_MAX = 2  # where each occupies a thread that could answer requests

# Tells watchers at the first position what happened until the second. Gives back how far that
# went, because an old position takes several steps.
Tell = Callable[[Sequence[Watcher], FeedPosition, FeedPosition], FeedPosition]


class EventHub:
    """All watchers of a process, and the thread that serves them while there are any."""

    def __init__(self, store: Store, watchers_max: int | None, stopping: threading.Event) -> None:
        """`watchers_max` is None if it is not configured."""
        self._store = store
        self._watchers_max = watchers_max
        self._stopping = stopping
        self._lock = threading.Lock()  # guards what follows
        self._count = 0
        self._joined: list[Watcher] = []  # since the last look
        self._thread: threading.Thread | None = None

    def admit(
        self,
        tell: Tell,
        *,
        position: FeedPosition,
        event_filter: EventFilter,
        seconds: float,
        renderer: Callable[[], Renderer],
        greeting: bytes | None = None,
        takes_thread: bool,
    ) -> Watcher:
        """A new watcher that nobody has started yet; refuses one too many.

        `tell` is the same for all watchers of a hub.
        """
        most = self._watchers_max
        if most is None:
            most = WATCHERS_WITH_THREAD_MAX if takes_thread else WATCHERS_MAX
        with self._lock:
            if self._count >= most:
                raise TooManyWatchers()
            self._count += 1
        metrics.EVENT_WATCHERS.inc()
        return Watcher(
            position=position,
            event_filter=event_filter,
            seconds=seconds,
            renderer=renderer,
            greeting=greeting,
            join=lambda watcher: self._join(watcher, tell),
            leave=self._leave,
        )

    def stop(self) -> None:
        """End every watcher, and wait until the thread has ended."""
        self._stopping.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5)

    def _leave(self) -> None:
        with self._lock:
            self._count -= 1
        metrics.EVENT_WATCHERS.dec()

    def _join(self, watcher: Watcher, tell: Tell) -> None:
        with self._lock:
            self._joined.append(watcher)
            # After a fork, the thread of the parent process is not alive in its child.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._serve, args=(tell,), name="roost-events", daemon=True
                )
                self._thread.start()

    # -----------------------------------------------------------------------------------------
    # The thread

    def _serve(self, tell: Tell) -> None:
        audiences = Audiences(tell)
        while True:
            with self._lock:
                joined, self._joined = self._joined, []
                if not joined and not audiences:
                    self._thread = None
                    return
            # They are judged by a poll that comes after them. An earlier one could lack records
            # that they know.
            audiences.add(joined)
            if self._stopping.is_set():
                audiences.end()
                continue
            try:
                is_behind = audiences.advance(self._store.position())
                audiences.keep_alive()
            except Exception as error:
                _log_failure(error)
                audiences.end()
                continue
            self._stopping.wait(0 if is_behind else POLL_SECONDS)


def _log_failure(error: Exception) -> None:
    """Waiting clients have got their status, so they can only end.

    They come again from where they are, and get the error then, if there still is one.
    """
    is_expected = isinstance(error, Unavailable)
    LOG.warning("waiting clients are sent away: %s", error, exc_info=not is_expected)


class Audience:
    """Watchers at one position."""

    def __init__(self, position: FeedPosition) -> None:
        self.position = position
        self.watchers: list[Watcher] = []

    def __len__(self) -> int:
        return len(self.watchers)

    def end(self) -> None:
        renderers = Renderers()
        for watcher in self.watchers:
            watcher.end(renderers[watcher.renderer].end(self.position))

    def reset(self, newest: FeedPosition) -> None:
        """Go on at another position, because the records after this one are gone."""
        renderers = Renderers()
        for watcher in self.watchers:
            piece = renderers[watcher.renderer].reset(newest)
            if piece is None:
                watcher.end(renderers[watcher.renderer].end(self.position))
            else:
                watcher.send(piece)
        self.position = newest

    def keep_alive(self, now: float) -> None:
        renderers = Renderers()
        for watcher in self.watchers:
            if now >= watcher.ends_at:
                watcher.end(renderers[watcher.renderer].end(self.position))
            elif now >= watcher.heartbeat_at:
                piece = renderers[watcher.renderer].heartbeat(self.position)
                if piece is None:
                    watcher.heartbeat_at = watcher.ends_at
                else:
                    watcher.send(piece)
        self.watchers = [each for each in self.watchers if not each.is_over]


class Audiences:
    """The audiences by position. Only the thread of the hub uses them."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._audiences: dict[frozenset[tuple[int, int]], Audience] = {}

    def __len__(self) -> int:
        return len(self._audiences)

    def add(self, watchers: Iterable[Watcher]) -> None:
        for watcher in watchers:
            self._at(watcher.position).watchers.append(watcher)

    def _at(self, position: FeedPosition) -> Audience:
        key = _key(position)
        if key not in self._audiences:
            self._audiences[key] = Audience(position)
        return self._audiences[key]

    def end(self) -> None:
        for audience in self._audiences.values():
            audience.end()
        self._audiences.clear()

    def advance(self, newest: FeedPosition) -> bool:
        """Tell all audiences what happened until a position; whether any is still behind.

        Most watchers are up to date, and come first. Reading to the others is bounded, so that
        they delay nobody.
        """
        goal = _key(newest)
        until = time.monotonic() + CATCH_UP_SECONDS_MAX
        advanced: list[Audience] = []
        for key, audience in sorted(self._audiences.items(), key=lambda pair: -len(pair[1])):
            if key != goal and (not advanced or time.monotonic() < until):
                del self._audiences[key]
                self._advance(audience, newest)
                advanced.append(audience)
        # Only now, so that each is told one step at a time.
        for audience in advanced:
            if audience.watchers:
                self._at(audience.position).watchers += audience.watchers
        return any(key != goal for key in self._audiences)

    def _advance(self, audience: Audience, newest: FeedPosition) -> None:
        try:
            audience.position = self._tell(audience.watchers, audience.position, newest)
        except PositionGone:
            audience.reset(newest)
        except Exception as error:
            _log_failure(error)
            audience.end()
        audience.watchers = [each for each in audience.watchers if not each.is_over]

    def keep_alive(self) -> None:
        """Send heartbeats, end what has lasted long enough, and forget who is gone."""
        now = time.monotonic()
        for key, audience in list(self._audiences.items()):
            audience.keep_alive(now)
            if not audience.watchers:
                del self._audiences[key]


def _key(position: FeedPosition) -> frozenset[tuple[int, int]]:
    # Zero is where every writer begins, so it makes no difference whether it has an entry.
    return frozenset(pair for pair in position.items() if pair[1])
