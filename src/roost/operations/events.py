"""Events: what changed after a position in the change feed, and waiting for it."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from roost.errors import PositionGone
from roost.model import Event, EventKind, Value
from roost.operations.event_names import NamesAtTime, ProviderName
from roost.search.index.index import Index
from roost.service.service import Roost
from roost.store.change_record import ChangeRecord
from roost.store.feed.history import HistoryEntry
from roost.store.feed.positions import FeedPosition, is_ahead

# How many writes one answer reports at most.
WRITES_MAX = 1000


class EventFilter(Value, frozen=True, kw_only=True):
    """Which events a client wants."""

    kinds: Collection[EventKind] = ()  # empty: every kind
    tree: str | None = None  # only of the tree that this provider is in, by UUID


class WriteEvents(Value, frozen=True, kw_only=True):
    """The events of one write that pass the filter."""

    position: FeedPosition  # after the write
    events: tuple[Event, ...]


class _IndexNames(Value, frozen=True, kw_only=True):
    """What the index knows of the ids in some records, and its position at that moment."""

    position: FeedPosition
    providers: Mapping[int, ProviderName]  # by id
    classes: Mapping[int, str]  # by id


def current_position(roost: Roost) -> FeedPosition:
    """Where a client begins that wants to know what happens from now on."""
    return roost.store.position()


def read_events(
    roost: Roost, *, position: FeedPosition, event_filter: EventFilter
) -> list[WriteEvents]:
    """What happened after a position, oldest first, one entry for each write."""
    found = _read_records(roost, position)
    if not found:
        return []
    reported = found[:WRITES_MAX]
    # The index has caught up with at least these writes.
    with roost.current_index() as index:
        records = [each.record for each in reported]
        now = _read_names(index, records, event_filter)
    names = NamesAtTime(now.providers)
    end = found[-1].position
    if is_ahead(now.position, end):
        # The index contains later writes too, so their effect on names is undone first.
        _step_back(names, _read_records(roost, end))
    _step_back(names, found[WRITES_MAX:])
    newest_first = [
        _events_of_write(each, names, now.classes, event_filter) for each in reversed(reported)
    ]
    return newest_first[::-1]


def await_events(
    roost: Roost, *, position: FeedPosition, event_filter: EventFilter, until: float
) -> tuple[FeedPosition, list[WriteEvents]]:
    """Wait for events that pass the filter, at most until the monotonic clock says `until`.

    Gives back the writes that have such events, and the position after everything that was read.
    """
    while True:
        found = read_events(roost, position=position, event_filter=event_filter)
        if found:
            position = found[-1].position
        with_events = [each for each in found if each.events]
        if with_events or roost.waiters.is_stopping or time.monotonic() >= until:
            return position, with_events
        # After a full answer there may be more to read at once.
        if len(found) < WRITES_MAX:
            roost.waiters.wait(position, until)


def _read_records(roost: Roost, position: FeedPosition) -> Sequence[HistoryEntry]:
    found = roost.store.records_since(position)
    if found is None:
        raise PositionGone()
    return found


def _read_names(
    index: Index, records: Iterable[ChangeRecord], event_filter: EventFilter
) -> _IndexNames:
    ids: set[int] = set()
    class_ids: set[int] = set()
    for record in records:
        ids.update(id for id, _ in record.generations)
        ids.update(record.providers)
        for id, class_id, _ in record.usage:
            ids.add(id)
            class_ids.add(class_id)
    rows = [index.row_of_id.get(id) for id in ids]
    if event_filter.tree is not None:
        rows.append(index.row_of_uuid.get(event_filter.tree))
    return _IndexNames(
        position=index.position,
        providers={
            index.ids[row]: ProviderName(index.uuids[row], index.root_uuid(row))
            for row in rows
            if row is not None
        },
        classes={id: name for id in class_ids if (name := index.classes.names.get(id)) is not None},
    )


def _step_back(names: NamesAtTime, found: Sequence[HistoryEntry]) -> None:
    for each in reversed(found):
        names.step_back(each.record)


def _events_of_write(
    entry: HistoryEntry,
    names: NamesAtTime,
    classes: Mapping[int, str],
    event_filter: EventFilter,
) -> WriteEvents:
    """The events of one write. `names` are those after it, and step back to before it."""
    record = entry.record
    events = [
        event
        for event in _events(names, classes, record)
        if not event_filter.kinds or event.kind in event_filter.kinds
    ]
    tree = event_filter.tree
    root_after = None if tree is None else names.root_of(tree)
    names.step_back(record)
    if tree is not None:
        roots = {root_after, names.root_of(tree)}
        events = [event for event in events if _is_in_tree(event, tree, roots, names)]
    return WriteEvents(position=entry.position, events=tuple(events))


def _is_in_tree(event: Event, tree: str, roots: set[str | None], names_before: NamesAtTime) -> bool:
    """Whether the provider is, or was before the write, in the tree with one of these roots."""
    uuid = event.provider_uuid
    if uuid is None:
        return False
    return uuid == tree or event.root_uuid in roots or names_before.root_of(uuid) in roots


def _events(
    names: NamesAtTime, classes: Mapping[int, str], record: ChangeRecord
) -> Iterator[Event]:
    generations = dict(record.generations)

    def of(id: int, kind: EventKind, **fields: object) -> Iterator[Event]:
        name = names.get(id)
        # A repair may name a provider that never existed.
        if name is not None:
            yield Event(
                kind=kind,
                provider_uuid=name.uuid,
                root_uuid=name.root_uuid,
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
    """The change in usage by provider id; empty for one whose generation moved without it."""
    reread = set(record.providers)
    usages: dict[int, dict[str, int]] = {id: {} for id, _ in record.generations if id not in reread}
    for id, class_id, delta in record.usage:
        usage = usages.setdefault(id, {})
        # A class that was deleted since has no name any more.
        if class_id in classes:
            usage[classes[class_id]] = delta
    return usages


def _kinds(record: ChangeRecord) -> dict[EventKind, Iterable[int]]:
    # Early releases recorded only which providers changed.
    if record.providers and not record.kinds and not record.deleted:
        return {EventKind.PROVIDER: record.providers}
    # A kind that a newer roost may know and this one does not is left out.
    return {kind: record.kinds[kind] for kind in EventKind if kind in record.kinds}
