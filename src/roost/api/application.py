"""The WSGI application: the framework's side of the API.

A request passes the middleware (`pipeline`), authentication, the negotiation of its version, the
table of routes, the checks of its headers, and the policy; then its handler is called. Whatever is
raised on the way becomes a response in one place.
"""

import contextvars
import functools
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

import falcon
import msgspec
from falcon.constants import COMBINED_METHODS

from roost.api import console, docs, probes, versions
from roost.api.access import authentication
from roost.api.access.policy import Policy, policy_of
from roost.api.http import error_response, error_table, request_reader
from roost.api.http.exchange import EXCHANGE, Exchange, Postponed, Watch
from roost.api.http.messages import (
    EVENTS,
    JSON,
    REQUEST_ID,
    ROUTE,
    Application,
    OpenRequest,
    Reply,
    Request,
)
from roost.api.http.path_set import PathSet
from roost.api.http.watch_pieces import WatchPieces
from roost.api.http_error import HttpError, method_not_allowed
from roost.api.pipeline import add_middleware
from roost.api.routes import ROUTES, OpenRoute, Route, bounds
from roost.api.schemas.errors import SINCE_CODE
from roost.api.versions import Version
from roost.errors import RoostError
from roost.observe import metrics
from roost.service.holds import TreeHeld
from roost.service.readiness import Readiness
from roost.service.service import Roost
from roost.service.summary_gauges import SummaryGauges
from roost.settings import Settings

LOG = logging.getLogger(__name__)

App = falcon.App[falcon.Request, falcon.Response]

# Of the WSGI environment. The framework would spell it for each request.
_VERSION_KEY = "HTTP_" + versions.HEADER.upper().replace("-", "_")

# Of the header `last-modified`. Most answers name this second, or the time when a cloud was filled.
DATES_CACHED = 1024


def open_paths(settings: Settings) -> PathSet:
    """The paths that need no token. The root, which lists the versions, is spelled in two ways."""
    return PathSet({"", "/"}) | _versionless_paths(settings)


def _versionless_paths(settings: Settings) -> PathSet:
    """The paths beside the API: they need no microversion either."""
    paths = PathSet(probes.OPEN_PATHS)
    if settings.has_docs:
        paths |= docs.PATHS
    return paths | console.PATHS if settings.has_console else paths


def create_application(roost: Roost) -> Application:
    """The API of this service, for any WSGI server."""
    settings = roost.settings
    identify = authentication.identification(
        settings.auth_strategy, allow_remote_noauth2=settings.allow_remote_noauth2
    )
    policy = policy_of(settings)
    middleware = RequestContextMiddleware(
        identify, open_paths(settings), _versionless_paths(settings)
    )
    application = falcon.App(middleware=[middleware])
    # A response without a body has no content type; one with a body sets it below.
    application.resp_options.default_media_type = None  # type: ignore[assignment]
    # The framework prefers the handler of the nearest base class, and has one for its own errors,
    # which the second line replaces.
    application.add_error_handler(Exception, refuse)
    application.add_error_handler(falcon.HTTPError, refuse)
    for path in dict.fromkeys(route.path for route in ROUTES):
        routes = [route for route in ROUTES if route.path == path]
        _add(application, path, functools.partial(_respond, roost, policy, routes))
    probed = probes.Probed(Readiness(roost), SummaryGauges(roost))
    for open_route in probes.OPEN_ROUTES:
        respond = functools.partial(_respond_openly, probed, open_route)
        _add(application, open_route.path, respond)
    quiet_paths = PathSet(probes.OPEN_PATHS)
    if settings.has_docs:
        application.add_sink(docs.respond, docs.PATTERN)
        quiet_paths |= docs.QUIET_PATHS
    if settings.has_console:
        application.add_sink(console.Console(settings).respond, console.PATTERN)
        quiet_paths |= console.QUIET_PATHS
    return add_middleware(
        application, settings, open_paths=open_paths(settings), quiet_paths=quiet_paths
    )


def _add(application: App, path: str, respond: Callable[..., None]) -> None:
    # All methods are registered, so that the table of routes alone decides which ones exist.
    responders = {f"on_{method.lower()}": respond for method in COMBINED_METHODS}
    application.add_route(path, SimpleNamespace(**responders))


class RequestContextMiddleware:
    """Puts the sender and the version of a request into its context, before it is routed."""

    def __init__(
        self, identify: authentication.Identify, open_paths: PathSet, versionless_paths: PathSet
    ) -> None:
        self._identify = identify
        self._open_paths = open_paths
        self._versionless_paths = versionless_paths

    def process_request(self, request: falcon.Request, response: falcon.Response) -> None:
        context = request.context
        context.identity = None
        if request.path not in self._open_paths:
            context.identity = self._identify(request.env)
        if request.path not in self._versionless_paths:
            context.version = versions.negotiate(request.env.get(_VERSION_KEY))


def _respond(
    roost: Roost,
    policy: Policy,
    routes: list[Route],
    request: falcon.Request,
    response: falcon.Response,
    **parameters: str,
) -> None:
    request.env[ROUTE] = routes[0].path
    version = request.context.version
    body_bytes_max = bounds.body_bytes_max(request.method, routes[0].path, roost.settings)
    request_reader.check_length(request, body_bytes_max)
    for value in parameters.values():
        if not value or "\0" in value:
            # Nothing has such a name: the path ends in a slash, or has a character that no database
            # stores.
            raise HttpError(404)
    route = _choose(routes, request.method, version)
    message = _read(request, version, route, body_bytes_max)
    if route.rule is not None:
        sender = request.context.identity
        project = route.project_of(message) if route.project_of else sender.project
        policy.check(sender, route.rule.name, project)
        for name in route.rules_besides(message) if route.rules_besides else ():
            policy.check(sender, name, project)
        # A route for everybody needs no database.
        roost.open()
    if "uuid" in parameters:
        parameters["uuid"] = roost.as_stored(parameters["uuid"])
    handle = functools.partial(route.handler, roost, message, **parameters)
    reply = _when_not_held(roost, handle, waits_without_thread=message.waits_without_thread)
    _send(reply, version, request, response)


def _when_not_held(
    roost: Roost, handle: Callable[[], Reply], *, waits_without_thread: bool
) -> Reply:
    """The reply of a handler, which may have to wait for the end of a hold and then runs again."""
    try:
        return handle()
    except TreeHeld as held:
        hold = held.hold
    if waits_without_thread:
        raise Postponed(roost.holds.admit(hold, takes_thread=False))

    def wait() -> Reply:
        roost.holds.admit(hold, takes_thread=True).wait()
        return _when_not_held(roost, handle, waits_without_thread=False)

    # In a context of its own: how long a request may wait is no concern of the next one.
    return contextvars.copy_context().run(wait)


def _read(request: falcon.Request, version: Version, route: Route, body_bytes_max: int) -> Request:
    if route.body is not None:
        request_reader.check_content_type(request)
    if media_types := route.media_types:
        request_reader.check_accept(request, media_types)
    return request_reader.read(
        request,
        version,
        sender=None if route.rule is None else request.context.identity.user,
        query_schema=route.query(version) if route.query else {},
        body_schema=route.body(version) if route.body else {},
        body_bytes_max=body_bytes_max,
        can_stream=route.streams_events,
    )


def _respond_openly(
    probed: probes.Probed, route: OpenRoute, request: falcon.Request, response: falcon.Response
) -> None:
    request.env[ROUTE] = route.path
    if request.method != "GET":
        raise method_not_allowed(["GET"])
    message = OpenRequest(root_path=request.root_path, query_string=request.query_string)
    reply = route.respond(probed, message)
    response.status = reply.status
    response.content_type = route.content_type
    response.data = reply.body
    response.set_header("cache-control", "no-cache")


def _choose(routes: list[Route], method: str, version: Version) -> Route:
    """The route of a method in this version; without one, a 404 or 405 as the table has it."""
    for route in routes:
        if route.method == method and route.since <= version <= route.until:
            return route
    known = [route for route in routes if route.method == method]
    if known and known[0].status_before == 404:
        raise HttpError(404)
    others = (route for route in routes if route not in known)
    # Placement names the methods of all versions. An extension is named where it is.
    named = [route for route in others if route.extension is None or version >= route.since]
    if not named:
        raise HttpError(404)
    raise method_not_allowed(dict.fromkeys(route.method for route in named))


def _send(
    reply: Reply, version: Version, request: falcon.Request, response: falcon.Response
) -> None:
    response.status = reply.status
    if reply.watch is not None:
        _send_watch(reply.watch, reply.media_type, request, response)
    elif reply.pieces is not None:
        exchange: Exchange | None = request.env.get(EXCHANGE)
        if exchange is not None:
            exchange.hold_pieces(reply.length)
        response.content_type = JSON
        response.stream = reply.pieces
        response.content_length = reply.length
    elif reply.body is None:
        response.content_type = None
    else:
        response.content_type = reply.media_type
        response.data = (
            reply.body if isinstance(reply.body, bytes) else msgspec.json.encode(reply.body)
        )
    if reply.location is not None:
        response.set_header("location", request.prefix + reply.location)
    if reply.shows_state and version >= versions.SINCE_LAST_MODIFIED:
        modified = reply.modified or datetime.now(UTC)
        date = _http_date(modified.replace(microsecond=0))
        response.set_headers([("last-modified", date), ("cache-control", "no-cache")])
    _set_version_headers(response, version)


def _send_watch(
    watch: Watch, media_type: str, request: falcon.Request, response: falcon.Response
) -> None:
    response.content_type = media_type
    exchange: Exchange | None = request.env.get(EXCHANGE)
    if exchange is not None:
        exchange.watch = watch
        # With no body at all, the framework would say that its length is 0.
        response.stream = ()
    elif media_type == EVENTS:
        response.stream = WatchPieces(watch)
    else:
        response.data = b"".join(WatchPieces(watch))
    if media_type == EVENTS:
        response.set_header("cache-control", "no-cache")
        # A proxy that buffers responses would never pass the first event on.
        response.set_header("x-accel-buffering", "no")


@functools.lru_cache(DATES_CACHED)
def _http_date(moment: datetime) -> str:
    return falcon.dt_to_http(moment)


@functools.cache
def _version_text(version: Version) -> str:
    return f"{versions.SERVICE} {version}"


def _set_version_headers(response: falcon.Response, version: Version) -> None:
    response.set_header(versions.HEADER, _version_text(version))
    response.append_header("vary", versions.HEADER)


def refuse(
    request: falcon.Request, response: falcon.Response, error: Exception, _: dict[str, Any]
) -> None:
    """Turn whatever was raised into a response."""
    refusal = _as_http(request, error)
    if refusal.status == HTTPStatus.CONFLICT:
        # Handlers that reword an error keep the original as the cause.
        refused = error.__cause__ if isinstance(error, HttpError) else error
        metrics.CONFLICTS.labels(type(refused or error).__name__).inc()
    # A request can be refused before its version is negotiated.
    version = getattr(request.context, "version", None)
    media_type = request_reader.error_media_type(request)
    facts = error_response.RequestFacts(
        method=request.method,
        accept=media_type if request.accept == "*/*" else request.accept,
        content_type=request.content_type,
    )
    body, content_type = error_response.render(
        refusal,
        facts,
        media_type,
        request.env[REQUEST_ID],
        with_code=version is not None and version >= SINCE_CODE,
    )
    response.status = refusal.status
    response.data = body
    response.content_type = content_type
    response.set_headers(refusal.headers)
    if version is not None:
        _set_version_headers(response, version)


def _as_http(request: falcon.Request, error: Exception) -> HttpError:
    match error:
        case HttpError():
            return error
        case RoostError():
            refusal = error_table.to_http(error)
            if refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                LOG.warning("%s %s: %s", request.method, request.path, error)
            return refusal
        case falcon.HTTPError() if error.status_code in error_response.EXPLANATIONS:
            # Raised by the framework itself: no such path, a malformed header.
            return HttpError(error.status_code, error.description or "")
    LOG.error(
        "%s %s failed (%s)",
        request.method,
        request.path,
        request.env[REQUEST_ID],
        exc_info=error,
    )
    return HttpError(500)
