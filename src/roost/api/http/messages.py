"""What a handler is given, and what it gives back: HTTP without the framework."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from roost.api.versions import Version
from roost.model import Value


class Request(Value, frozen=True, kw_only=True):
    """One request, after authentication, negotiation of the version, and routing."""

    version: Version
    root_path: str = ""  # where the API is mounted, for links: "/placement", or nothing
    query_string: str = ""  # as sent, still quoted
    body: bytes = b""
    wants_events: bool = False  # a stream of server-sent events rather than JSON
    last_event_id: str | None = None  # where a client was that comes back to a stream


class Reply(Value, frozen=True, kw_only=True):
    """One response; what is None is not sent."""

    status: int = 200
    body: Any = None  # encoded as JSON, unless it is bytes; None: no body and no content type
    stream: Iterable[bytes] | None = None  # server-sent events, instead of a body
    location: str | None = None  # a path of this API, sent as an absolute URL
    # From 1.15 replies that show state say when it was last written (None: just now), and must
    # not be cached. Replies to verbs without a body mostly show nothing.
    shows_state: bool = False
    modified: datetime | None = None


class OpenReply(Value, frozen=True, kw_only=True):
    """One response to an open route, whatever the client says that it accepts."""

    status: int = 200
    body: bytes
