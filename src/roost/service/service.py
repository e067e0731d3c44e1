"""Roost: the store and its index, opened once, and caught up before every answer."""

import ctypes
import gc
import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from threading import Event, Lock
from typing import Any, TypeVar

from roost.changes import Changes
from roost.errors import RoostError
from roost.observe import metrics
from roost.progress import SILENT, Progress
from roost.search.budget import Budget
from roost.search.index.advance import is_next
from roost.search.index.index import Index
from roost.service.claim_queue import ClaimQueue
from roost.service.contention import Contention
from roost.service.event_hub import EventHub
from roost.service.holds import NOTICE_SECONDS, Holds
from roost.service.search_time import SearchTime
from roost.service.shared_index import SharedIndex
from roost.settings import Settings
from roost.store.change_record import ChangeRecord
from roost.store.feed.positions import FeedPosition
from roost.store.store import RETRY_COUNT_DEFAULT, Store
from roost.store.tables.new_claims import NewClaims
from roost.store.transaction import Transaction

LOG = logging.getLogger(__name__)

# How often the gauges say that nothing is new. The index catches up before each answer.
MEASURE_SECONDS = 0.1
# Decisions based on an index older than this would fail too often.
RECENT_SECONDS_MAX = 0.02

# How many records of its own writes the index may lack.
OWN_NEWS_MAX = 64

Result = TypeVar("Result")

# Opens a progress, which is shown until the block ends.
ShowProgress = Callable[[], AbstractContextManager[Progress]]


def show_nothing() -> AbstractContextManager[Progress]:
    return nullcontext(SILENT)


class Roost:
    """What operations work on. A process has one; any number of threads may use it."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        prepare: Callable[[], None] | None = None,
        stopping: Event | None = None,
        show_progress: ShowProgress = show_nothing,
    ) -> None:
        """`prepare` makes the database ready; `open` calls it until it succeeds once.

        The server sets `stopping` when the process is about to end. `show_progress` shows how far a
        load of the index has come.
        """
        self.store = store
        self.settings = settings
        self.contention = Contention()
        # Claims of new consumers that go into one transaction; and the turn of a large one.
        self.claim_queue: ClaimQueue[Any, Any] = ClaimQueue()
        self.large_claims = Lock()
        stopping = stopping or Event()
        self.event_hub = EventHub(store, settings.event_streams_max, stopping)
        self.holds = Holds(self.catch_up, stopping)
        self._prepare = prepare
        self._show_progress = show_progress
        self._prepare_lock = Lock()
        # One thread at a time reads the change feed and changes the index; other threads read
        # snapshots of it meanwhile.
        self._catch_up_lock = Lock()
        self._index = SharedIndex()
        self._catch_ups_started = 0
        self._catch_ups_finished = 0
        self._feed_read_at = 0.0  # when it was begun to be read, and may not have been applied
        self._caught_up_with = 0.0  # everything that was written before this is applied
        self._gauges: metrics.IndexGauges | None = None  # made with the first index
        self._measured_at = 0.0
        self._measured_counts = -1, -1  # of providers and rows

    def open(self) -> None:
        """Make the database ready, once. Raises while that fails; the caller may try again."""
        if self._prepare is None:
            return
        # Threads that arrive at the same time wait for the first one.
        with self._prepare_lock:
            if self._prepare is not None:
                self._prepare()
                self._prepare = None

    def close(self) -> None:
        self.event_hub.stop()
        self.store.dispose()

    # -----------------------------------------------------------------------------------------
    # Reading the index

    def current_index(self) -> Index:
        """A snapshot with everything that any process acknowledged before the call.

        It never changes. It should not be kept for longer than one request: writers copy what they
        change as long as somebody has it.
        """
        self.catch_up()
        # None if another thread has just failed to change the index.
        while (index := self._index.snapshot()) is None:
            self.catch_up()
        return index

    def recent_index(self, *, allow_stale: bool) -> Index | None:
        """A snapshot, possibly without the latest writes; None before the index was loaded.

        The caller must verify what it decides from it: in a transaction, by the generations of
        providers. Without `allow_stale` the index catches up first, unless it has just done so and
        no sibling shows that it wrote since then.
        It always catches up with providers that this process itself deleted: an old SQLite file
        gives the id of a deleted provider to the next one, which no generation shows.
        """
        if not allow_stale:
            self._follow()
        index = self._index.snapshot()
        # The index itself may be ahead of the snapshot that is given out.
        if index is not None and self.store.has_deleted_since(index.position):
            # Nobody reads it any more, so nothing is copied for it.
            del index
            self.catch_up()
            index = self._index.snapshot()
        return index

    def read_recent(self, read: Callable[[Index], Result]) -> Result | None:
        """What a small read of the index gives, possibly without the latest writes.

        As `recent_index` that is not stale, without the cost of a snapshot. `read` must keep
        nothing of the index, and take no longer than a moment.
        """
        self._follow()
        return self._index.read_now(read)

    def _follow(self) -> None:
        """Apply all that is known in memory, and all else unless that was done a moment ago."""
        index = self._index.live
        if index is None:
            return
        if self.store.count_own_news(index.position):
            self._apply_own_changes_if_free(patience_seconds=RECENT_SECONDS_MAX)
        is_old = time.monotonic() - self._feed_read_at > RECENT_SECONDS_MAX
        if is_old or self.store.has_shown_news(index.position):
            self.catch_up()

    def notice_holds(self) -> None:
        """Learn of trees that are held, unless that was done a moment ago.

        A process that has no index yet does not learn of them: claims must not wait for that.
        """
        is_old = time.monotonic() - self._caught_up_with > NOTICE_SECONDS
        if is_old and self._index.live is not None:
            self.catch_up()

    def as_stored(self, provider_uuid: str) -> str:
        """The UUID of a provider as it is stored, where the database finds it in upper case too.

        Placement and roost store it in lower case. So the index need not be up to date here, and a
        body may name many.
        """
        lower = provider_uuid.lower()
        if lower == provider_uuid or not self.store.ignores_case:
            return provider_uuid
        index = self.recent_index(allow_stale=True)
        is_stored = index is not None and provider_uuid in index.row_of_uuid
        return provider_uuid if is_stored else lower

    def search_budget(self) -> Budget:
        """What one search may do, from now on."""
        return Budget(SearchTime(self.settings.search_seconds_max).may_go_on)

    # -----------------------------------------------------------------------------------------
    # Writing

    def attempt(
        self, unit: Callable[[Transaction], Result], *, may_write_at_once: bool = False
    ) -> Result:
        """Run a unit of work once; see `Store.attempt`."""
        result = self.store.attempt(unit, may_write_at_once=may_write_at_once)
        self._apply_if_many()
        return result

    def write_at_once(self, claims: NewClaims, record: ChangeRecord) -> None:
        """Write claims of new consumers and commit them; see `Store.write_at_once`."""
        self.store.write_at_once(claims, record)
        # The next batch is judged by the index.
        self._apply_own_changes_if_free(patience_seconds=RECENT_SECONDS_MAX)

    def run(
        self, unit: Callable[[Transaction], Result], *, retry_count: int = RETRY_COUNT_DEFAULT
    ) -> Result:
        """Run a unit of work in a transaction until it succeeds; see `Store.run`."""
        result = self.store.run(unit, retry_count=retry_count)
        # Holds of trees begin and end in this way.
        self._apply_own_changes_if_free()
        return result

    def _apply_own_changes_if_free(self, patience_seconds: float = 0.0) -> None:
        """Bring a write of this process into the index, unless that means waiting longer than this.

        A thread that is catching up will apply it too, and so will the next one that reads.
        """
        if self._catch_up_lock.acquire(timeout=patience_seconds):
            try:
                self._apply_own_changes()
            finally:
                self._catch_up_lock.release()

    def _apply_if_many(self) -> None:
        """Catch up if this process has written much that the index lacks.

        Usually the next reader does, with all else that is new: together that is less work. But
        there may be none for long, and the feed keeps only so many records.
        """
        index = self._index.live
        if index is not None and self.store.count_own_news(index.position) > OWN_NEWS_MAX:
            # The write was a success, whatever happens now.
            with suppress(RoostError):
                self.catch_up()

    # -----------------------------------------------------------------------------------------
    # Catching up

    def catch_up(self) -> None:
        """Apply everything to the index that was acknowledged before the call."""
        started_before = self._catch_ups_started
        with self._catch_up_lock:
            # Another thread may have started to catch up after this one arrived, and finished
            # while this one waited. Then there is nothing left to do.
            if self._catch_ups_finished <= started_before:
                self._catch_ups_started += 1
                begun_at = time.monotonic()
                self._read_feed()
                self._caught_up_with = begun_at
                self._catch_ups_finished = self._catch_ups_started

    def _read_feed(self) -> None:
        self._feed_read_at = time.monotonic()
        index = self._index.live
        if index is not None:
            before = index.position
            news = self.store.changes_since(before)
            if news is not None:
                position, changes = news
                # Usually nobody wrote, and the store gives back the very same position.
                if position is not before:
                    self._advance(index, changes, position)
                self._measure(index, before)
                return
            LOG.warning("the change feed no longer reaches back to this process: reloading")
        (metrics.LOADED_FIRST if index is None else metrics.LOADED_ANEW).inc()
        with metrics.INDEX_LOAD_SECONDS.time(), self._show_progress() as progress:
            index = self._load(progress)
        LOG.info("index loaded: %d providers", index.live_count)
        self._index.replace(index)
        self._measure(index)

    def _apply_own_changes(self) -> None:
        """Apply what this process wrote, from memory."""
        index = self._index.live
        if index is None:
            return
        while True:
            for position, changes in self.store.own_changes(index.position):
                # Writes of other processes that came in between must be applied first.
                if is_next(index, changes):
                    self._advance(index, changes, position)
                    break
            else:
                return

    def _advance(self, index: Index, changes: Changes, position: FeedPosition) -> None:
        self._index.advance(changes, position)
        for id, root_id, seconds in changes.holds:
            row = index.row_of_id.get(root_id)
            if row is not None:
                members = [(index.ids[each], index.uuids[each]) for each in index.tree_rows(row)]
                self.holds.begin(
                    id, seconds=seconds, root_uuid=index.root_uuid(row), providers=members
                )
        if changes.ended_holds:
            self.holds.end(changes.ended_holds)

    def _load(self, progress: Progress) -> Index:
        # The index lives as long as the process. The garbage collector need not examine it while
        # it is loaded, nor later: with a large cloud each pass would stop requests for a second.
        gc.disable()
        try:
            position, rows = self.store.load(progress)
            progress.stage("building the index")
            index = Index.build(rows)
            index.position = position
            del rows
        finally:
            gc.enable()
        gc.freeze()
        release_free_memory()
        return index

    def _measure(self, index: Index, position_before: FeedPosition | None = None) -> None:
        now = time.time()
        if self._gauges is None:
            self._gauges = metrics.IndexGauges()
        has_news = position_before is not index.position
        if has_news or not 0 <= now - self._measured_at < MEASURE_SECONDS:
            self._gauges.caught_up.set(now)
            self._measured_at = now
        if has_news:
            counts = index.live_count, index.rows.count
            if counts != self._measured_counts:
                self._measured_counts = counts
                self._gauges.providers.set(counts[0])
                self._gauges.rows.set(counts[1])
            if position_before is not None:
                records = (
                    last - position_before.get(writer, 0) for writer, last in index.position.items()
                )
                metrics.INDEX_RECORDS.inc(sum(records))


def release_free_memory() -> None:
    """Return memory to the operating system that the C library keeps for later allocations.

    Only glibc keeps much of it, and only glibc has this function.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
