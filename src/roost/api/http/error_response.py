"""Errors as responses.

The text around a message (the explanation of the status, a blank line, a space, the message) is
the one that clients of Placement know.
"""

import html
import os
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec

from roost.api.http.messages import HTML, JSON, PLAIN, REQUEST_ID, Environ, StartResponse
from roost.api.http_error import HttpError
from roost.quoting import MORE, quote

EXPLANATIONS = {
    400: "The server could not comply with the request since it is either malformed or otherwise "
    "incorrect.",
    401: "This server could not verify that you are authorized to access the document you "
    "requested. Either you supplied the wrong credentials (e.g., bad password), or your browser "
    "does not understand how to supply the credentials required.",
    403: "Access was denied to this resource.",
    404: "The resource could not be found.",
    405: "The method {method} is not allowed for this resource.",
    406: "The resource could not be generated that was acceptable to your browser (content of "
    "type {accept}.",
    408: "The server has waited too long for the request to be sent by the client.",
    409: "There was a conflict when trying to complete your request.",
    410: "What was asked for is no longer there.",
    413: "The body of the request is too large.",
    415: "The request media type {content_type} is not supported by this server.",
    500: "The server has either erred or is incapable of performing the requested operation.",
    503: "The server is currently unavailable. Please try again at a later time.",
}

# For these statuses the text has no spaces after the message, and one before the blank line.
_PAIRED = {405, 406, 415}

# Of the message of an error, in UTF-8.
MESSAGE_BYTES_MAX = 6000


class RequestFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What explanations quote of the request."""

    method: str = "GET"
    accept: str = JSON
    content_type: str | None = None


def new_request_id() -> str:
    # What `uuid.uuid4` gives, without an object in between.
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return (
        f"req-{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
    )


def detail(error: HttpError, facts: RequestFacts) -> str:
    """The explanation of the status, a blank line, and the message on one line."""
    explanation = EXPLANATIONS[error.status].format(
        method=quote(facts.method),
        accept=quote(facts.accept),
        content_type=None if facts.content_type is None else quote(facts.content_type),
    )
    message = _cut(error.message.replace("\n", " "))
    if error.status in _PAIRED:
        return f"{explanation} \n\n {message}"
    return f"{explanation}\n\n {message}  "


def _cut(message: str) -> str:
    """The message; of one that is very long after all, the beginning.

    Whoever quotes a request in an error cuts it short. This is for those who forgot.
    """
    if len(message) * 4 <= MESSAGE_BYTES_MAX:
        return message
    data = message.encode(errors="replace")
    if len(data) <= MESSAGE_BYTES_MAX:
        return message
    return data[:MESSAGE_BYTES_MAX].decode(errors="ignore") + MORE


def render(
    error: HttpError, facts: RequestFacts, media_type: str, request_id: str, *, with_code: bool
) -> tuple[bytes, str]:
    """The body of an error response, and its content type."""
    title = HTTPStatus(error.status).phrase
    text = detail(error, facts)
    if media_type == JSON:
        return _json_body(error, title, text, request_id, with_code=with_code), JSON
    heading = f"{error.status} {title}"
    if media_type == HTML:
        page = (
            f"<html>\n <head>\n  <title>{heading}</title>\n </head>\n <body>\n"
            f"  <h1>{heading}</h1>\n  {_html_lines(text)}\n </body>\n</html>"
        )
        return page.encode(), f"{HTML}; charset=UTF-8"
    return f"{heading}\n\n{text}".encode(), f"{PLAIN}; charset=UTF-8"


def respond(error: HttpError, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """Answer a request with this error, outside of the framework."""
    request_id = environ.get(REQUEST_ID) or new_request_id()
    body, content_type = render(error, RequestFacts(), JSON, request_id, with_code=True)
    headers = {"content-type": content_type, "content-length": str(len(body)), **error.headers}
    start_response(f"{error.status} {HTTPStatus(error.status).phrase}", list(headers.items()))
    return [body]


def _json_body(
    error: HttpError, title: str, text: str, request_id: str, *, with_code: bool
) -> bytes:
    if error.status == 401:
        # Keystone's middleware answers 401 in a form of its own; clients expect that form.
        body: Any = {
            "message": error.message or EXPLANATIONS[error.status],
            "code": f"{error.status} {title}",
            "title": title,
        }
        return msgspec.json.encode(body)
    body = {"status": error.status, "title": title, "detail": text}
    if with_code:
        body["code"] = error.code
    body |= {"request_id": request_id} | error.extra
    return msgspec.json.encode({"errors": [body]})


def _html_lines(text: str) -> str:
    return html.escape(text, quote=False).replace("\n\n", "<br /><br />\n")
