"""Events: what changed after a position in the change feed."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set

from roost.errors import PositionGone
from roost.model import Event, EventKind, Value
from roost.search.index.index import Index
from roost.service.service import Roost
from roost.service.watcher import EventFilter, WriteEvents
from roost.store.change_record import ChangeRecord
from roost.store.feed.event_names import NamesAtTime, ProviderName
from roost.store.feed.history import HistoryEntry
from roost.store.feed.positions import FeedPosition, is_ahead

# How many writes one answer reports at most.
WRITES_MAX = 1000


class Write(Value, frozen=True, kw_only=True):
    """One write and all of its events, with what filters have to know."""

    position: FeedPosition  # after the write
    events: tuple[Event, ...]
    former_roots: Mapping[str, str]  # provider of an event -> root of its tree before the write
    # Provider that a filter names -> root of its tree. The same object where nothing has changed.
    roots_before: Mapping[str, str]
    roots_after: Mapping[str, str]


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
    trees = frozenset() if event_filter.tree is None else frozenset({event_filter.tree})
    return [
        WriteEvents(position=write.position, events=choose_events(write, event_filter))
        for write in describe_writes(roost, found, trees)
    ]


def describe_writes(
    roost: Roost, found: Sequence[HistoryEntry], trees: Set[str]
) -> Sequence[Write]:
    """The first WRITES_MAX of these records as writes with their events.

    `trees` are the providers that filters name.
    """
    if not found:
        return []
    reported = found[:WRITES_MAX]
    # The index has caught up with at least these writes.
    index = roost.current_index()
    now = _read_names(index, [each.record for each in reported], trees)
    names = NamesAtTime(now.providers)
    end = found[-1].position
    if is_ahead(now.position, end):
        # The index contains later writes too, so their effect on names is undone first.
        _step_back(names, _read_records(roost, end))
    _step_back(names, found[WRITES_MAX:])
    roots: Mapping[str, str] = {tree: names.root_of(tree) for tree in trees}
    newest_first = []
    for each in reversed(reported):
        events = tuple(
            event for part in each.record.by_claim() for event in _events(names, now.classes, part)
        )
        roots_after = roots
        moved = trees & names.step_back(each.record)
        if moved:
            roots = {**roots, **{tree: names.root_of(tree) for tree in moved}}
        newest_first.append(
            Write(
                position=each.position,
                events=events,
                former_roots={
                    event.provider_uuid: names.root_of(event.provider_uuid)
                    for event in events
                    if event.provider_uuid is not None
                },
                roots_before=roots,
                roots_after=roots_after,
            )
        )
    return newest_first[::-1]


def choose_events(write: Write, event_filter: EventFilter) -> tuple[Event, ...]:
    """The events of a write that pass a filter."""
    events = write.events
    if event_filter.kinds:
        events = tuple(event for event in events if event.kind in event_filter.kinds)
    tree = event_filter.tree
    if tree is None or not events:
        return events
    roots = (write.roots_before[tree], write.roots_after[tree])
    return tuple(event for event in events if _is_in_tree(event, tree, roots, write.former_roots))


def _read_records(roost: Roost, position: FeedPosition) -> Sequence[HistoryEntry]:
    found = roost.store.records_since(position)
    if found is None:
        raise PositionGone()
    return found


def _read_names(index: Index, records: Iterable[ChangeRecord], trees: Iterable[str]) -> _IndexNames:
    ids: set[int] = set()
    class_ids: set[int] = set()
    for record in records:
        ids.update(id for id, _ in record.generations)
        ids.update(record.providers)
        for id, class_id, _ in record.usage:
            ids.add(id)
            class_ids.add(class_id)
    rows = [index.row_of_id.get(id) for id in ids]
    rows += map(index.row_of_uuid.get, trees)
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


def _is_in_tree(
    event: Event, tree: str, roots: Collection[str], former_roots: Mapping[str, str]
) -> bool:
    """Whether the provider is, or was before the write, in the tree with one of these roots."""
    uuid = event.provider_uuid
    if uuid is None:
        return False
    return uuid == tree or event.root_uuid in roots or former_roots[uuid] in roots


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
