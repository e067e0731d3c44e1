"""Providers that several writers want at the same time.

A write that trusts the index fails when another writer was faster. For a second after such a
failure the provider counts as contended: writers of this process then queue for it, and lock its
row before they read it.

Batches of claims name many providers. While too many of them fail, the processes of one service
take turns; while too many fail even so, they lock what they name.
"""

import math
import random
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from threading import Lock

# How long a provider counts as contended after a lost race.
CONTENDED_SECONDS = 1.0

# For how long requests that would choose the same give way to each other after a lost race. Whoever
# stops too early loses the next one.
EVADING_SECONDS = 10.0

# How large a part of the latest batches may lose, and how much each one counts.
LOST_PART_MAX = 0.15
BATCH_WEIGHT = 1 / 32

# How many choices are remembered. Each request looks at them one by one.
CHOICES_MAX = 16

# Beyond this number the process forgets them all: a lost race more is cheaper than a large table.
PROVIDERS_MAX = 10_000

# Providers share queues. There are more queues than a process has threads.
QUEUES = 64


_NO_QUEUE = nullcontext()


class BatchLosses:
    """How often batches of one kind lose races to other processes."""

    def __init__(self) -> None:
        self.lost_at = -math.inf
        self._lost_part = 0.0  # the latest ones count most

    def record(self, *, is_lost: bool) -> None:
        self._lost_part += BATCH_WEIGHT * (is_lost - self._lost_part)
        if is_lost:
            self.lost_at = time.monotonic()

    @property
    def are_too_many(self) -> bool:
        """Whether they lose so often, and not long ago, that something had better change."""
        is_recent = self.lost_at > time.monotonic() - CONTENDED_SECONDS
        return is_recent and self._lost_part > LOST_PART_MAX


class LastChoices:
    """Which tree this process has chosen last, for a few requests that come again and again."""

    def __init__(self) -> None:
        # What was asked for, by which preference the choice was made, and the UUID of the root.
        self._choices: deque[tuple[object, int, str]] = deque(maxlen=CHOICES_MAX)

    def find(self, asked: object, preference: int) -> str | None:
        for other, made_by, root_uuid in tuple(self._choices):
            if made_by == preference and other == asked:
                return root_uuid
        return None

    def note(self, asked: object, preference: int, root_uuid: str) -> None:
        self._choices.appendleft((asked, preference, root_uuid))


class Contention:
    """What the threads of one process know of lost races. Any number of threads may use it."""

    def __init__(self) -> None:
        self._lost_at: dict[str, float] = {}  # provider UUID -> when a race for it was lost
        self._batches = BatchLosses()
        self._turns = BatchLosses()
        # By what this process chooses where others choose the same otherwise. It is another number
        # after each lost race.
        self.preference = random.getrandbits(32)
        self.last_choices = LastChoices()
        self._queues = [Lock() for _ in range(QUEUES)]

    def record_lost_race(self, provider_uuids: Iterable[str]) -> None:
        if len(self._lost_at) > PROVIDERS_MAX:
            self._lost_at.clear()
        self._lost_at.update(dict.fromkeys(provider_uuids, time.monotonic()))

    def record_batch(self, *, is_lost: bool, in_turn: bool = False) -> None:
        """A batch of claims that did not lock has lost a race to another process, or not."""
        (self._turns if in_turn else self._batches).record(is_lost=is_lost)
        if is_lost:
            self.preference = random.getrandbits(32)

    @property
    def evades(self) -> bool:
        """Whether other processes have claimed what this one chose, not long ago."""
        lost_at = max(self._batches.lost_at, self._turns.lost_at)
        return lost_at > time.monotonic() - EVADING_SECONDS

    @property
    def loses_batches(self) -> bool:
        """Whether batches lose races so often that they had better take turns, or lock."""
        return self._batches.are_too_many

    @property
    def loses_turns(self) -> bool:
        """Whether batches lose so often although siblings take turns that they had better lock."""
        return self._turns.are_too_many

    def includes_any(self, provider_uuids: Iterable[str]) -> bool:
        return bool(self._contended(provider_uuids))

    def queue(self, provider_uuids: Iterable[str]) -> AbstractContextManager[None]:
        """Let writers of the same contended providers take turns.

        Without the queue they would wait for each other in the database, each with a connection
        and an open transaction, and most of them would then find their reads stale.
        """
        contended = self._contended(provider_uuids)
        return self._queue(contended) if contended else _NO_QUEUE

    @contextmanager
    def _queue(self, contended: Iterable[str]) -> Iterator[None]:
        numbers = {hash(uuid) % len(self._queues) for uuid in contended}
        with ExitStack() as held:
            # Every thread takes queues in ascending order, so no two threads can deadlock.
            for number in sorted(numbers):
                held.enter_context(self._queues[number])
            yield

    def _contended(self, provider_uuids: Iterable[str]) -> list[str]:
        if not self._lost_at:
            return []
        earliest = time.monotonic() - CONTENDED_SECONDS
        return [uuid for uuid in provider_uuids if self._lost_at.get(uuid, 0.0) > earliest]
