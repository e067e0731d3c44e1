"""Reads requests from the bytes of one client. What httptools lets through is checked here."""

import re
import time
from typing import Any, Protocol
from urllib.parse import urlsplit

import httptools

# Longer targets are refused, as are larger heads, and heads with more headers.
TARGET_BYTES_MAX = 65_534
HEAD_BYTES_MAX = 128 * 1024
HEADERS_MAX = 100

_VERSIONS = frozenset({"1.0", "1.1"})
# The headers that say where a body ends.
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
# See RFC 9110, 5.6.2.
_METHOD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}) ")

Scope = dict[str, Any]


class Refused(Exception):
    """These bytes are no request that could be answered."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class Requests(Protocol):
    """Who is told what arrives, in this order for each request."""

    def begin_request(self, scope: Scope, *, keeps_alive: bool, awaits_continue: bool) -> None:
        """The head of a request has arrived."""

    def add_to_body(self, part: bytes) -> None:
        """A part of its body has arrived."""

    def end_request(self) -> None:
        """All of it has arrived."""


class RequestParser:
    """One for each connection. Only one thread may feed it at a time."""

    __slots__ = (
        *("_awaits_body", "_awaits_continue", "_fed_bytes", "_has_ended_one", "_headers"),
        *("_is_amid_body", "_method", "_parser", "_requests", "_resumes", "_target"),
        "head_begun_at",
    )

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._parser: httptools.HttpRequestParser | None = httptools.HttpRequestParser(self)
        self._has_ended_one = False
        self._begin_head()

    def feed(self, data: bytes) -> None:
        """Take what has arrived. May raise `Refused`; then nothing must follow."""
        if self._parser is None:
            return
        begins_request = not self._fed_bytes
        self._has_ended_one = False
        self._fed_bytes += len(data)
        method = None
        try:
            self._feed(data)
        except httptools.HttpParserInvalidMethodError as error:
            method = _METHOD.match(data)
            if method is None or not begins_request or self._has_ended_one:
                raise _unreadable(error) from error
        if method is not None:
            self._feed_with_known_method(method[1], data[method.end(1) :])
        # What was fed may have ended other requests, so it is counted for this head too often. But
        # no more than one reading.
        if self._fed_bytes > HEAD_BYTES_MAX:
            what = "What surrounds a body" if self._is_amid_body else "The head of a request"
            raise Refused(431, f"{what} may have {HEAD_BYTES_MAX} bytes at most.")

    def _feed_with_known_method(self, method: bytes, rest: bytes) -> None:
        """The parser knows the methods that are registered. The API refuses the others."""
        self._parser = httptools.HttpRequestParser(self)
        self._begin_head()
        self._method = method
        self._fed_bytes = len(rest)
        try:
            self._feed(b"POST" + rest)
        except httptools.HttpParserInvalidMethodError as error:
            raise _unreadable(error) from error

    def _feed(self, data: bytes) -> None:
        rest = self._feed_until_upgrade(data)
        while rest is not None:
            # It is answered as if it had not asked for another protocol.
            self._parser = httptools.HttpRequestParser(self)
            rest = self._body_head() + rest if self._awaits_body else rest
            rest = self._feed_until_upgrade(rest) if rest else None

    def _feed_until_upgrade(self, data: bytes) -> bytes | None:
        """What follows a head that asks for another protocol, where the parser stops, if any."""
        assert self._parser is not None
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            return data[upgrade.args[0] :]
        except httptools.HttpParserCallbackError as error:
            if isinstance(error.__context__, Refused):
                raise error.__context__ from None
            raise
        except httptools.HttpParserInvalidMethodError:
            raise
        except httptools.HttpParserError as error:
            raise _unreadable(error) from error
        return None

    def _body_head(self) -> bytes:
        """A head that says of a body what the last one said, after which the parser stopped."""
        self._awaits_body, self._resumes = False, True
        framing = [b"%b: %b\r\n" % each for each in self._headers if each[0] in _FRAMING]
        return b"POST / HTTP/1.1\r\n%b\r\n" % b"".join(framing)

    def close(self) -> None:
        """Nothing follows. It refers to itself otherwise."""
        self._parser = None

    def _begin_head(self) -> None:
        self._method = b""
        self._target = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._awaits_continue = False
        self._is_amid_body = False
        # Whether the parser stops after a head that a body follows, and goes on with that body.
        self._awaits_body = self._resumes = False
        self._fed_bytes = 0
        self.head_begun_at: float | None = None

    # -----------------------------------------------------------------------------------------
    # Called by httptools

    def on_message_begin(self) -> None:
        if not self._resumes:
            self.head_begun_at = time.monotonic()

    def on_url(self, part: bytes) -> None:
        if self._resumes:
            return
        self._target += part
        if len(self._target) > TARGET_BYTES_MAX:
            raise Refused(
                414, f"The target of a request may have {TARGET_BYTES_MAX} bytes at most."
            )

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_amid_body:
            # After a body in chunks. Nobody reads them, and they must not change what was checked.
            return
        name = name.lower()
        if name == b"expect":
            self._awaits_continue = value.lower() == b"100-continue"
        self._headers.append((name, value.rstrip(b" \t")))
        if len(self._headers) > HEADERS_MAX:
            raise Refused(431, f"A request may have {HEADERS_MAX} headers at most.")

    def on_headers_complete(self) -> None:
        parser = self._parser
        if parser is None or self._resumes:
            # The connection was closed meanwhile; or this head is not the client's.
            self._resumes = False
            return
        version = parser.get_http_version()
        if version not in _VERSIONS:
            raise Refused(505, "The request must be one of HTTP/1.1.")
        if version == "1.0" and any(name == b"transfer-encoding" for name, _ in self._headers):
            # Whoever is in between may have taken the body for the next request.
            raise Refused(400, "A request of HTTP/1.0 has no transfer encoding.")
        self._is_amid_body = True
        self.head_begun_at = None
        self._awaits_body = parser.should_upgrade() and any(
            name in _FRAMING for name, _ in self._headers
        )
        path, query = path_and_query(self._target)
        scope: Scope = {
            "method": (self._method or parser.get_method()).decode("ascii"),
            "raw_path": path,
            "query_string": query,
            "http_version": version,
            "scheme": "http",
            "headers": self._headers,
        }
        self._requests.begin_request(
            scope,
            keeps_alive=parser.should_keep_alive(),
            awaits_continue=self._awaits_continue and version != "1.0",
        )

    def on_body(self, part: bytes) -> None:
        self._fed_bytes = 0
        self._requests.add_to_body(part)

    def on_message_complete(self) -> None:
        if self._awaits_body:
            return
        self._requests.end_request()
        self._has_ended_one = True
        self._begin_head()


def _unreadable(error: Exception) -> Refused:
    return Refused(400, f"The request could not be read: {error}.")


def path_and_query(target: bytes) -> tuple[bytes, bytes]:
    """The parts of a request's target, which is a whole URL when proxies are asked."""
    target, _, _ = target.partition(b"#")
    if not target.startswith(b"/") and b"://" in target:
        try:
            parts = urlsplit(target)
        except ValueError as error:
            raise Refused(400, "The target of the request is not a URL.") from error
        return parts.path or b"/", parts.query
    path, _, query = target.partition(b"?")
    return path, query
