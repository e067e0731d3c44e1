"""What the layers of the API hand to each other.

WSGI between server, middleware and framework; `Request` and `Reply` between framework and handlers.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from roost.api.http.exchange import Watch
from roost.api.schemas import Schema
from roost.api.versions import Version
from roost.model import Value

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]

# Keys of the WSGI environment. Other middleware of OpenStack knows the first two by these names.
REQUEST_ID = "openstack.request_id"
GLOBAL_REQUEST_ID = "openstack.global_request_id"
ROUTE = "roost.route"  # the path in the table of routes, once it is known

# Media types.
JSON = "application/json"
EVENTS = "text/event-stream"
HTML = "text/html"
PLAIN = "text/plain"


class Request(Value, frozen=True, kw_only=True):
    """One request, after authentication, negotiation of the version, and routing."""

    version: Version
    sender: str | None = None  # the user, for the log
    root_path: str = ""  # where the API is mounted, for links: "/placement", or nothing
    query_string: str = ""  # as sent, still quoted
    query_schema: Schema  # of the route, in this version; empty if the route has none
    body: bytes = b""
    body_schema: Schema  # likewise
    wants_events: bool = False  # a stream of server-sent events rather than JSON
    last_event_id: str | None = None  # the last event that a client saw before it reconnected
    waits_without_thread: bool = False  # the server in front carries on a watch by itself


class Reply(Value, frozen=True, kw_only=True):
    """One response; what is None is not sent."""

    status: int = 200
    body: Any = None  # encoded as JSON, unless it is bytes; None: no body and no content type
    pieces: Iterable[bytes] | None = None  # JSON that is made while it is sent, instead of a body
    length: int | None = None  # of all pieces together; None: not known
    watch: Watch | None = None  # instead of a body: pieces that come when something happens
    media_type: str = JSON  # of the body, or of the watch
    location: str | None = None  # a path of this API, sent as an absolute URL
    # From 1.15 on, replies that show state say when it was last written (None: just now), and
    # must not be cached. Most replies without a body show no state.
    shows_state: bool = False
    modified: datetime | None = None


class OpenRequest(Value, frozen=True, kw_only=True):
    """One request to an open route."""

    root_path: str  # as of `Request`
    query_string: str


class OpenReply(Value, frozen=True, kw_only=True):
    """One response of an open route, whatever media type the client accepts."""

    status: int = 200
    body: bytes
