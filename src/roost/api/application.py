"""The WSGI application: the framework's side of the API.

A request passes authentication, then the negotiation of its version, then the table of routes,
then the checks of its headers, then policy; then its handler sees it. Whatever is raised on the
way becomes a response in one place.
"""

import functools
import logging
from datetime import UTC, datetime
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

import falcon
import msgspec
from falcon.constants import COMBINED_METHODS

from roost.api import auth, error_table, errors, incoming, policy, versions
from roost.api.errors import HttpError
from roost.api.messages import Reply
from roost.api.routes import ROUTES, Route
from roost.api.versions import Version
from roost.errors import RoostError
from roost.service import Roost

LOG = logging.getLogger(__name__)

REQUEST_ID_HEADER = "x-openstack-request-id"

# From this version on replies say when what they show was last written.
SINCE_LAST_MODIFIED = (1, 15)
# From this version on errors have a code.
SINCE_ERROR_CODE = (1, 23)


def create_application(roost: Roost) -> falcon.App[falcon.Request, falcon.Response]:
    """The API of this service, for any WSGI server."""
    application = falcon.App(middleware=[Front()])
    # A response without a body has no content type; replies with one name it themselves.
    application.resp_options.default_media_type = None  # type: ignore[assignment]
    # The second replaces the framework's own handler, which is found first for its own errors.
    application.add_error_handler(Exception, refuse)
    application.add_error_handler(falcon.HTTPError, refuse)
    for path in dict.fromkeys(route.path for route in ROUTES):
        routes = [route for route in ROUTES if route.path == path]
        respond = functools.partial(_respond, roost, routes)
        # Every method comes here, so that the table alone decides which ones there are.
        responders = {f"on_{method.lower()}": respond for method in COMBINED_METHODS}
        application.add_route(path, SimpleNamespace(**responders))
    return application


class Front:
    """What happens before a path is looked at."""

    def process_request(self, request: falcon.Request, response: falcon.Response) -> None:
        context = request.context
        _begin(request, response)
        # Everybody may ask which versions there are.
        context.identity = None if request.path == "/" else auth.identify(request.get_header)
        context.version = versions.negotiate(request.get_header(versions.HEADER))


def _begin(request: falcon.Request, response: falcon.Response) -> None:
    request.context.request_id = errors.new_request_id()
    request.context.version = None
    response.set_header(REQUEST_ID_HEADER, request.context.request_id)


def _respond(
    roost: Roost,
    routes: list[Route],
    request: falcon.Request,
    response: falcon.Response,
    **parameters: str,
) -> None:
    version = request.context.version
    incoming.check_length(request)
    if any(not value or "\0" in value for value in parameters.values()):
        # Nothing has such a name: a path that ends in a slash, or what no database takes.
        raise HttpError(404)
    route = _choose(routes, request.method, version)
    incoming.check_media_types(request, route)
    message = incoming.read(request, version)
    if route.rule is not None:
        project = route.project_of(message) if route.project_of else None
        policy.check(request.context.identity, route.rule, project)
    _send(route.handler(roost, message, **parameters), version, request, response)


def _choose(routes: list[Route], method: str, version: Version) -> Route:
    """The entry of the table for a method; it is a 404 in versions that do not know it yet."""
    known = [route for route in routes if route.method == method]
    for route in known:
        if route.since <= version <= route.until:
            return route
    if known and known[0].status_before == 404:
        raise HttpError(404)
    allowed = dict.fromkeys(r.method for r in routes if r not in known)
    raise HttpError(
        405,
        "The method specified is not allowed for this resource.",
        headers={"allow": ", ".join(allowed)},
    )


def _send(
    reply: Reply, version: Version, request: falcon.Request, response: falcon.Response
) -> None:
    response.status = reply.status
    if reply.body is None:
        response.content_type = None
    else:
        response.content_type = errors.JSON
        response.data = (
            reply.body if isinstance(reply.body, bytes) else msgspec.json.encode(reply.body)
        )
    if reply.location is not None:
        response.set_header("location", request.prefix + reply.location)
    if reply.shows_state and version >= SINCE_LAST_MODIFIED:
        response.last_modified = reply.modified or datetime.now(UTC)
        response.set_header("cache-control", "no-cache")
    _name_version(response, version)


def _name_version(response: falcon.Response, version: Version) -> None:
    response.set_header(versions.HEADER, f"{versions.SERVICE} {version}")
    response.append_header("vary", versions.HEADER)


def refuse(
    request: falcon.Request, response: falcon.Response, error: Exception, _: dict[str, Any]
) -> None:
    """Turn whatever was raised into a response."""
    if not hasattr(request.context, "request_id"):
        # The framework refuses some methods before anybody has seen the request.
        _begin(request, response)
    refusal = _as_http(request, error)
    version = request.context.version
    media_type = incoming.error_media_type(request)
    facts = errors.RequestFacts(
        method=request.method,
        accept=media_type if request.accept == "*/*" else request.accept,
        content_type=request.content_type,
    )
    body, content_type = errors.render(
        refusal,
        facts,
        media_type,
        request.context.request_id,
        with_code=version is not None and version >= SINCE_ERROR_CODE,
    )
    response.status = refusal.status
    response.data = body
    response.content_type = content_type
    response.set_headers(refusal.headers)
    if version is not None:
        _name_version(response, version)


def _as_http(request: falcon.Request, error: Exception) -> HttpError:
    match error:
        case HttpError():
            return error
        case RoostError():
            refusal = error_table.to_http(error)
            if refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                LOG.warning("%s %s: %s", request.method, request.path, error)
            return refusal
        case falcon.HTTPError() if error.status_code in errors.EXPLANATIONS:
            # Of the framework itself: no such path, a header that makes no sense.
            return HttpError(error.status_code, error.description or "")
    LOG.error(
        "%s %s failed (%s)",
        request.method,
        request.path,
        request.context.request_id,
        exc_info=error,
    )
    return HttpError(500)
