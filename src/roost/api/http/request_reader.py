"""What the framework knows of a request, checked and made into a `Request`."""

import falcon

from roost.api.http import error_response
from roost.api.http.error_response import HttpError
from roost.api.http.messages import Request
from roost.api.routes import Route
from roost.api.versions import Version

EVENTS = "text/event-stream"

# Far more than any honest request; a body is held in memory as a whole.
BODY_BYTES_MAX = 64 * 1024 * 1024


def check_length(request: falcon.Request) -> None:
    """Refuse a length that is none, and a body of which nobody says what it is."""
    length = _content_length(request)
    if length and not request.content_type:
        raise HttpError(400, "content-type header required when content-length > 0")
    if length > BODY_BYTES_MAX:
        raise HttpError(413)


def check_media_types(request: falcon.Request, route: Route) -> None:
    """Refuse a body that is not JSON, and a client that does not want JSON."""
    sent = request.content_type
    if route.reads_json and (sent or "").partition(";")[0].strip().lower() != error_response.JSON:
        raise HttpError(415, f"The media type {sent} is not supported, use {error_response.JSON}")
    if route.gives_json and not any(map(request.client_accepts, given_by(route))):
        raise HttpError(406, f"Only {' and '.join(given_by(route))} is provided")


def given_by(route: Route) -> tuple[str, ...]:
    return (error_response.JSON, EVENTS) if route.gives_events else (error_response.JSON,)


def read(request: falcon.Request, version: Version, route: Route) -> Request:
    """The request, without the framework."""
    wants_events = route.gives_events and _prefers_events(request)
    return Request(
        version=version,
        root_path=request.root_path,
        query_string=request.query_string,
        body=_read_body(request),
        wants_events=wants_events,
        last_event_id=request.get_header("last-event-id") if wants_events else None,
    )


def _prefers_events(request: falcon.Request) -> bool:
    # Of what a client likes equally well, it gets what it names: most take anything besides.
    ranges = [each.partition(";")[0].strip().lower() for each in request.accept.split(",")]
    choice = (EVENTS, error_response.JSON) if EVENTS in ranges else (error_response.JSON, EVENTS)
    return request.client_prefers(choice) == EVENTS


def _read_body(request: falcon.Request) -> bytes:
    # A body in chunks has no length; only some servers let it be read to its end.
    chunked = request.get_header("transfer-encoding") is not None
    if not chunked or not request.env.get("wsgi.input_terminated", False):
        return request.bounded_stream.read(_content_length(request))
    body: bytes = request.stream.read(BODY_BYTES_MAX + 1)
    if len(body) > BODY_BYTES_MAX:
        raise HttpError(413)
    return body


def error_media_type(request: falcon.Request) -> str:
    """In which form the sender wants to be told of an error."""
    return (
        request.client_prefers((error_response.JSON, error_response.HTML)) or error_response.PLAIN
    )


def _content_length(request: falcon.Request) -> int:
    try:
        length = request.content_length
    except falcon.HTTPInvalidHeader:
        raise HttpError(400, "content-length header must be an integer") from None
    return length or 0
