"""The change feed: what every process of the service has written."""

from collections.abc import Iterable

from roost.client import wire
from roost.client.calls import EXTENSION, Call, Page, Pages, given, pages, request
from roost.client.values import Event, Events

# How long the service lets a request wait for an event.
WAIT_SECONDS_MAX = 25


class EventRequests:
    @request
    def events(
        self,
        after: str | None = None,
        *,
        wait: int = 0,
        kinds: Iterable[str] = (),
        tree: str | None = None,
    ) -> Call[Events]:
        """What changed after a position; without a position, no events and the current position.

        If there are no events, the service waits up to `wait` seconds, at most 25, for one. `kinds`
        selects the kinds of events, and `tree` the tree by the UUID of a provider in it. A position
        that is too old raises `Gone`: then get a new position, and read everything again. Only
        roost has this request.
        """
        query = given(kind=sorted(kinds), after=after, tree=tree, wait=wait or None)
        return Call(
            method="GET",
            path="/events",
            query=query,
            read=wire.events,
            since=EXTENSION,
            wait=wait,
        )

    @pages
    def watch(
        self, after: str | None = None, *, kinds: Iterable[str] = (), tree: str | None = None
    ) -> Pages[Event]:
        """Every event after a position, without an end; by default after the first request.

        While the service is away it waits, and then goes on where it was: no event is missed. A
        position that is too old raises `Gone`: then get a new position, and read everything again.
        Only roost has this request.
        """
        query = given(kind=sorted(kinds), after=after, tree=tree, wait=WAIT_SECONDS_MAX)
        first: Call[Page[Event]] = Call(
            method="GET",
            path="/events",
            query=query,
            read=wire.events_page,
            since=EXTENSION,
            wait=WAIT_SECONDS_MAX,
            patient=True,
        )
        return Pages(first)
