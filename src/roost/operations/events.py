"""GET /events: what changed after a position, and waiting for it."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from roost.errors import PositionGone
from roost.model import Event, EventKind, Value
from roost.operations.event_names import Named, NamesAtTime
from roost.search.index.index import Index
from roost.service.service import Roost
from roost.store.change_record import ChangeRecord
from roost.store.feed.history import HistoryEntry
from roost.store.feed.positions import FeedPosition, is_ahead

# So many writes are told of at a time.
WRITES_MAX = 1000


class EventFilter(Value, frozen=True, kw_only=True):
    """What a watcher wants to be told."""

    kinds: Collection[EventKind] = ()  # nothing: every kind
    tree: str | None = None  # only providers of the tree in which this one is, by UUID


class WriteEvents(Value, frozen=True, kw_only=True):
    """What one write changed, as far as it is of interest."""

    position: FeedPosition  # after it
    events: tuple[Event, ...]


class _Names(Value, frozen=True, kw_only=True):
    """What the index says of everything that is to be told, and when that was."""

    position: FeedPosition
    providers: Mapping[int, Named]  # by id
    classes: Mapping[int, str]  # by id


def current_position(roost: Roost) -> FeedPosition:
    """Where somebody begins who wants to know what happens from now on."""
    return roost.store.position()


def read_events(
    roost: Roost, *, position: FeedPosition, interest: EventFilter
) -> list[WriteEvents]:
    """What happened after a position, oldest first, one entry for each write."""
    found = _read(roost, position)
    if not found:
        return []
    told = found[:WRITES_MAX]
    # Caught up with at least these writes.
    with roost.view() as index:
        names = _read_names(index, roost.position, [each.record for each in told], interest)
    hindsight = NamesAtTime(names.providers)
    end = found[-1].position
    if is_ahead(names.position, end):
        # What it has seen beyond them is taken back.
        _go_before(hindsight, _read(roost, end))
    _go_before(hindsight, found[WRITES_MAX:])
    backwards = [_happening(each, hindsight, names.classes, interest) for each in reversed(told)]
    return backwards[::-1]


def await_events(
    roost: Roost, *, position: FeedPosition, interest: EventFilter, until: float
) -> tuple[FeedPosition, list[WriteEvents]]:
    """The same, but not before something of interest happened, or it is `until`.

    `until` is a time of the monotonic clock. Also gives the position after all of it.
    """
    while True:
        found = read_events(roost, position=position, interest=interest)
        if found:
            position = found[-1].position
        some = [each for each in found if each.events]
        watch = roost.waiters
        if some or watch.is_stopping or time.monotonic() >= until:
            return position, some
        # There may be more already.
        if len(found) < WRITES_MAX:
            watch.wait(position, until)


def _read(roost: Roost, position: FeedPosition) -> Sequence[HistoryEntry]:
    found = roost.store.records_since(position)
    if found is None:
        raise PositionGone()
    return found


def _read_names(
    index: Index, position: FeedPosition, records: Iterable[ChangeRecord], interest: EventFilter
) -> _Names:
    ids: set[int] = set()
    class_ids: set[int] = set()
    for record in records:
        ids.update(id for id, _ in record.generations)
        ids.update(record.providers)
        for id, class_id, _ in record.usage:
            ids.add(id)
            class_ids.add(class_id)
    rows = [index.row_of_id.get(id) for id in ids]
    if interest.tree is not None:
        rows.append(index.row_of_uuid.get(interest.tree))
    return _Names(
        position=position,
        providers={
            index.ids[row]: Named(index.uuids[row], index.root_uuid(row))
            for row in rows
            if row is not None
        },
        classes={id: name for id in class_ids if (name := index.classes.names.get(id)) is not None},
    )


def _go_before(hindsight: NamesAtTime, found: Sequence[HistoryEntry]) -> None:
    for each in reversed(found):
        hindsight.go_before(each.record)


def _happening(
    recorded: HistoryEntry,
    hindsight: NamesAtTime,
    classes: Mapping[int, str],
    interest: EventFilter,
) -> WriteEvents:
    """What one write changed, from right after it; hindsight goes before it."""
    record = recorded.record
    events = [
        event
        for event in _events(hindsight, classes, record)
        if not interest.kinds or event.kind in interest.kinds
    ]
    tree = interest.tree
    after = None if tree is None else hindsight.root_of(tree)
    hindsight.go_before(record)
    if tree is not None:
        roots = {after, hindsight.root_of(tree)}
        events = [event for event in events if _is_about(event, tree, roots, hindsight)]
    return WriteEvents(position=recorded.position, events=tuple(events))


def _is_about(event: Event, tree: str, roots: set[str | None], before: NamesAtTime) -> bool:
    """Whether its provider is, or was before, in the tree with one of these roots."""
    uuid = event.provider_uuid
    if uuid is None:
        return False
    return uuid == tree or event.root_uuid in roots or before.root_of(uuid) in roots


def _events(
    hindsight: NamesAtTime, classes: Mapping[int, str], record: ChangeRecord
) -> Iterator[Event]:
    generations = dict(record.generations)

    def of(id: int, kind: EventKind, **fields: object) -> Iterator[Event]:
        named = hindsight.name(id)
        # A repair may speak of what was never there.
        if named is not None:
            yield Event(
                kind=kind,
                provider_uuid=named.uuid,
                root_uuid=named.root_uuid,
                generation=generations.get(id),
                **fields,  # type: ignore[arg-type]
            )

    for id, usage in _usages(classes, record).items():
        yield from of(id, EventKind.ALLOCATIONS, usage=usage)
    for kind, ids in _kinds(record).items():
        for id in ids:
            yield from of(id, kind)
    for _, uuid, root_uuid in record.deleted:
        yield Event(kind=EventKind.PROVIDER, provider_uuid=uuid, root_uuid=root_uuid, deleted=True)
    if record.classes or record.traits:
        yield Event(kind=EventKind.CATALOG)


def _usages(classes: Mapping[int, str], record: ChangeRecord) -> dict[int, dict[str, int]]:
    """What is used more or less, by provider id; nothing for one that only moved."""
    anew = set(record.providers)
    usages: dict[int, dict[str, int]] = {id: {} for id, _ in record.generations if id not in anew}
    for id, class_id, delta in record.usage:
        usage = usages.setdefault(id, {})
        # A class that is gone since has no name any more.
        if class_id in classes:
            usage[classes[class_id]] = delta
    return usages


def _kinds(record: ChangeRecord) -> dict[EventKind, Iterable[int]]:
    # A roost that knew no kinds wrote only which providers changed.
    if record.providers and not record.kinds and not record.deleted:
        return {EventKind.PROVIDER: record.providers}
    # A kind that a newer roost may know and this one does not is left out.
    return {kind: record.kinds[kind] for kind in EventKind if kind in record.kinds}
