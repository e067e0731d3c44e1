"""Who claims next: what arrives while a transaction is on its way goes into the next one together.

A client alone never waits. The more clients claim at the same time, the more of them share a
transaction, and with it its statements, its change record and its COMMIT. The larger a batch, the
less each claim costs, so the one after a batch of several claims waits a moment for more.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from roost.service.search_time import lend_place

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

# How many claims one transaction has at most. The more there are, the longer the first one waits
# for the last one's rows.
BATCH_MAX = 64

# How long a transaction may take before claims no longer wait for it. It may wait for a lock that
# somebody keeps, which is no concern of the others: they go their own ways beside it.
PATIENCE_SECONDS = 0.25

# How long the leader of a batch waits for others, if the batch before it had several claims.
# Clients that were answered together come back together. A transaction takes longer.
GATHER_SECONDS = 0.0004


class BatchFailed(RuntimeError):
    """The work on a batch ended with an error that nobody expected."""


class _Entry(Generic[Item, Outcome]):
    """One item whose thread waits: until it is done, or is to do the next batch itself."""

    __slots__ = ("failure", "item", "leads", "outcome", "ready")

    def __init__(self, item: Item) -> None:
        self.item = item
        self.outcome: Outcome | None = None
        self.failure: BaseException | None = None
        self.leads = False
        self.ready = threading.Lock()
        self.ready.acquire()


class ClaimQueue(Generic[Item, Outcome]):
    """One thread at a time works, on all that has arrived by then. The others wait for it."""

    def __init__(
        self, *, batch_max: int = BATCH_MAX, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._batch_max = batch_max
        self._patience_seconds = patience_seconds
        self._lock = threading.Lock()
        self._is_working = False
        self._begun_at = 0.0  # when the batch began that is worked on
        self._last_count = 0  # how many claims the last batch had
        self._waiting: deque[_Entry[Item, Outcome]] = deque()

    def run(
        self, item: Item, work: Callable[[Sequence[Item]], Sequence[Outcome]]
    ) -> Outcome | None:
        """The outcome of an item; None if nobody worked on it, so that the caller has to.

        `work` is given one or more items, and returns an outcome for each. It must be the same for
        all callers.
        """
        entry: _Entry[Item, Outcome] = _Entry(item)
        with self._lock:
            if not self._is_working:
                self._is_working = entry.leads = True
                self._begun_at = time.monotonic()
            elif time.monotonic() - self._begun_at > self._patience_seconds:
                return None
            else:
                self._waiting.append(entry)
        if not entry.leads and not self._wait(entry):
            return None
        if entry.leads:
            self._lead(entry, work)
        elif entry.failure is not None:
            # It may have taken place, so the caller must not do it again.
            raise BatchFailed from entry.failure
        return entry.outcome

    def _wait(self, entry: _Entry[Item, Outcome]) -> bool:
        """Wait for an outcome or the lead; whether there is one."""
        lend_place()
        if not entry.ready.acquire(timeout=self._patience_seconds):
            with self._lock:
                if entry in self._waiting:
                    self._waiting.remove(entry)
                    return False
            # Somebody is working on it, or has just left the lead to this thread.
            entry.ready.acquire()
        return True

    def _lead(
        self,
        first: _Entry[Item, Outcome],
        work: Callable[[Sequence[Item]], Sequence[Outcome]],
    ) -> None:
        self._gather()
        batch = [first]
        with self._lock:
            while self._waiting and len(batch) < self._batch_max:
                batch.append(self._waiting.popleft())
            self._last_count = len(batch)
        try:
            outcomes = work([entry.item for entry in batch])
            for entry, outcome in zip(batch, outcomes, strict=True):
                entry.outcome = outcome
        except BaseException as error:
            for entry in batch:
                entry.failure = error
            raise
        finally:
            # First the next batch, which the database can work on, and then these answers.
            self._pass_on()
            for entry in batch[1:]:
                entry.ready.release()

    def _gather(self) -> None:
        """Wait for claims that are about to arrive, if the last batch had several."""
        if self._last_count > 1 and len(self._waiting) + 1 < self._batch_max:
            time.sleep(GATHER_SECONDS)

    def _pass_on(self) -> None:
        with self._lock:
            if not self._waiting:
                self._is_working = False
                return
            following = self._waiting.popleft()
            following.leads = True
            self._begun_at = time.monotonic()
        following.ready.release()
