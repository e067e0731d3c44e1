"""Providers that several writers want at the same time.

A write that trusts the index fails when another writer was faster. For a second after such a
failure the provider counts as contended: writers of this process then queue for it, and lock its
row before they read it.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock

# How long a provider counts as contended after a lost race.
CONTENDED_SECONDS = 1.0

# Beyond this number the process forgets them all: a lost race more is cheaper than a large table.
PROVIDERS_MAX = 10_000

# Providers share queues. There are more queues than a process has threads.
QUEUES = 64


class Contention:
    """What the threads of one process know of lost races. Any number of threads may use it."""

    def __init__(self) -> None:
        self._lost_at: dict[str, float] = {}  # provider UUID -> when a race for it was lost
        self._batch_lost_at = 0.0
        self._queues = [Lock() for _ in range(QUEUES)]

    def record_lost_race(self, provider_uuids: Iterable[str]) -> None:
        if len(self._lost_at) > PROVIDERS_MAX:
            self._lost_at.clear()
        self._lost_at.update(dict.fromkeys(provider_uuids, time.monotonic()))

    def record_lost_batch(self) -> None:
        """A batch of claims lost a race, to another process."""
        self._batch_lost_at = time.monotonic()

    @property
    def loses_batches(self) -> bool:
        """Whether batches lose races: other processes claim what the batches of this one do."""
        return self._batch_lost_at > time.monotonic() - CONTENDED_SECONDS

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
