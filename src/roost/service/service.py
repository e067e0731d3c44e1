"""Roost: the store and its index, opened once, and caught up before every answer."""

import gc
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Event, Lock
from typing import TypeVar

from roost.observe import metrics
from roost.search.index.advance import advance, is_next
from roost.search.index.index import Index
from roost.service import memory
from roost.service.event_waiters import EventWaiters
from roost.settings import Settings
from roost.store.feed.positions import FeedPosition
from roost.store.store import RETRY_COUNT_DEFAULT, Store
from roost.store.transaction import Transaction

LOG = logging.getLogger(__name__)

# A proposal from an index that is older than this would too often be wrong.
GLANCE_SECONDS_MAX = 0.02

# Most searches take less; who would have to wait for a longer one goes another way.
WAIT_SECONDS_MAX = 0.01

# How long a provider is taken for one that several want at once.
CONTENDED_SECONDS = 1.0
CONTENDED_MAX = 10_000
# Providers share queues, more of them than threads.
QUEUES = 64

Result = TypeVar("Result")


class Roost:
    """What an operation works on. One for each process; any number of threads may use it."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        prepare: Callable[[], None] | None = None,
        stopping: Event | None = None,
    ) -> None:
        """`stopping` is set by whoever knows that the process is about to end."""
        self.store = store
        self.settings = settings
        self.waiters = EventWaiters(store, settings.event_streams_max, stopping or Event())
        self._prepare = prepare  # what is left to do before the service can be used
        self._preparing = Lock()
        self._following = Lock()  # one thread at a time asks the feed; others read meanwhile
        self._still = Lock()  # held while the index is read, and while it moves
        self._index: Index | None = None
        self._position: FeedPosition = {}
        self._begun = 0  # how often catching up has begun
        self._done = 0  # the last of these that is done
        self._seen = 0.0  # when the feed was last asked
        self._queues = [Lock() for _ in range(QUEUES)]
        self._contended: dict[str, float] = {}  # provider UUID -> when a race for it was lost
        self._gauges: metrics.IndexGauges | None = None  # once there is an index

    def open(self) -> None:
        """Make the database ready, once; raises, to be called again, while that cannot be done."""
        if self._prepare is None:
            return
        # Threads that come at the same time wait for the first.
        with self._preparing:
            if self._prepare is not None:
                self._prepare()
                self._prepare = None

    @contextmanager
    def view(self) -> Iterator[Index]:
        """The index as of now, and still while it is being read.

        Everything that was acknowledged before the call, by any process, is in it.
        """
        self.follow()
        with self._still:
            assert self._index is not None
            yield self._index

    @property
    def position(self) -> FeedPosition:
        """How far the index has come; of the very index that is viewed, while it is."""
        return self._position

    def follow(self) -> None:
        """Let everything that was acknowledged before the call be in the index."""
        arrived = self._begun
        with self._following:
            # Who waited here may find that another thread has begun after it came, and is done.
            if self._done <= arrived:
                self._begun += 1
                self._catch_up()
                self._done = self._begun

    @contextmanager
    def glance(self, *, lately: bool) -> Iterator[Index | None]:
        """The index as it is, still while it is being read, or None if it cannot be had soon.

        Others may have written since. Good for a proposal that a transaction decides on. With
        `lately` the index at least catches up if it did not do so for a while.
        """
        if (
            lately
            and self._index is not None
            and time.monotonic() - self._seen > GLANCE_SECONDS_MAX
        ):
            self.follow()
        if not self._still.acquire(timeout=WAIT_SECONDS_MAX):
            yield None
            return
        try:
            yield self._index
        finally:
            self._still.release()

    def contend(self, provider_uuids: Iterable[str]) -> None:
        """Somebody lost a race for one of these providers."""
        if len(self._contended) > CONTENDED_MAX:
            self._contended.clear()
        self._contended.update(dict.fromkeys(provider_uuids, time.monotonic()))

    def contended(self, provider_uuids: Iterable[str]) -> bool:
        """Whether somebody lately lost a race for one of these providers."""
        return bool(self._contended_of(provider_uuids))

    def _contended_of(self, provider_uuids: Iterable[str]) -> list[str]:
        earliest = time.monotonic() - CONTENDED_SECONDS
        return [uuid for uuid in provider_uuids if self._contended.get(uuid, 0.0) > earliest]

    @contextmanager
    def queue(self, provider_uuids: Iterable[str]) -> Iterator[None]:
        """Threads that want the same contended providers come one after the other.

        They would wait for each other in the database too, with a transaction and a connection
        each, and most of them in vain.
        """
        numbers = {hash(uuid) % len(self._queues) for uuid in self._contended_of(provider_uuids)}
        with ExitStack() as held:
            # All in the same order, so that nobody waits in a circle.
            for number in sorted(numbers):
                held.enter_context(self._queues[number])
            yield

    def run(
        self, unit: Callable[[Transaction], Result], *, retry_count: int = RETRY_COUNT_DEFAULT
    ) -> Result:
        """Run a unit of work in a transaction, as often as it takes; see `Store.run`."""
        result = self.store.run(unit, retry_count=retry_count)
        # The index learns of it now, unless a thread is at work that will see to it, or one that
        # takes long; then before it is next read.
        if self._following.acquire(blocking=False):
            try:
                self._follow_own(WAIT_SECONDS_MAX)
            finally:
                self._following.release()
        return result

    def _follow_own(self, wait_seconds: float = -1) -> None:
        """Take over what this process wrote itself, from memory; -1 waits as long as it takes."""
        if self._index is None:
            return
        while (news := self.store.own_changes(self._position)) is not None:
            position, changes = news
            if not self._still.acquire(timeout=wait_seconds):
                return
            try:
                # What others wrote in between must come first.
                if not is_next(self._index, changes):
                    return
                advance(self._index, changes)
                self._position = position
            finally:
                self._still.release()

    def _catch_up(self) -> None:
        self._seen = time.monotonic()
        self._follow_own()
        if self._index is not None:
            news = self.store.changes_since(self._position)
            if news is not None:
                position, changes = news
                seen = self._position
                with self._still:
                    if changes:
                        advance(self._index, changes)
                    self._position = position
                self._measure(self._index, seen)
                return
            LOG.warning("the change feed has moved on without this process: loading the index anew")
        (metrics.LOADED_FIRST if self._index is None else metrics.LOADED_ANEW).inc()
        with metrics.INDEX_LOAD_SECONDS.time():
            position, index = self._load()
        with self._still:
            self._index, self._position = index, position
        self._measure(index)

    def _measure(self, index: Index, seen: FeedPosition | None = None) -> None:
        """Tell how large the index is and how far it came; `seen` is where it was before."""
        if self._gauges is None:
            self._gauges = metrics.IndexGauges()
        self._gauges.caught_up.set(time.time())
        # Mostly nothing has happened, and then the very same position comes back.
        if seen is not self._position:
            self._gauges.providers.set(index.live_count)
            self._gauges.rows.set(index.rows.count)
            if seen is not None:
                news = (last - seen.get(writer, 0) for writer, last in self._position.items())
                metrics.INDEX_RECORDS.inc(sum(news))

    def _load(self) -> tuple[FeedPosition, Index]:
        # What is loaded stays. The garbage collector need not look at it while it comes in, nor
        # again and again later: with a large cloud that would stop requests for a second.
        gc.disable()
        try:
            position, rows = self.store.load()
            index = Index.build(rows)
            del rows
        finally:
            gc.enable()
        gc.freeze()
        memory.give_back()
        LOG.info("index loaded: %d providers", index.live_count)
        return position, index

    def close(self) -> None:
        self.waiters.stop()
        self.store.dispose()
