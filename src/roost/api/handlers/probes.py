"""Paths for those who operate the service, beside the API.

They answer while the database is away; what that means for the service is what `/readyz` tells.
"""

from collections.abc import Iterable

import msgspec

from roost.api import openapi
from roost.api.http import error_response
from roost.api.http.messages import OpenReply
from roost.api.http.request_middleware import StartResponse
from roost.api.routes import OpenRoute
from roost.observe import exposition
from roost.service.readiness import Readiness, is_ready

LIVEZ = "/livez"
_ALIVE = b'{"status": "alive"}'


def livez(_: Readiness, root_path: str) -> OpenReply:
    return OpenReply(body=_ALIVE)


def answer_livez(start_response: StartResponse) -> Iterable[bytes]:
    """The same answer where there is no application yet."""
    headers = [("content-type", error_response.JSON), ("content-length", str(len(_ALIVE)))]
    start_response("200 OK", [*headers, ("cache-control", "no-cache")])
    return [_ALIVE]


def readyz(readiness: Readiness, root_path: str) -> OpenReply:
    checks = readiness.check()
    ready = is_ready(checks)
    body = {"status": "ready" if ready else "not ready", "checks": checks}
    return OpenReply(status=200 if ready else 503, body=msgspec.json.encode(body))


def metrics(_: Readiness, root_path: str) -> OpenReply:
    return OpenReply(body=exposition.scrape())


def document(_: Readiness, root_path: str) -> OpenReply:
    return OpenReply(body=msgspec.json.encode(openapi.document(OPEN_ROUTES, root_path)))


OPEN_ROUTES = (
    OpenRoute(LIVEZ, "Does the process answer?", livez, error_response.JSON),
    OpenRoute(
        "/readyz",
        "Does the database answer, and is the index caught up?",
        readyz,
        error_response.JSON,
        statuses=(200, 503),
    ),
    OpenRoute("/metrics", "Metrics, for Prometheus.", metrics, exposition.CONTENT_TYPE),
    OpenRoute("/openapi.json", "This document.", document, error_response.JSON),
)
OPEN_PATHS = frozenset(route.path for route in OPEN_ROUTES)
