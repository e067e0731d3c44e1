"""What every request passes first, whoever answers it in the end.

It gets its identifiers, the prefix is taken off its path, and its line in the log is written.
"""

import logging
import re
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

from roost.api.http import request_metrics
from roost.api.http.error_response import new_request_id
from roost.api.versions import HEADER as VERSION_HEADER
from roost.observe import logs

# Operators set its level by this name, which does not follow the module.
LOG = logging.getLogger("roost.requests")

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]

REQUEST_ID_HEADER = "x-openstack-request-id"
# Under the names that other middleware of OpenStack looks for.
REQUEST_ID = "openstack.request_id"
GLOBAL_REQUEST_ID = "openstack.global_request_id"

# A client that works for another request says which; nothing else may get into logs.
_KNOWN_ID = re.compile(
    r"req-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE
)


class Entrance:
    """The outermost part of the application."""

    def __init__(
        self,
        application: Application,
        prefix: str = "",
        quiet_paths: frozenset[str] = frozenset(),
    ) -> None:
        """Requests to quiet paths, which come every few seconds, are logged for debugging only."""
        self._application = application
        self._prefix = prefix
        self._quiet_paths = quiet_paths

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        begun = perf_counter()
        request_id = environ[REQUEST_ID] = new_request_id()
        given: str | None = environ.get("HTTP_X_OPENSTACK_REQUEST_ID", "")
        if given and _KNOWN_ID.fullmatch(given):
            environ[GLOBAL_REQUEST_ID] = given
        else:
            given = None
        logs.request_id.set(request_id)
        logs.global_request_id.set(given)
        uri = _uri(environ) if LOG.isEnabledFor(logging.INFO) else None
        if self._prefix:
            self._take_prefix(environ)
        level = logging.DEBUG if environ.get("PATH_INFO") in self._quiet_paths else logging.INFO

        def start(
            status: str, headers: list[tuple[str, str]], *error: Any
        ) -> Callable[[bytes], object]:
            if uri is not None:
                _log(level, environ, uri, status, headers)
            headers = [*headers, (REQUEST_ID_HEADER, request_id)]
            request_metrics.count(environ, status, perf_counter() - begun)
            write: Callable[[bytes], object] = start_response(status, headers, *error)
            return write

        return self._application(environ, start)

    def _take_prefix(self, environ: Environ) -> None:
        path = environ.get("PATH_INFO", "")
        if path == self._prefix or path.startswith(self._prefix + "/"):
            environ["SCRIPT_NAME"] = environ.get("SCRIPT_NAME", "") + self._prefix
            environ["PATH_INFO"] = path.removeprefix(self._prefix)


def _uri(environ: Environ) -> str:
    uri = str(environ.get("SCRIPT_NAME", "")) + str(environ.get("PATH_INFO", ""))
    query = environ.get("QUERY_STRING")
    return f"{uri}?{query}" if query else uri


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
        environ.get("REQUEST_METHOD", "-"),
        uri,
        status[:3],
        named.get("content-length", "-"),
        version or "-",
    )
