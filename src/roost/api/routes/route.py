"""The values that the table of routes is made of."""

from collections.abc import Callable, Sequence

from roost.api.handlers.root import Extension
from roost.api.http.messages import EVENTS, JSON, OpenReply, Reply, Request
from roost.api.schemas import Schema, SchemaByVersion
from roost.api.versions import VERSION_MAX, VERSION_MIN
from roost.model import Value

# A handler takes the service, the request, and the parameters of the path.
Handler = Callable[..., Reply]


class PolicyRule(Value, frozen=True):
    """A rule of the policy. In a policy file, operators change who may use its routes."""

    name: str  # as in the policy files of Placement
    description: str = ""  # empty: the summary of its only route
    default: str = "rule:admin_or_service_api"


class Route(Value, frozen=True):
    """One method of one path, in a range of versions."""

    method: str
    path: str
    handler: Handler
    rule: PolicyRule | None  # None: everybody may use it, even without a token
    summary: str  # one line
    description: str = ""  # what else a client should know
    # Versions outside of the range answer with `status_before`: 404, or 405 where the path existed
    # before the method.
    since: tuple[int, int] = VERSION_MIN
    until: tuple[int, int] = VERSION_MAX
    status_before: int = 404
    query: SchemaByVersion | None = None  # None: the query string is not read
    body: SchemaByVersion | None = None  # None: the body is not read
    statuses: tuple[int, ...] = (200,)  # of success
    answer: SchemaByVersion | None = None  # of a success; None: it has no body
    names_location: bool = False  # a success has the header `location`
    shows_state: bool | None = None  # see `Reply.shows_state`; None: if it has a body
    extension: Extension | None = None  # None: a route of Placement
    may_be_large: bool = False  # the body, see `roost.api.routes.bounds`
    may_take_long: bool = False  # its work depends on how much there is, or on what it asks for
    streams_events: bool = False  # it can answer with server-sent events instead of JSON
    checks_accept: bool = True  # False: it answers with JSON whatever the client accepts
    # Returns the project that a request is about, where the rule depends on it.
    project_of: Callable[[Request], str | None] | None = None
    # Returns the names of further rules, those of other routes whose answers a request asks for.
    rules_besides: Callable[[Request], Sequence[str]] | None = None
    operation_id: str = ""  # of OpenAPI; by default `module.function` of the handler

    @property
    def media_types(self) -> tuple[str, ...]:
        """The media types of which a client must accept one; none if it need not accept any."""
        if self.method != "GET" or 200 not in self.statuses or not self.checks_accept:
            return ()
        return (JSON, EVENTS) if self.streams_events else (JSON,)


class OpenRoute(Value, frozen=True):
    """A path beside the API, for GET only: without a token, a version or a policy."""

    path: str
    summary: str
    description: str
    respond: Callable[..., OpenReply]
    content_type: str
    answer: Schema
    statuses: tuple[int, ...] = (200,)
    query: Schema | None = None  # None: the query string is not read
