"""The change feed as a history: which records there are after a position, one after the other.

The feed has an order for each writer, and none between writers. But a write moves the generation
of the providers that it is about, so records that are about a common provider have an order, which
is the one in which they took place.
"""

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, and_, or_, select

from roost.store.feed import Position, count_records, moved_writers, read_writers
from roost.store.record import ChangeRecord, decode
from roost.store.schema import roost_changes


class Recorded(NamedTuple):
    """One record, and where that is."""

    record: ChangeRecord
    position: Position  # after it


class _Numbered(NamedTuple):
    writer: int
    number: int
    record: ChangeRecord


def read_records(connection: Connection, position: Position) -> Sequence[Recorded] | None:
    """What was recorded after a position, in order; None where it is no longer known."""
    now = read_writers(connection)
    moved = moved_writers(position, now)
    if moved is None:
        return None
    found = list(_numbered(connection, moved)) if moved else []
    removed = dict(pair for each in found for pair in each.record.removed)
    # As for an index that catches up: trimmed, removed with records unseen, or another history.
    if (
        len(found) != count_records(moved)
        or any(position.get(writer, 0) != number for writer, number in removed.items())
        or any(writer not in now and writer not in removed for writer in position)
    ):
        return None
    return list(_placed(position, in_order(found)))


def _numbered(connection: Connection, moved: dict[int, tuple[int, int]]) -> Iterable[_Numbered]:
    columns = roost_changes.c
    unseen = or_(
        *(
            and_(columns.writer_id == writer, columns.sequence > seen, columns.sequence <= last)
            for writer, (seen, last) in moved.items()
        )
    )
    statement = select(columns.writer_id, columns.sequence, columns.record).where(unseen)
    for row in connection.execute(statement.order_by(columns.writer_id, columns.sequence)):
        yield _Numbered(row.writer_id, row.sequence, decode(row.record))


def _placed(position: Position, found: Iterable[_Numbered]) -> Iterable[Recorded]:
    for writer, number, record in found:
        gone = {each for each, _ in record.removed}
        position = {each: last for each, last in position.items() if each not in gone}
        position = {**position, writer: number}
        yield Recorded(record, position)


def in_order(found: Iterable[_Numbered]) -> Iterable[_Numbered]:
    """Those of one writer by number, those of one provider by generation."""
    waiting: dict[int, deque[_Numbered]] = {}
    generations: dict[int, list[int]] = {}  # of each provider, those that are still to come
    for each in found:
        waiting.setdefault(each.writer, deque()).append(each)
        for provider, generation in each.record.generations:
            heapq.heappush(generations.setdefault(provider, []), generation)
    while waiting:
        # There is always one, unless the id of a provider that is gone was given away again.
        writer = next(
            (writer for writer, queue in waiting.items() if _is_next(queue[0], generations)),
            next(iter(waiting)),
        )
        each = waiting[writer].popleft()
        if not waiting[writer]:
            del waiting[writer]
        for provider, generation in each.record.generations:
            generations[provider].remove(generation)
            heapq.heapify(generations[provider])
        yield each


def _is_next(each: _Numbered, generations: dict[int, list[int]]) -> bool:
    return all(
        generations[provider][0] == generation for provider, generation in each.record.generations
    )
