"""Waiting for events: what happens is read once, and handed to all who wait for it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from roost.errors import PositionGone
from roost.operations.events import Write, choose_events, describe_writes
from roost.service.service import Roost
from roost.service.watcher import EventFilter, Renderer, Renderers, Watcher, WriteEvents
from roost.store.feed.positions import FeedPosition


def watch_events(
    roost: Roost,
    *,
    position: FeedPosition,
    event_filter: EventFilter,
    seconds: float,
    renderer: Callable[[], Renderer],
    greeting: bytes | None = None,
    takes_thread: bool,
) -> Watcher:
    """A watcher of what happens after a position. Raises `TooManyWatchers`."""
    return roost.event_hub.admit(
        partial(tell, roost),
        position=position,
        event_filter=event_filter,
        seconds=seconds,
        renderer=renderer,
        greeting=greeting,
        takes_thread=takes_thread,
    )


def tell(
    roost: Roost, watchers: Sequence[Watcher], position: FeedPosition, newest: FeedPosition
) -> FeedPosition:
    """Tell watchers at one position what happened until another; how far that went."""
    found = roost.store.records_between(position, newest)
    if found is None:
        raise PositionGone()
    if not found:
        return newest
    by_filter: defaultdict[EventFilter, list[Watcher]] = defaultdict(list)
    for watcher in watchers:
        by_filter[watcher.event_filter].append(watcher)
    trees = frozenset(each.tree for each in by_filter if each.tree is not None)
    writes = describe_writes(roost, found, trees)
    end = newest if len(writes) == len(found) else writes[-1].position
    renderers = Renderers()
    for event_filter, chosen in _choose(writes, by_filter).items():
        pieces: dict[Callable[[], Renderer], bytes] = {}
        for watcher in by_filter[event_filter]:
            renderer = renderers[watcher.renderer]
            if watcher.renderer not in pieces:
                pieces[watcher.renderer] = renderer.events(chosen, end)
            send = watcher.end if renderer.ends_with_events else watcher.send
            send(pieces[watcher.renderer])
    return end


def _choose(
    writes: Sequence[Write], filters: Iterable[EventFilter]
) -> Mapping[EventFilter, list[WriteEvents]]:
    """For each filter the writes with events that pass it.

    Most filters name a tree, and most writes touch few trees. So the filters are found by the
    trees that a write touches; there are only so many sets of kinds that the others can name.
    """
    without_tree = []
    by_tree: defaultdict[str, list[EventFilter]] = defaultdict(list)
    for each in filters:
        if each.tree is None:
            without_tree.append(each)
        else:
            by_tree[each.tree].append(each)
    chosen: defaultdict[EventFilter, list[WriteEvents]] = defaultdict(list)
    by_root = _TreesByRoot()
    for write in writes:
        candidates = list(without_tree)
        for tree in _touched(write, by_root) | (by_tree.keys() & write.former_roots.keys()):
            candidates += by_tree[tree]
        for event_filter in candidates:
            events = choose_events(write, event_filter)
            if events:
                chosen[event_filter].append(WriteEvents(position=write.position, events=events))
    return chosen


class _TreesByRoot:
    """The trees that filters name, by their roots. Roots seldom change, so one is remembered."""

    def __init__(self) -> None:
        self._roots: Mapping[str, str] | None = None
        self._trees: defaultdict[str, list[str]] = defaultdict(list)

    def get(self, roots: Mapping[str, str]) -> Mapping[str, list[str]]:
        if roots is not self._roots:
            self._roots = roots
            self._trees = defaultdict(list)
            for tree, root in roots.items():
                self._trees[root].append(tree)
        return self._trees


def _touched(write: Write, by_root: _TreesByRoot) -> set[str]:
    """The trees that a write touches, of those that filters name."""
    touched: set[str] = set()
    changed = {*write.former_roots.values(), *(event.root_uuid for event in write.events)}
    for roots in (write.roots_before, write.roots_after):
        trees = by_root.get(roots)
        for root in changed & trees.keys():
            if root is not None:
                touched.update(trees[root])
    return touched
