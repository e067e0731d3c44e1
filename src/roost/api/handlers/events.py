"""GET /events: the change feed, as JSON or as a stream of server-sent events."""

import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from roost.api.http.messages import Reply, Request
from roost.api.http_error import HttpError
from roost.api.parsing import query_string
from roost.api.parsing.tokens import FeedPosition, decode_position, encode_position
from roost.api.schemas.events import WAIT_SECONDS_MAX
from roost.errors import PositionGone, Unavailable
from roost.model import Event, EventKind
from roost.operations.events import (
    EventFilter,
    WriteEvents,
    await_events,
    current_position,
    read_events,
)
from roost.quoting import quote_value
from roost.service.service import Roost
from roost.uuids import canonical_uuid

# Proxies close a connection on which nothing is sent for long.
HEARTBEAT_SECONDS = 5.0

# After a stream ends, the client reconnects after this many milliseconds.
_BEGIN = b"retry: 100\n\n"


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
        seconds = float(wait) if wait is not None else WAIT_SECONDS_MAX
        return Reply(stream=_stream(roost, _position(roost, after), event_filter, seconds))
    if after is None:
        return _reply(current_position(roost), [])
    position = decode_position(after)
    if not int(wait or 0):
        found = read_events(roost, position=position, event_filter=event_filter)
        return _reply(found[-1].position if found else position, found)
    with roost.waiters.entered():
        until = time.monotonic() + int(wait or 0)
        return _reply(
            *await_events(roost, position=position, event_filter=event_filter, until=until)
        )


def _parse_kinds(names: Sequence[str]) -> frozenset[EventKind]:
    known = tuple(kind.value for kind in EventKind)
    # The schema has checked only the first and the last.
    unknown = [name for name in names if name not in known]
    if unknown:
        raise HttpError(
            400,
            query_string.INVALID.format(
                f"{quote_value(unknown[0])} is no 'kind', expected one of {known}"
            ),
        )
    return frozenset(map(EventKind, names))


def _position(roost: Roost, after: str | None) -> FeedPosition:
    return dict(current_position(roost)) if after is None else decode_position(after)


def _reply(position: Any, found: list[WriteEvents]) -> Reply:
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
# Streams


class Stream:
    """The bytes of a stream. It holds a place among the waiters, and frees it when it ends."""

    def __init__(self, pieces: Iterator[bytes], leave: Callable[[], None]) -> None:
        self._pieces = pieces
        # Not every server calls `close`, and a generator that was never started runs no `finally`.
        self.close = weakref.finalize(self, leave)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._pieces)
        except BaseException:
            self.close()
            raise


def _stream(
    roost: Roost, position: FeedPosition, event_filter: EventFilter, seconds: float
) -> Stream:
    roost.waiters.enter()
    return Stream(_pieces(roost, position, event_filter, seconds), roost.waiters.leave)


def _pieces(
    roost: Roost, position: Any, event_filter: EventFilter, seconds: float
) -> Iterator[bytes]:
    end = time.monotonic() + seconds
    yield _BEGIN
    try:
        while True:
            until = min(end, time.monotonic() + HEARTBEAT_SECONDS)
            try:
                position, found = await_events(
                    roost, position=position, event_filter=event_filter, until=until
                )
            except PositionGone:
                position, found = current_position(roost), []
                yield _piece("reset", {}, position)
            for write in found:
                yield _pieces_of(write)
            if roost.waiters.is_stopping or time.monotonic() >= end:
                return
            # An id without data is not an event; it moves the position of a client that reconnects.
            yield f": still here\nid: {encode_position(position)}\n\n".encode()
    except Unavailable:
        # The status has been sent, so the stream can only end. The client reconnects, and
        # then gets a 503.
        return


def _pieces_of(write: WriteEvents) -> bytes:
    """The events of one write; the last one carries the position behind the write."""
    *first, last = write.events
    return b"".join(
        [
            *(_piece(event.kind, render(event)) for event in first),
            _piece(last.kind, render(last), write.position),
        ]
    )


def _piece(kind: str, data: dict[str, Any], position: Any = None) -> bytes:
    head = "" if position is None else f"id: {encode_position(position)}\n"
    return f"{head}event: {kind}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n"
