"""The change feed as a history: the records after a position, in one order.

SQLite knows the order in which records were written. On other databases the records of one writer
have an order, and those of different writers do not. But a write advances the generations of the
providers that it changes, or records the generations that it saw. So records about a common
provider can be ordered by generation, which is the order in which the writes took place. And the
two writers of a process say in their records how far the other one was.
"""

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from roost.store.change_record import ChangeRecord
from roost.store.feed.positions import FeedPosition, SequencedRecord, read_records_after


class HistoryEntry(NamedTuple):
    """One record, and the position after it."""

    record: ChangeRecord
    position: FeedPosition


def read_history(
    connection: Connection, position: FeedPosition, until: FeedPosition | None = None
) -> Sequence[HistoryEntry] | None:
    """The records after a position, in order; None where they are no longer known.

    `until` is a position that was the newest one, after which nothing is read.
    """
    found = read_records_after(connection, position, until=until)
    if found is None:
        return None
    _, records = found
    ordered = records if connection.dialect.name == "sqlite" else in_order(records)
    return list(_with_positions(position, ordered))


def _with_positions(
    position: FeedPosition, records: Iterable[SequencedRecord]
) -> Iterator[HistoryEntry]:
    for writer_id, sequence, record in records:
        position = {**position, writer_id: sequence}
        for removed, _ in record.removed_writers:
            position.pop(removed, None)
        yield HistoryEntry(record, position)


def in_order(records: Sequence[SequencedRecord]) -> Iterator[SequencedRecord]:
    """The records, those of one writer by sequence number, those of one provider by generation.

    The next record depends only on the records that are left. So a client that continues from a
    position in between is told the same order.
    """
    queues: dict[int, deque[SequencedRecord]] = {}
    for each in records:
        queues.setdefault(each.writer_id, deque()).append(each)
    remaining = _RemainingRecords([each.record for each in records])
    while queues:
        heads = {writer: queue[0].record for writer, queue in queues.items()}
        writer = _next_writer(_without_later(heads, queues) or heads, remaining)
        each = queues[writer].popleft()
        if not queues[writer]:
            del queues[writer]
        remaining.remove(each.record)
        yield each


def _without_later(
    heads: Mapping[int, ChangeRecord], queues: Mapping[int, Sequence[SequencedRecord]]
) -> Mapping[int, ChangeRecord]:
    """Those that the other writer of their process did not write before."""

    def is_later(record: ChangeRecord) -> bool:
        if record.after is None:
            return False
        other, number = record.after
        return other in queues and queues[other][0].sequence <= number

    return {writer: record for writer, record in heads.items() if not is_later(record)}


def _next_writer(heads: Mapping[int, ChangeRecord], remaining: "_RemainingRecords") -> int:
    for is_ready in (remaining.is_next, remaining.may_be_next):
        for writer, record in heads.items():
            if is_ready(record):
                return writer
    # The database gave the id of a deleted provider to a new one, so generations say nothing.
    return next(iter(heads))


class _RemainingRecords:
    """What the records that have no place in the order yet say about providers."""

    def __init__(self, records: Sequence[ChangeRecord]) -> None:
        # Generations by provider: those that a record advances to, and those that it only saw.
        self._advanced: defaultdict[int, _LowestNumber] = defaultdict(_LowestNumber)
        self._seen: defaultdict[int, _LowestNumber] = defaultdict(_LowestNumber)
        # For each provider that is deleted in the end: how many records are about it.
        self._mentions = Counter({id: 0 for record in records for id, *_ in record.deleted})
        for record in records:
            for id, generation in _first_generations(record):
                self._advanced[id].add(generation)
            for id, generation in record.seen_generations:
                self._seen[id].add(generation)
            self._mentions.update(self._deleted_among(record))

    def remove(self, record: ChangeRecord) -> None:
        for id, generation in _first_generations(record):
            self._advanced[id].remove(generation)
        for id, generation in record.seen_generations:
            self._seen[id].remove(generation)
        self._mentions.subtract(self._deleted_among(record))

    def may_be_next(self, record: ChangeRecord) -> bool:
        """Whether no remaining record certainly took place before this one."""
        return (
            all(
                self._advanced[id].lowest == generation
                for id, generation in _first_generations(record)
            )
            and all(
                self._advanced[id].lowest > generation for id, generation in record.seen_generations
            )
            and all(self._mentions[id] == 1 for id, *_ in record.deleted)
        )

    def is_next(self, record: ChangeRecord) -> bool:
        """Whether, besides, no remaining record saw a lower generation of its providers.

        A transaction that deletes allocations locks no provider, so others may have overtaken it
        after it read the generation. Putting it before them is right most of the time, and not
        always possible.
        """
        return self.may_be_next(record) and all(
            self._seen[id].lowest >= generation
            for pairs in (_first_generations(record), record.seen_generations)
            for id, generation in pairs
        )

    def _deleted_among(self, record: ChangeRecord) -> set[int]:
        """The providers of a record that are deleted in the end."""
        if not self._mentions:
            return set()
        ids = {id for id, *_ in (*record.generations, *record.seen_generations, *record.usage)}
        return self._mentions.keys() & ids.union(record.providers)


def _first_generations(record: ChangeRecord) -> Iterable[tuple[int, int]]:
    """The first generation that a record announces for each provider.

    A batch announces one for each of its claims. No other record has one between them.
    """
    if not record.claims:
        return record.generations
    # The last one that is put in stays.
    return dict(reversed(record.generations)).items()


class _LowestNumber:
    """A multiset of numbers whose lowest is known at any time."""

    def __init__(self) -> None:
        self._heap: list[float] = [float("inf")]
        self._removed: Counter[float] = Counter()  # still in the heap, below its top

    def add(self, number: int) -> None:
        heapq.heappush(self._heap, number)

    def remove(self, number: int) -> None:
        self._removed[number] += 1
        while self._removed[self._heap[0]]:
            self._removed[heapq.heappop(self._heap)] -= 1

    @property
    def lowest(self) -> float:
        return self._heap[0]
