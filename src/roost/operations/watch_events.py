"""GET /events: what changed after a position, and waiting for it."""

import time
from collections.abc import Collection, Iterable, Iterator, Sequence

from roost.errors import PositionGone
from roost.model import ALLOCATIONS, CATALOG, PROVIDER, Event, Value
from roost.search.index import Index
from roost.service import Roost
from roost.store.feed import Position
from roost.store.history import Recorded
from roost.store.record import ChangeRecord

# So many writes are told of at a time.
WRITES_MAX = 1000


class Interest(Value, frozen=True, kw_only=True):
    """What a watcher wants to be told."""

    kinds: Collection[str] = ()  # nothing: every kind
    tree: str | None = None  # only providers of the tree in which this one is, by UUID


class Happening(Value, frozen=True, kw_only=True):
    """What one write changed, as far as it is of interest."""

    position: Position  # after it
    events: tuple[Event, ...]


def current_position(roost: Roost) -> Position:
    """Where somebody begins who wants to know what happens from now on."""
    return roost.store.position()


def read_events(roost: Roost, *, position: Position, interest: Interest) -> list[Happening]:
    """What happened after a position, oldest first, one entry for each write."""
    found = roost.store.records_since(position)
    if found is None:
        raise PositionGone()
    if not found:
        return []
    # Caught up with at least these writes.
    with roost.view() as index:
        return list(_happenings(index, found, interest))


def await_events(
    roost: Roost, *, position: Position, interest: Interest, until: float
) -> tuple[Position, list[Happening]]:
    """The same, but not before something of interest happened, or it is `until`.

    `until` is a time of the monotonic clock. Also gives the position after all of it.
    """
    while True:
        found = read_events(roost, position=position, interest=interest)
        if found:
            position = found[-1].position
        some = [each for each in found if each.events]
        watch = roost.watch
        if some or watch.is_stopping or time.monotonic() >= until:
            return position, some
        watch.wait(position, until)


def _happenings(index: Index, found: Sequence[Recorded], interest: Interest) -> Iterator[Happening]:
    # A provider that is no more is known by what was said when it went.
    gone = {id: names for recorded in found for id, *names in recorded.record.gone}
    tree = _root_of(index, interest.tree)
    for record, position in found[:WRITES_MAX]:
        events = tuple(
            event
            for event in _events(index, record, gone)
            if (not interest.kinds or event.kind in interest.kinds)
            and (tree is None or event.root_uuid in (tree, interest.tree))
        )
        yield Happening(position=position, events=events)


def _root_of(index: Index, uuid: str | None) -> str | None:
    row = None if uuid is None else index.row_of_uuid.get(uuid)
    return uuid if row is None else index.root_uuid(row)


def _events(index: Index, record: ChangeRecord, gone: dict[int, list[str]]) -> Iterator[Event]:
    generations = dict(record.generations)

    def of(id: int, kind: str, **fields: object) -> Iterator[Event]:
        row = index.row_of_id.get(id)
        if row is not None:
            uuid, root_uuid = index.uuids[row], index.root_uuid(row)
        elif id in gone:
            uuid, root_uuid = gone[id]
        else:
            # Gone since; that will be told next.
            return
        yield Event(
            kind=kind,
            provider_uuid=uuid,
            root_uuid=root_uuid,
            generation=generations.get(id),
            **fields,  # type: ignore[arg-type]
        )

    for id, usage in _usages(index, record).items():
        yield from of(id, ALLOCATIONS, usage=usage)
    for kind, ids in _kinds(record).items():
        for id in ids:
            yield from of(id, kind)
    for _, uuid, root_uuid in record.gone:
        yield Event(kind=PROVIDER, provider_uuid=uuid, root_uuid=root_uuid, deleted=True)
    if record.classes or record.traits:
        yield Event(kind=CATALOG)


def _usages(index: Index, record: ChangeRecord) -> dict[int, dict[str, int]]:
    """What is used more or less, by provider id; nothing for one that only moved."""
    anew = set(record.providers)
    usages: dict[int, dict[str, int]] = {id: {} for id, _ in record.generations if id not in anew}
    for id, class_id, delta in record.usage:
        name = index.classes.names.get(class_id)
        if name is not None:
            usages.setdefault(id, {})[name] = delta
    return usages


def _kinds(record: ChangeRecord) -> dict[str, Iterable[int]]:
    # A roost that knew no kinds wrote only which providers changed.
    if record.providers and not record.kinds and not record.gone:
        return {PROVIDER: record.providers}
    return dict(record.kinds)
