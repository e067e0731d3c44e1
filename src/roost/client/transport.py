"""Sending requests: version negotiation, authentication, retries and errors."""

import random
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx
import msgspec

from roost.client.auth import Auth
from roost.client.errors import (
    ApiError,
    ConcurrentUpdate,
    NotUnderstood,
    Unauthorized,
    Unavailable,
    Unreachable,
    VersionUnavailable,
    api_error,
)

VERSION_HEADER = "openstack-api-version"
REQUEST_ID_HEADER = "x-openstack-request-id"

# The newest version that this client knows. For an older service it uses the service's newest.
VERSION_MAX = (1, 39)

TIMEOUT_SECONDS = 30.0
RETRIES = 4
_PAUSE_SECONDS_MIN = 0.05
_PAUSE_SECONDS_MAX = 5.0

Version = tuple[int, int]


class Transport:
    """Sends requests. Thread-safe."""

    def __init__(
        self, http: httpx.Client, auth: Auth, *, retries: int, request_id: str | None
    ) -> None:
        self._http = http
        self._auth = auth
        self._retries = retries
        self._request_id = request_id
        self._version: Version | None = None

    def close(self) -> None:
        self._http.close()

    @property
    def version(self) -> Version:
        """The newest version that both sides know; read from the service once."""
        if self._version is None:
            answer = self._attempt(_Request("GET", "/"), repeatable=True)
            try:
                found = answer["versions"][0]["max_version"]
                major, minor = map(int, found.split("."))
            except (KeyError, IndexError, TypeError, ValueError):
                raise NotUnderstood(f"{self._http.base_url} is not a placement service") from None
            self._version = min((major, minor), VERSION_MAX)
        return self._version

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        since: Version = (1, 0),
        until: Version | None = None,
        repeatable: bool = False,
        races: bool = False,
    ) -> Any:
        """Send a request, and return the decoded answer.

        `since` and `until` are the oldest and the newest version that have the request. A request
        is `repeatable` if sending it twice has the effect of sending it once. With `races` the
        request may lose a race against other clients, and may succeed when it is sent again.
        """
        if self.version < since:
            raise VersionUnavailable(
                f"{method} {path} needs version {since[0]}.{since[1]}, the service speaks "
                f"{self.version[0]}.{self.version[1]}"
            )
        version = min(self.version, until or VERSION_MAX)
        request = _Request(method, path, body, query or {}, version)
        return self._attempt(request, repeatable=repeatable or method == "GET", races=races)

    def _attempt(self, request: "_Request", *, repeatable: bool, races: bool = False) -> Any:
        attempt, renewed = 0, False
        while True:
            pause = 0.0
            try:
                return self._send(request, renewed=renewed)
            except Unreachable as error:
                if attempt >= self._retries or (error.sent and not repeatable):
                    raise
            except Unauthorized:
                # The token may have expired, or have been revoked.
                if renewed:
                    raise
                renewed = True
                continue
            except Unavailable as error:
                # Nothing was written, or the outcome of the write is unknown. In the second case
                # the generation in the request keeps it from taking effect twice.
                if attempt >= self._retries:
                    raise
                pause = error.retry_after
            except ConcurrentUpdate as error:
                if not races or attempt >= self._retries or "consumer generation" in error.detail:
                    raise
            except ApiError as error:
                # From a proxy: the service may or may not have got the request.
                lost = error.status in (502, 504)
                if not lost or not repeatable or attempt >= self._retries:
                    raise
            attempt += 1
            time.sleep(max(pause, _pause(attempt)))

    def _send(self, request: "_Request", *, renewed: bool) -> Any:
        method, path, body, query, version = request
        headers = {"accept": "application/json", **self._auth.headers(renewed=renewed)}
        if version is not None:
            headers[VERSION_HEADER] = f"placement {version[0]}.{version[1]}"
        if self._request_id is not None:
            headers[REQUEST_ID_HEADER] = self._request_id
        content = None
        if body is not None:
            content = msgspec.json.encode(body)
            headers["content-type"] = "application/json"
        try:
            response = self._http.request(
                method, path, content=content, params=dict(query) or None, headers=headers
            )
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise Unreachable(f"{self._http.base_url}: {error}", sent=False) from error
        except httpx.HTTPError as error:
            raise Unreachable(f"{method} {path}: {error!r}") from error
        if response.status_code >= 400:
            raise _refusal(response)
        if not response.content:
            return None
        try:
            return msgspec.json.decode(response.content)
        except msgspec.DecodeError as error:
            raise NotUnderstood(f"{method} {path}: the answer is not JSON") from error


class _Request(NamedTuple):
    method: str
    path: str
    body: Any = None
    query: Mapping[str, Any] = {}
    version: Version | None = None  # None before it is known


def _pause(attempt: int) -> float:
    longest = min(_PAUSE_SECONDS_MAX, _PAUSE_SECONDS_MIN * 2**attempt)
    return random.uniform(0, longest)


def _refusal(response: httpx.Response) -> ApiError:
    detail, code = response.text, ""
    request_id = response.headers.get(REQUEST_ID_HEADER)
    try:
        found = msgspec.json.decode(response.content)["errors"][0]
        # The detail is the explanation of the status, a blank line, and the message.
        detail = found["detail"].rpartition("\n\n")[2].strip() or found["detail"].strip()
        code = found.get("code", "")
    except (msgspec.DecodeError, KeyError, IndexError, TypeError, AttributeError):
        # The answer is not from the service but from a proxy.
        pass
    error = api_error(response.status_code, detail, code=code, request_id=request_id)
    if isinstance(error, Unavailable):
        error.retry_after = _seconds(response.headers.get("retry-after"))
    return error


def _seconds(text: str | None) -> float:
    try:
        return min(_PAUSE_SECONDS_MAX, float(text or 0))
    except ValueError:
        return 0.0
