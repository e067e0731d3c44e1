"""Providers that several writers want at the same time.

A write that trusts the index fails when another writer was faster. For a second after such a
failure the provider counts as contended: writers of this process then queue for it, and lock its
row before they read it.

Batches of claims name many providers. They lock what they name while too many of them fail.
"""

import math
import random
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock

# How long a provider counts as contended after a lost race.
CONTENDED_SECONDS = 1.0

# For how long requests that would choose the same give way to each other after a lost race. Whoever
# stops too early loses the next one.
EVADING_SECONDS = 10.0

# Batches lock while more than this part of the latest ones has lost, and how much each one counts.
LOST_PART_MAX = 0.15
BATCH_WEIGHT = 1 / 32

# Beyond this number the process forgets them all: a lost race more is cheaper than a large table.
PROVIDERS_MAX = 10_000

# Providers share queues. There are more queues than a process has threads.
QUEUES = 64


class Contention:
    """What the threads of one process know of lost races. Any number of threads may use it."""

    def __init__(self) -> None:
        self._lost_at: dict[str, float] = {}  # provider UUID -> when a race for it was lost
        self._batch_lost_at = -math.inf
        self._lost_part = 0.0  # of the batches that did not lock, the latest ones count most
        # By what this process chooses where others choose the same otherwise. It is another number
        # after each lost race.
        self.preference = random.getrandbits(32)
        self._queues = [Lock() for _ in range(QUEUES)]

    def record_lost_race(self, provider_uuids: Iterable[str]) -> None:
        if len(self._lost_at) > PROVIDERS_MAX:
            self._lost_at.clear()
        self._lost_at.update(dict.fromkeys(provider_uuids, time.monotonic()))

    def record_batch(self, *, is_lost: bool) -> None:
        """A batch of claims that did not lock has lost a race to another process, or not."""
        self._lost_part += BATCH_WEIGHT * (is_lost - self._lost_part)
        if is_lost:
            self._batch_lost_at = time.monotonic()
            self.preference = random.getrandbits(32)

    @property
    def evades(self) -> bool:
        """Whether other processes have claimed what this one chose, not long ago."""
        return self._batch_lost_at > time.monotonic() - EVADING_SECONDS

    @property
    def loses_batches(self) -> bool:
        """Whether batches lose races so often that they had better lock."""
        is_recent = self._batch_lost_at > time.monotonic() - CONTENDED_SECONDS
        return is_recent and self._lost_part > LOST_PART_MAX

    def includes_any(self, provider_uuids: Iterable[str]) -> bool:
        return bool(self._contended(provider_uuids))

    @contextmanager
    def queue(self, provider_uuids: Iterable[str]) -> Iterator[None]:
        """Let writers of the same contended providers take turns.

        Without the queue they would wait for each other in the database, each with a connection
        and an open transaction, and most of them would then find their reads stale.
        """
        numbers = {hash(uuid) % len(self._queues) for uuid in self._contended(provider_uuids)}
        with ExitStack() as held:
            # Every thread takes queues in ascending order, so no two threads can deadlock.
            for number in sorted(numbers):
                held.enter_context(self._queues[number])
            yield

    def _contended(self, provider_uuids: Iterable[str]) -> list[str]:
        earliest = time.monotonic() - CONTENDED_SECONDS
        return [uuid for uuid in provider_uuids if self._lost_at.get(uuid, 0.0) > earliest]
