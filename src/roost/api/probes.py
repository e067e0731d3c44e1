"""Paths beside the API, for operators: probes, metrics, and the OpenAPI document.

They answer while the database is unavailable; `/readyz` then says so.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from roost.api import openapi
from roost.api.http.messages import JSON, OpenReply, StartResponse
from roost.api.routes import OpenRoute
from roost.observe import exposition
from roost.service.readiness import Readiness, is_ready
from roost.service.summary_gauges import SummaryGauges

LIVEZ = "/livez"
_ALIVE = b'{"status": "alive"}'


class Probed(NamedTuple):
    """What the paths ask."""

    readiness: Readiness
    summary: SummaryGauges


def livez(_: Probed, root_path: str) -> OpenReply:
    return OpenReply(body=_ALIVE)


def answer_livez(start_response: StartResponse) -> Iterable[bytes]:
    """The same answer, while the application cannot be built."""
    headers = [("content-type", JSON), ("content-length", str(len(_ALIVE)))]
    start_response("200 OK", [*headers, ("cache-control", "no-cache")])
    return [_ALIVE]


def readyz(probed: Probed, root_path: str) -> OpenReply:
    checks = probed.readiness.check()
    ready = is_ready(checks)
    body = {"status": "ready" if ready else "not ready", "checks": checks}
    return OpenReply(status=200 if ready else 503, body=msgspec.json.encode(body))


def metrics(probed: Probed, root_path: str) -> OpenReply:
    return OpenReply(body=exposition.scrape() + probed.summary.text())


def document(_: Probed, root_path: str) -> OpenReply:
    return OpenReply(body=msgspec.json.encode(openapi.document(OPEN_ROUTES, root_path)))


OPEN_ROUTES = (
    OpenRoute(LIVEZ, "Does the process answer?", livez, JSON),
    OpenRoute(
        "/readyz",
        "Does the database answer and take writes, and is the index caught up?",
        readyz,
        JSON,
        statuses=(200, 503),
    ),
    OpenRoute("/metrics", "Metrics, for Prometheus.", metrics, exposition.CONTENT_TYPE),
    OpenRoute("/openapi.json", "This document.", document, JSON),
)
OPEN_PATHS = frozenset(route.path for route in OPEN_ROUTES)
