"""The heads of answers as bytes, and answers to what is no request."""

import functools
import time
from email.utils import formatdate
from http import HTTPStatus

import msgspec

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# Their answers never have a body, nor its length.
BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})

Headers = list[tuple[bytes, bytes]]

_LENGTH_OF_NAME = len(b"content-length")


def head(status: int, headers: Headers, *more: bytes) -> bytes:
    """The head of an answer; `more` are whole lines."""
    lines = [_status_line(status)]
    for name, value in headers:
        if b"\n" in value or b"\r" in value:
            # Nobody may begin another header, or another answer.
            value = value.replace(b"\r", b" ").replace(b"\n", b" ")
        lines += (name, b": ", value, b"\r\n")
    lines += more
    lines += (_date_line(int(time.time())), b"\r\n")
    return b"".join(lines)


def has_length(headers: Headers) -> bool:
    """Whether these headers say how long the body is."""
    for name, _ in headers:
        if len(name) == _LENGTH_OF_NAME and name.lower() == b"content-length":
            return True
    return False


def refusal(status: int, detail: str) -> bytes:
    """The whole answer to bytes that are no request. The connection ends with it."""
    title = HTTPStatus(status).phrase
    error = {"status": status, "title": title, "detail": detail}
    body = msgspec.json.encode({"errors": [error]})
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    return head(status, headers, b"connection: close\r\n") + body


@functools.cache
def _status_line(status: int) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode("ascii")


@functools.lru_cache(2)
def _date_line(seconds: int) -> bytes:
    return f"date: {formatdate(seconds, usegmt=True)}\r\n".encode("ascii")
