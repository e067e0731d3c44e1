"""The change feed as a history: which records there are after a position, one after the other.

SQLite knows in which order they were written. Elsewhere the feed has an order for each writer, and
none between writers. But a write moves the generation of the providers that it is about, or says
which one it saw, so records that are about a common provider have an order, which is the one in
which they took place.
"""

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from roost.store.change_record import ChangeRecord
from roost.store.feed.positions import FeedPosition, Numbered, read_unseen


class Recorded(NamedTuple):
    """One record, and where that is."""

    record: ChangeRecord
    position: FeedPosition  # after it


def read_records(connection: Connection, position: FeedPosition) -> Sequence[Recorded] | None:
    """What was recorded after a position, in order; None where it is no longer known."""
    unseen = read_unseen(connection, position)
    if unseen is None:
        return None
    _, found = unseen
    ordered = found if connection.dialect.name == "sqlite" else in_order(found)
    return list(_placed(position, ordered))


def _placed(position: FeedPosition, found: Iterable[Numbered]) -> Iterator[Recorded]:
    for writer, number, record in found:
        position = {**position, writer: number}
        for gone, _ in record.removed:
            position.pop(gone, None)
        yield Recorded(record, position)


def in_order(found: Sequence[Numbered]) -> Iterator[Numbered]:
    """Those of one writer by number, those of one provider by generation.

    What comes next depends on nothing but what is left, so whoever goes on from a position that
    lies in between is told the same.
    """
    waiting: dict[int, deque[Numbered]] = {}
    for each in found:
        waiting.setdefault(each.writer, deque()).append(each)
    left = _Left([each.record for each in found])
    while waiting:
        writer = _next_writer({writer: queue[0].record for writer, queue in waiting.items()}, left)
        each = waiting[writer].popleft()
        if not waiting[writer]:
            del waiting[writer]
        left.remove(each.record)
        yield each


def _next_writer(heads: Mapping[int, ChangeRecord], left: "_Left") -> int:
    for is_ready in (left.is_next, left.may_be_next):
        for writer, record in heads.items():
            if is_ready(record):
                return writer
    # The id of a provider that is gone was given away again.
    return next(iter(heads))


class _Left:
    """What the records that are left say of providers."""

    def __init__(self, records: Sequence[ChangeRecord]) -> None:
        self._moves: defaultdict[int, _Numbers] = defaultdict(_Numbers)  # generations, by provider
        self._sights: defaultdict[int, _Numbers] = defaultdict(_Numbers)  # generations, by provider
        # How many are about a provider that is gone in the end.
        self._mentions = Counter({id: 0 for record in records for id, *_ in record.gone})
        for record in records:
            for id, generation in record.generations:
                self._moves[id].add(generation)
            for id, generation in record.seen:
                self._sights[id].add(generation)
            self._mentions.update(self._gone_of(record))

    def remove(self, record: ChangeRecord) -> None:
        for id, generation in record.generations:
            self._moves[id].remove(generation)
        for id, generation in record.seen:
            self._sights[id].remove(generation)
        self._mentions.subtract(self._gone_of(record))

    def may_be_next(self, record: ChangeRecord) -> bool:
        """Whether nothing is left that certainly took place before it."""
        return (
            all(self._moves[id].lowest == generation for id, generation in record.generations)
            and all(self._moves[id].lowest > generation for id, generation in record.seen)
            and all(self._mentions[id] == 1 for id, *_ in record.gone)
        )

    def is_next(self, record: ChangeRecord) -> bool:
        """Whether nothing is left either that saw less of a provider.

        Who gives back locks nobody, so others may have passed it since it looked: that it comes
        before them is mostly so, and cannot always be.
        """
        return self.may_be_next(record) and all(
            self._sights[id].lowest >= generation
            for pairs in (record.generations, record.seen)
            for id, generation in pairs
        )

    def _gone_of(self, record: ChangeRecord) -> set[int]:
        if not self._mentions:
            return set()
        ids = {id for id, *_ in (*record.generations, *record.seen, *record.usage)}
        return self._mentions.keys() & ids.union(record.providers)


class _Numbers:
    """Numbers of which the lowest is known at any time."""

    def __init__(self) -> None:
        self._heap: list[float] = [float("inf")]
        self._removed: Counter[float] = Counter()  # those that were not the lowest

    def add(self, number: int) -> None:
        heapq.heappush(self._heap, number)

    def remove(self, number: int) -> None:
        self._removed[number] += 1
        while self._removed[self._heap[0]]:
            self._removed[heapq.heappop(self._heap)] -= 1

    @property
    def lowest(self) -> float:
        return self._heap[0]
