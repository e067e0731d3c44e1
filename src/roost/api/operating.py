"""Paths for those who operate the service, beside the API.

They answer while the database is away; what that means for the service is what `/readyz` tells.
"""

import msgspec

from roost import scrape
from roost.api import errors, openapi
from roost.api.messages import OpenReply
from roost.api.routes import OpenRoute
from roost.readiness import Readiness, is_ready


def livez(_: Readiness, root_path: str) -> OpenReply:
    return OpenReply(body=b'{"status": "alive"}')


def readyz(readiness: Readiness, root_path: str) -> OpenReply:
    checks = readiness.check()
    ready = is_ready(checks)
    body = {"status": "ready" if ready else "not ready", "checks": checks}
    return OpenReply(status=200 if ready else 503, body=msgspec.json.encode(body))


def metrics(_: Readiness, root_path: str) -> OpenReply:
    return OpenReply(body=scrape.scrape())


def document(_: Readiness, root_path: str) -> OpenReply:
    return OpenReply(body=msgspec.json.encode(openapi.document(OPEN_ROUTES, root_path)))


OPEN_ROUTES = (
    OpenRoute("/livez", "Does the process answer?", livez, errors.JSON),
    OpenRoute(
        "/readyz",
        "Does the database answer, and is the index caught up?",
        readyz,
        errors.JSON,
        statuses=(200, 503),
    ),
    OpenRoute("/metrics", "Metrics, for Prometheus.", metrics, scrape.CONTENT_TYPE),
    OpenRoute("/openapi.json", "This document.", document, errors.JSON),
)
OPEN_PATHS = frozenset(route.path for route in OPEN_ROUTES)
