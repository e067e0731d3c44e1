"""Checks the headers of a request, and reads it into a `Request` without the framework."""

import falcon

from roost.api.http.exchange import EXCHANGE
from roost.api.http.messages import EVENTS, HTML, JSON, PLAIN, Request
from roost.api.http_error import HttpError
from roost.api.schemas import Schema
from roost.api.versions import Version
from roost.quoting import quote

# A body of these is not read.
METHODS_WITHOUT_BODY = frozenset({"GET", "HEAD", "DELETE", "OPTIONS"})

# What most clients accept. Every route can answer with JSON.
_ACCEPTED_EVERYWHERE = frozenset({JSON, "*/*"})

# Of the header. The longest that browsers send has a few hundred.
_ACCEPT_LENGTH_MAX = 4096


def too_large(bytes_max: int) -> HttpError:
    return HttpError(413, f"The body may have {bytes_max} bytes.")


def check_length(request: falcon.Request, bytes_max: int) -> None:
    """Refuse a length that is not a number or too large, and a body without a media type."""
    length = _content_length(request)
    if length and not request.content_type:
        raise HttpError(400, "content-type header required when content-length > 0")
    if length > bytes_max and request.method not in METHODS_WITHOUT_BODY:
        raise too_large(bytes_max)


def check_content_type(request: falcon.Request) -> None:
    """Refuse a body that is not JSON."""
    sent = request.content_type
    if (sent or "").partition(";")[0].strip().lower() != JSON:
        raise HttpError(415, f"The media type {quote(str(sent))} is not supported, use {JSON}")


def check_accept(request: falcon.Request, media_types: tuple[str, ...]) -> None:
    """Refuse a client that accepts none of the media types that a route can answer with."""
    if request.accept in _ACCEPTED_EVERYWHERE:
        return
    if _is_accept_long(request):
        raise HttpError(
            400, f"accept header is too long, expected at most {_ACCEPT_LENGTH_MAX} characters"
        )
    if not any(map(request.client_accepts, media_types)):
        raise HttpError(406, f"Only {' and '.join(media_types)} is provided")


def read(
    request: falcon.Request,
    version: Version,
    *,
    sender: str | None,
    query_schema: Schema,
    body_schema: Schema,
    body_bytes_max: int,
    can_stream: bool,
) -> Request:
    """The request; `can_stream` says whether its route can answer with a stream of events."""
    wants_events = can_stream and _prefers_events(request)
    return Request(
        version=version,
        sender=sender,
        root_path=request.root_path,
        query_string=request.query_string,
        query_schema=query_schema,
        body=read_body(request, body_bytes_max),
        body_schema=body_schema,
        wants_events=wants_events,
        last_event_id=request.get_header("last-event-id") if wants_events else None,
        waits_without_thread=EXCHANGE in request.env,
    )


def _prefers_events(request: falcon.Request) -> bool:
    # Most clients also accept anything. So of two media types that a client accepts equally, the
    # one that it names wins.
    ranges = [each.partition(";")[0].strip().lower() for each in request.accept.split(",")]
    choice = (EVENTS, JSON) if EVENTS in ranges else (JSON, EVENTS)
    return request.client_prefers(choice) == EVENTS


def read_body(request: falcon.Request, bytes_max: int) -> bytes:
    """The body; `check_length` must have been asked before."""
    if request.method in METHODS_WITHOUT_BODY:
        return b""
    # A chunked body has no length; only some servers mark where it ends.
    chunked = "HTTP_TRANSFER_ENCODING" in request.env
    if not chunked or not request.env.get("wsgi.input_terminated", False):
        # No more than that: not every server says where the body ends.
        found: bytes = request.stream.read(_content_length(request))
        return found
    body: bytes = request.stream.read(bytes_max + 1)
    if len(body) > bytes_max:
        raise too_large(bytes_max)
    return body


def error_media_type(request: falcon.Request) -> str:
    """The media type in which the client wants errors."""
    if _is_accept_long(request):
        return JSON
    return request.client_prefers((JSON, HTML)) or PLAIN


def _is_accept_long(request: falcon.Request) -> bool:
    # The framework takes time that grows with the square of some headers, and caches what it read.
    return len(request.accept) > _ACCEPT_LENGTH_MAX


def _content_length(request: falcon.Request) -> int:
    try:
        length = request.content_length
    except falcon.HTTPInvalidHeader:
        raise HttpError(400, "content-length header must be an integer") from None
    return length or 0
