"""Reads requests from the bytes of one client. What httptools lets through is checked here."""

import time
from typing import Any, Protocol
from urllib.parse import urlsplit

import httptools

# Longer targets are refused, as are larger heads, and heads with more headers.
TARGET_BYTES_MAX = 65_534
HEAD_BYTES_MAX = 128 * 1024
HEADERS_MAX = 100

_VERSIONS = frozenset({"1.0", "1.1"})

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

    def expect_no_more(self) -> None:
        """What follows the last request is none: it has asked for another protocol."""


class RequestParser:
    """One for each connection. Only one thread may feed it at a time."""

    __slots__ = (
        *("_awaits_continue", "_fed_bytes", "_headers", "_is_amid_body", "_parser", "_requests"),
        *("_target", "head_begun_at"),
    )

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._parser: httptools.HttpRequestParser | None = httptools.HttpRequestParser(self)
        self._begin_head()

    def feed(self, data: bytes) -> None:
        """Take what has arrived. May raise `Refused`; then nothing must follow."""
        parser = self._parser
        if parser is None:
            return
        self._fed_bytes += len(data)
        try:
            parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # It is answered as if it had not asked.
            self._requests.expect_no_more()
            return
        except httptools.HttpParserCallbackError as error:
            if isinstance(error.__context__, Refused):
                raise error.__context__ from None
            raise
        except httptools.HttpParserError as error:
            raise Refused(400, f"The request could not be read: {error}.") from error
        # What was fed may have ended other requests, so it is counted for this head too often. But
        # no more than one reading.
        if not self._is_amid_body and self._fed_bytes > HEAD_BYTES_MAX:
            raise Refused(431, f"The head of a request may have {HEAD_BYTES_MAX} bytes at most.")

    def close(self) -> None:
        """Nothing follows. It refers to itself otherwise."""
        self._parser = None

    def _begin_head(self) -> None:
        self._target = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._awaits_continue = False
        self._is_amid_body = False
        self._fed_bytes = 0
        self.head_begun_at: float | None = None

    # -----------------------------------------------------------------------------------------
    # Called by httptools

    def on_message_begin(self) -> None:
        self.head_begun_at = time.monotonic()

    def on_url(self, part: bytes) -> None:
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
        if parser is None:
            # The connection was closed meanwhile.
            return
        version = parser.get_http_version()
        if version not in _VERSIONS:
            raise Refused(505, "The request must be one of HTTP/1.1.")
        if version == "1.0" and any(name == b"transfer-encoding" for name, _ in self._headers):
            # Whoever is in between may have taken the body for the next request.
            raise Refused(400, "A request of HTTP/1.0 has no transfer encoding.")
        self._is_amid_body = True
        self.head_begun_at = None
        path, query = path_and_query(self._target)
        scope: Scope = {
            "type": "http",
            "method": parser.get_method().decode("ascii"),
            "raw_path": path,
            "query_string": query,
            "http_version": version,
            "scheme": "http",
            "headers": self._headers,
        }
        self._requests.begin_request(
            scope, keeps_alive=parser.should_keep_alive(), awaits_continue=self._awaits_continue
        )

    def on_body(self, part: bytes) -> None:
        self._requests.add_to_body(part)

    def on_message_complete(self) -> None:
        self._requests.end_request()
        self._begin_head()


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
