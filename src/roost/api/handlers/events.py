"""GET /events: the change feed, as JSON or as a stream of server-sent events."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from roost.api.http.messages import EVENTS, Reply, Request
from roost.api.http_error import HttpError
from roost.api.parsing import query_string
from roost.api.parsing.extension_refusals import bad_choice
from roost.api.parsing.tokens import FeedPosition, decode_position, encode_position
from roost.api.schemas.events import WAIT_SECONDS_MAX
from roost.model import Event, EventKind
from roost.operations.events import current_position, read_events
from roost.operations.watching import watch_events
from roost.service.service import Roost
from roost.service.watcher import EventFilter, WriteEvents
from roost.uuids import canonical_uuid

# After a stream ends, the client reconnects after this many milliseconds.
_GREETING = b"retry: 100\n\n"


def get(roost: Roost, request: Request) -> Reply:
    parameters = query_string.parse(request.query_string, request.query_schema)
    after = query_string.once(parameters, "after")
    wait = query_string.once(parameters, "wait")
    tree = query_string.once(parameters, "tree")
    event_filter = EventFilter(
        kinds=_parse_kinds(parameters.get("kind", ())),
        tree=None if tree is None else canonical_uuid(tree),
    )
    if request.wants_events:
        # A client that reconnects sends its old URL, and a newer position in the header.
        after = request.last_event_id or after
        stream = watch_events(
            roost,
            position=current_position(roost) if after is None else decode_position(after),
            event_filter=event_filter,
            seconds=float(wait) if wait is not None else WAIT_SECONDS_MAX,
            renderer=StreamRenderer,
            greeting=_GREETING,
            takes_thread=not request.waits_without_thread,
        )
        return Reply(watch=stream, media_type=EVENTS)
    if after is None:
        return _reply(current_position(roost), [])
    position: FeedPosition = decode_position(after)
    found = read_events(roost, position=position, event_filter=event_filter)
    if found:
        position = found[-1].position
    seconds = int(wait or 0)
    if not seconds or any(write.events for write in found):
        return _reply(position, found)
    answer = watch_events(
        roost,
        position=position,
        event_filter=event_filter,
        seconds=seconds,
        renderer=AnswerRenderer,
        takes_thread=not request.waits_without_thread,
    )
    return Reply(watch=answer, shows_state=True)


def _parse_kinds(names: Sequence[str]) -> frozenset[EventKind]:
    known = tuple(kind.value for kind in EventKind)
    # The schema has checked only the first and the last.
    unknown = [name for name in names if name not in known]
    if unknown:
        raise HttpError(400, f"kind: {bad_choice(unknown[0], known)}")
    return frozenset(map(EventKind, names))


def _reply(position: FeedPosition, found: list[WriteEvents]) -> Reply:
    body = {
        "events": [render(event) for write in found for event in write.events],
        "position": encode_position(position),
    }
    return Reply(body=body, shows_state=True)


def render(event: Event) -> dict[str, Any]:
    shown: dict[str, Any] = {"kind": event.kind}
    if event.provider_uuid is not None:
        shown["resource_provider"] = event.provider_uuid
        shown["tree"] = event.root_uuid
    if event.generation is not None:
        shown["generation"] = event.generation
    if event.usage:
        shown["usage"] = event.usage
    if event.deleted:
        shown["deleted"] = True
    return shown


# ---------------------------------------------------------------------------------------------
# What waiting clients are sent


class _Renderer:
    """Makes the bytes of each event and each position once."""

    def __init__(self) -> None:
        # By the identity of the object, which the entry keeps alive.
        self._events: dict[int, tuple[Event, bytes]] = {}
        self._positions: dict[int, tuple[FeedPosition, bytes]] = {}

    def event(self, event: Event) -> bytes:
        known = self._events.get(id(event))
        if known is None:
            known = self._events[id(event)] = event, msgspec.json.encode(render(event))
        return known[1]

    def token(self, position: FeedPosition) -> bytes:
        known = self._positions.get(id(position))
        if known is None:
            known = self._positions[id(position)] = position, encode_position(position).encode()
        return known[1]


class AnswerRenderer(_Renderer):
    """One JSON document, once there are events or the time is over.

    If the events are lost meanwhile, or the database is, the document has no events and the old
    position. The status has been sent, so the next request gets the error.
    """

    ends_with_events = True

    def events(self, found: Sequence[WriteEvents], position: FeedPosition) -> bytes:
        events = b",".join(self.event(event) for write in found for event in write.events)
        return b'{"events":[%s],"position":"%s"}' % (events, self.token(position))

    def heartbeat(self, position: FeedPosition) -> None:
        return None

    def reset(self, position: FeedPosition) -> None:
        return None

    def end(self, position: FeedPosition) -> bytes:
        return self.events([], position)


class StreamRenderer(_Renderer):
    """Server-sent events. The last event of a write carries the position behind the write."""

    ends_with_events = False

    def events(self, found: Sequence[WriteEvents], position: FeedPosition) -> bytes:
        return b"".join(piece for write in found for piece in self._write(write))

    def heartbeat(self, position: FeedPosition) -> bytes:
        # An id without data is not an event; it moves the position of a client that reconnects.
        return b": still here\nid: %s\n\n" % self.token(position)

    def reset(self, position: FeedPosition) -> bytes:
        return b"id: %s\nevent: reset\ndata: {}\n\n" % self.token(position)

    def end(self, position: FeedPosition) -> None:
        return None

    def _write(self, write: WriteEvents) -> Iterator[bytes]:
        for event in write.events:
            if event is write.events[-1]:
                yield b"id: %s\n" % self.token(write.position)
            yield b"event: %s\ndata: %s\n\n" % (event.kind.encode(), self.event(event))
