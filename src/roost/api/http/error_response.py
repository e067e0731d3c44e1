"""What a refusal looks like on the wire.

The wording around a message (the explanation of the status, a blank line, a space, the message) is
what clients of this API have always been given.
"""

import html
import uuid
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

CODE_DEFAULT = "placement.undefined_code"

JSON = "application/json"
HTML = "text/html"
PLAIN = "text/plain"

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
    409: "There was a conflict when trying to complete your request.",
    410: "What was asked for is no longer there.",
    413: "The body of the request is too large.",
    415: "The request media type {content_type} is not supported by this server.",
    500: "The server has either erred or is incapable of performing the requested operation.",
    503: "The server is currently unavailable. Please try again at a later time.",
}

# In these the blank line stands between two sentences; in the others the message is set off.
_PAIRED = {405, 406, 415}


class HttpError(Exception):
    """A request that is refused for a reason that only HTTP knows."""

    def __init__(
        self,
        status: int,
        message: str = "",
        code: str = CODE_DEFAULT,
        *,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.headers = dict(headers or {})
        self.extra = dict(extra or {})  # more fields of the error, beside `detail`


class RequestFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the explanations quote of the request."""

    method: str = "GET"
    accept: str = JSON
    content_type: str | None = None


def new_request_id() -> str:
    return f"req-{uuid.uuid4()}"


def detail(error: HttpError, facts: RequestFacts) -> str:
    """The explanation of the status, a blank line, and the message on one line."""
    explanation = EXPLANATIONS[error.status].format(
        method=facts.method, accept=facts.accept, content_type=facts.content_type
    )
    message = error.message.replace("\n", " ")
    if error.status in _PAIRED:
        return f"{explanation} \n\n {message}"
    return f"{explanation}\n\n {message}  "


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


def _json_body(
    error: HttpError, title: str, text: str, request_id: str, *, with_code: bool
) -> bytes:
    if error.status == 401:
        # Raised by the authentication in front of the API, which has its own form of body.
        body: Any = {
            "message": EXPLANATIONS[error.status],
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
