"""Paths beside the API, for operators: probes, metrics, and the OpenAPI document.

They answer while the database is unavailable; `/readyz` then says so.
"""

import functools
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from roost.api import openapi
from roost.api.http.messages import JSON, OpenReply, OpenRequest, StartResponse
from roost.api.http_error import ErrorCode, HttpError
from roost.api.parsing import query_string
from roost.api.routes import OpenRoute
from roost.api.schemas import probes as schemas
from roost.api.versions import VERSION_MAX, VERSION_MIN, VERSIONS, Version
from roost.observe import exposition
from roost.quoting import quote
from roost.service.readiness import Readiness, is_ready
from roost.service.summary_gauges import SummaryGauges

LIVEZ = "/livez"
# Hardly anybody asks for another version than the newest.
DOCUMENTS_CACHED = 4
_ALIVE = b'{"status": "alive"}'


class Probed(NamedTuple):
    """What the paths ask."""

    readiness: Readiness
    summary: SummaryGauges


def livez(_: Probed, request: OpenRequest) -> OpenReply:
    return OpenReply(body=_ALIVE)


def answer_livez(start_response: StartResponse) -> Iterable[bytes]:
    """The same answer, while the application cannot be built."""
    headers = [("content-type", JSON), ("content-length", str(len(_ALIVE)))]
    start_response("200 OK", [*headers, ("cache-control", "no-cache")])
    return [_ALIVE]


def readyz(probed: Probed, request: OpenRequest) -> OpenReply:
    checks = probed.readiness.check()
    ready = is_ready(checks)
    body = {"status": "ready" if ready else "not ready", "checks": checks}
    return OpenReply(status=200 if ready else 503, body=msgspec.json.encode(body))


def metrics(probed: Probed, request: OpenRequest) -> OpenReply:
    return OpenReply(body=exposition.scrape() + probed.summary.text())


def document(_: Probed, request: OpenRequest) -> OpenReply:
    (version,) = query_string.split(request.query_string).get("version", ["latest"])[-1:]
    return OpenReply(body=_encoded_document(request.root_path, _parse_version(version)))


def _parse_version(text: str) -> Version:
    if text == "latest":
        return VERSION_MAX
    if text not in VERSIONS:
        raise HttpError(
            400,
            f"version: {quote(text)!r}, expected {VERSION_MIN} to {VERSION_MAX}, or latest",
            ErrorCode.QUERY_BAD_VALUE,
        )
    major, minor = map(int, text.split("."))
    return Version(major, minor)


@functools.lru_cache(DOCUMENTS_CACHED)
def _encoded_document(root_path: str, version: Version) -> bytes:
    return msgspec.json.encode(openapi.document(OPEN_ROUTES, root_path, version))


OPEN_ROUTES = (
    OpenRoute(
        LIVEZ,
        "Does the process answer?",
        "Always 200. A process that does not answer is to be started again.",
        livez,
        JSON,
        schemas.ALIVE,
    ),
    OpenRoute(
        "/readyz",
        "Does the database answer and take writes, and is the index caught up?",
        "503 if one of them does not; the body says which. Send the process no requests meanwhile.",
        readyz,
        JSON,
        schemas.READINESS,
        statuses=(200, 503),
    ),
    OpenRoute(
        "/metrics",
        "Metrics, for Prometheus.",
        "In the text format, of all processes of the service that share a folder for them.",
        metrics,
        exposition.CONTENT_TYPE,
        schemas.METRICS,
    ),
    OpenRoute(
        "/openapi.json",
        "This document.",
        "The API in one version, the newest if `version` does not choose another.",
        document,
        JSON,
        schemas.DOCUMENT,
        query=schemas.DOCUMENT_QUERY,
    ),
)
OPEN_PATHS = frozenset(route.path for route in OPEN_ROUTES)
