"""Requests as the metrics count them: by route, method and status."""

import functools
from typing import Any

from prometheus_client import Counter, Histogram

from roost.observe import metrics

# Where the path of the table that serves a request is noted, once it is known.
ROUTE = "roost.route"

# Whatever else a client calls its method has no name of its own.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


def count(environ: dict[str, Any], status: str, seconds: float) -> None:
    """A request was answered, with a status such as `200 OK`."""
    method = environ.get("REQUEST_METHOD", "")
    if method not in _METHODS:
        method = metrics.OTHER
    requests, times = _series(environ.get(ROUTE, metrics.OTHER), method, status[:3])
    requests.inc()
    times.observe(seconds)


# There are as many as the tables have routes, methods and statuses.
@functools.cache
def _series(route: str, method: str, status: str) -> tuple[Counter, Histogram]:
    return (
        metrics.REQUESTS.labels(route, method, status),
        metrics.REQUEST_SECONDS.labels(route, method),
    )
