"""The outermost middleware: what happens to every request, whatever answers it.

It gives the request its ids, takes the prefix off its path, and when the response begins it logs
and counts the request.
"""

import functools
import logging
import re
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

from roost.api.http.error_response import new_request_id
from roost.api.http.messages import (
    GLOBAL_REQUEST_ID,
    REQUEST_ID,
    ROUTE,
    Application,
    Environ,
    StartResponse,
)
from roost.api.http.path_set import NO_PATHS, PathSet
from roost.api.versions import HEADER as VERSION_HEADER
from roost.observe import logs, metrics
from roost.observe.counting import Counter, Histogram
from roost.quoting import quote

# Operators set the level of this logger by name, so the name does not follow the module.
# Annotations of functions within functions are evaluated for each request, and these take long.
Headers = list[tuple[str, str]]
Write = Callable[[bytes], object]

LOG = logging.getLogger("roost.requests")

REQUEST_ID_HEADER = "x-openstack-request-id"

# A client that works on behalf of another request sends its id. Any other text is ignored, so that
# clients cannot write into the log.
_REQUEST_ID_FORM = re.compile(
    r"req-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE
)

# Of what a line of the log repeats. The longest URL that a server accepts has 64 kB.
_METHOD_LENGTH_MAX = 32
_URI_LENGTH_MAX = 4096

# The methods that have a label of their own; clients can invent any number of others.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


class RequestMiddleware:
    """Gives requests their ids, and logs and counts them."""

    def __init__(
        self,
        application: Application,
        prefix: str = "",
        quiet_paths: PathSet = NO_PATHS,
    ) -> None:
        """Requests to quiet paths come all the time, so they are logged at DEBUG."""
        self._application = application
        self._prefix = prefix
        self._quiet_paths = quiet_paths

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        begun = perf_counter()
        request_id = environ[REQUEST_ID] = new_request_id()
        given: str | None = environ.get("HTTP_X_OPENSTACK_REQUEST_ID", "")
        if given and _REQUEST_ID_FORM.fullmatch(given):
            environ[GLOBAL_REQUEST_ID] = given
        else:
            given = None
        logs.request_id.set(request_id)
        logs.global_request_id.set(given)
        uri = _uri(environ) if LOG.isEnabledFor(logging.INFO) else None
        if self._prefix:
            self._remove_prefix(environ)
        level = logging.INFO
        if environ.get("PATH_INFO", "") in self._quiet_paths:
            level = logging.DEBUG

        def start(status: str, headers: Headers, *error: Any) -> Write:
            if uri is not None:
                _log(level, environ, uri, status, headers)
            headers = [*headers, (REQUEST_ID_HEADER, request_id)]
            _count(environ, status, perf_counter() - begun)
            write: Write = start_response(status, headers, *error)
            return write

        return self._application(environ, start)

    def _remove_prefix(self, environ: Environ) -> None:
        path = environ.get("PATH_INFO", "")
        if has_prefix(path, self._prefix):
            environ["SCRIPT_NAME"] = environ.get("SCRIPT_NAME", "") + self._prefix
            environ["PATH_INFO"] = path.removeprefix(self._prefix)


def has_prefix(path: str, prefix: str) -> bool:
    """Whether a path lies below the prefix at which the API is served."""
    return path == prefix or path.startswith(prefix + "/")


# ---------------------------------------------------------------------------------------------
# Log


def _uri(environ: Environ) -> str:
    uri = str(environ.get("SCRIPT_NAME", "")) + str(environ.get("PATH_INFO", ""))
    query = environ.get("QUERY_STRING")
    return quote(f"{uri}?{query}" if query else uri, _URI_LENGTH_MAX)


def _log(
    level: int, environ: Environ, uri: str, status: str, headers: list[tuple[str, str]]
) -> None:
    named = {name.lower(): value for name, value in headers}
    # The version is the second word: `placement 1.39`.
    version = named.get(VERSION_HEADER, "").rpartition(" ")[2]
    LOG.log(
        level,
        '%s "%s %s" status: %s len: %s microversion: %s',
        environ.get("REMOTE_ADDR") or "-",
        quote(environ.get("REQUEST_METHOD", "-"), _METHOD_LENGTH_MAX),
        uri,
        status[:3],
        named.get("content-length", "-"),
        version or "-",
    )


# ---------------------------------------------------------------------------------------------
# Metrics


def _count(environ: Environ, status: str, seconds: float) -> None:
    """Count a request that is answered with a status such as `200 OK`."""
    method = environ.get("REQUEST_METHOD", "")
    if method not in _METHODS:
        method = metrics.OTHER
    requests, times = _series(environ.get(ROUTE, metrics.OTHER), method, status[:3])
    requests.inc()
    times.observe(seconds)


# The cache is bounded: labels are routes of the table, the methods above, and statuses.
@functools.cache
def _series(route: str, method: str, status: str) -> tuple[Counter, Histogram]:
    return (
        metrics.REQUESTS.labels(route, method, status),
        metrics.REQUEST_SECONDS.labels(route, method),
    )
