"""The console over HTTP: its files, what a page must know before it has a token, and logins.

Like the probes, its paths need neither a token nor a version. What its pages show comes from the
API, which asks for both.
"""

import functools
import re
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import falcon
import msgspec

from roost import __version__
from roost.api.access.authentication import is_loopback
from roost.api.access.keystone import keystone_server
from roost.api.http import request_reader
from roost.api.http.error_table import RETRY_AFTER_SECONDS
from roost.api.http.messages import JSON, ROUTE
from roost.api.http.page_files import SECURITY_HEADERS, redirect, send_file
from roost.api.http.path_set import PathSet
from roost.api.http_error import HttpError, method_not_allowed
from roost.api.routes.bounds import LOGIN_BYTES_MAX
from roost.console import files, paths
from roost.console.login import (
    Credentials,
    KeystoneServer,
    KeystoneUnavailable,
    LoginRefused,
    Token,
    log_in,
)
from roost.settings import Settings

PATHS = PathSet({paths.ROOT}, {paths.HOME})
PATTERN = re.compile(rf"{paths.ROOT}(?:/|\Z)")
# A page loads dozens of files.
QUIET_PATHS = PathSet(folders={paths.STATIC})

# How many logins of a process may wait for Keystone at once. Each takes a thread.
LOGINS_MAX = 2

_TOKEN_OF_NOAUTH2 = "admin"
# Relative to each page, since a proxy may put a prefix before all of them.
_DOCUMENT = "../openapi.json"


class _Route(NamedTuple):
    path: str  # for the metrics
    method: str
    send: Callable[[falcon.Request, falcon.Response], None]


class Console:
    """Answers requests to `/console` and below."""

    def __init__(self, settings: Settings) -> None:
        self._auth_strategy = settings.auth_strategy
        self._keystone = keystone_server(settings) if settings.has_console_login else None
        self._logins = threading.BoundedSemaphore(LOGINS_MAX)
        self._routes = {
            paths.ROOT: _Route(paths.ROOT, "GET", _redirect),
            paths.SESSION: _Route(paths.SESSION, "GET", self._send_session),
        }
        if self._keystone is not None:
            send = functools.partial(self._send_token, self._keystone)
            self._routes[paths.TOKEN] = _Route(paths.TOKEN, "POST", send)

    def respond(self, req: falcon.Request, resp: falcon.Response, **_: Any) -> None:
        """Answer a request, as a sink of the framework, which gives the parameters their names."""
        # First, so that errors have them, too.
        resp.set_headers(SECURITY_HEADERS)
        route = self._choose(req.path)
        req.env[ROUTE] = route.path
        if req.method != route.method:
            raise method_not_allowed([route.method])
        route.send(req, resp)

    def _choose(self, path: str) -> _Route:
        if path.startswith(paths.STATIC):
            file = files.static_files().get(path.removeprefix(paths.STATIC))
            if file is not None:
                send = functools.partial(send_file, file)
                return _Route(f"{paths.STATIC}{{path}}", "GET", send)
        elif path in paths.PAGE_PATHS:
            return _Route(f"{paths.HOME}{{page}}", "GET", _send_index)
        elif path in self._routes:
            return self._routes[path]
        raise HttpError(404)

    def _send_session(self, request: falcon.Request, response: falcon.Response) -> None:
        # Elsewhere, users say themselves who they are.
        is_open = self._auth_strategy == "noauth2" and is_loopback(request.remote_addr)
        session = {
            "auth": self._auth_strategy,
            "token": _TOKEN_OF_NOAUTH2 if is_open else None,
            "login": self._keystone is not None,
            "version": __version__,
            "docs": _DOCUMENT,
        }
        _send_json(msgspec.json.encode(session), response)

    # -----------------------------------------------------------------------------------------
    # Logins

    def _send_token(
        self, keystone: KeystoneServer, request: falcon.Request, response: falcon.Response
    ) -> None:
        request_reader.check_length(request, LOGIN_BYTES_MAX)
        # No form of another page can send JSON.
        request_reader.check_content_type(request)
        body = request_reader.read_body(request, LOGIN_BYTES_MAX)
        try:
            credentials = msgspec.json.decode(body, type=Credentials)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            # It says where and what is expected, and repeats nothing of the body.
            raise HttpError(400, f"These are no credentials: {error}") from None
        token = self._log_in(keystone, credentials, request.remote_addr)
        _send_json(msgspec.json.encode(token), response)

    def _log_in(self, keystone: KeystoneServer, credentials: Credentials, address: str) -> Token:
        if not self._logins.acquire(blocking=False):
            raise _unavailable("Others are waiting for Keystone. Please retry later.")
        try:
            return log_in(keystone, credentials, address)
        except LoginRefused as error:
            raise HttpError(401, str(error)) from None
        except KeystoneUnavailable as error:
            raise _unavailable(str(error)) from None
        finally:
            self._logins.release()


def _unavailable(message: str) -> HttpError:
    return HttpError(503, message, headers={"retry-after": str(RETRY_AFTER_SECONDS)})


def _send_json(body: bytes, response: falcon.Response) -> None:
    response.content_type = JSON
    response.data = body
    # It may be a token.
    response.set_header("cache-control", "no-store")


# ---------------------------------------------------------------------------------------------
# Files


def _redirect(_: falcon.Request, response: falcon.Response) -> None:
    redirect(response, paths.HOME.lstrip("/"))


def _send_index(request: falcon.Request, response: falcon.Response) -> None:
    send_file(files.index_file(), request, response)
