"""HTTP/1.1 byte by byte: a client that also sends what a well-behaved client never would."""

import contextlib
import dataclasses
import http.client
import re
import socket

ANSWER_SECONDS_MAX = 60

_METHOD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TARGET = re.compile(rb"/[A-Za-z0-9._~:/?@!$&'()*+,;=%-]*")
_HEADER_NAME = _METHOD
_HEADER_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")

# The server limits the length of a request head, and answers a longer one itself.
_HEAD_BYTES_MAX = 60_000

Headers = tuple[tuple[bytes, bytes], ...]


@dataclasses.dataclass(frozen=True)
class RawRequest:
    """One request as it is sent."""

    method: bytes
    target: bytes
    headers: Headers
    body: bytes | None = None
    chunked: bool = False  # send the body in chunks, without Content-Length

    @property
    def is_http(self) -> bool:
        """Whether this is HTTP at all; if not, the server may refuse it before roost sees it."""
        return (
            _METHOD.fullmatch(self.method) is not None
            and _TARGET.fullmatch(self.target) is not None
            and all(
                _HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(value)
                for name, value in self.headers
            )
            and len(self.head) < _HEAD_BYTES_MAX
        )

    def header(self, name: bytes) -> bytes | None:
        return next((value for known, value in self.headers if known.lower() == name), None)

    @property
    def head(self) -> bytes:
        lines = [b"%s %s HTTP/1.1" % (self.method, self.target), b"host: roost"]
        lines += [b"%s: %s" % header for header in self.headers]
        if self.chunked:
            lines.append(b"transfer-encoding: chunked")
        elif self.body is not None:
            lines.append(b"content-length: %d" % len(self.body))
        return b"\r\n".join(lines) + b"\r\n\r\n"

    @property
    def content(self) -> bytes:
        if not self.chunked:
            return self.body or b""
        pieces = [b"%x\r\n%s\r\n" % (len(self.body), self.body)] if self.body else []
        return b"".join([*pieces, b"0\r\n\r\n"])


@dataclasses.dataclass(frozen=True)
class Answer:
    """One response."""

    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes

    @property
    def is_from_roost(self) -> bool:
        """Whether roost itself answered, and not the HTTP server in front of it."""
        return "x-openstack-request-id" in self.headers


def send(port: int, request: RawRequest) -> Answer:
    """Send a request over a new connection; raises if the server closes it without an answer."""
    with contextlib.closing(
        socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS_MAX)
    ) as connection:
        # A server that refuses the head may close the connection before it has read the rest.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(request.head + request.content)
        method = request.method.decode("latin-1")
        with http.client.HTTPResponse(connection, method=method) as response:
            response.begin()
            headers = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, headers, response.read())
