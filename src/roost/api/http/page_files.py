"""How files of pages are sent to browsers: with a strict policy, compressed, and not twice."""

import re

import falcon

from roost.api.http.messages import PLAIN
from roost.console.files import File

# Everything that a page loads is of this address, nothing is inline, and no other page shows it.
SECURITY_HEADERS = {
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'; object-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


def redirect(response: falcon.Response, location: str) -> None:
    """To another page, relative to this one: a proxy may have put a prefix before its path."""
    # Not for ever: pages can be turned off.
    response.status = 307
    response.set_header("location", location)
    # WSGI wants a media type for every answer that may have a body.
    response.content_type = f"{PLAIN}; charset=utf-8"
    response.set_header("cache-control", "no-cache")


def send_file(file: File, request: falcon.Request, response: falcon.Response) -> None:
    """Send a file, or that the client has it. `SECURITY_HEADERS` are sent with errors, too."""
    # Browsers ask each time whether there is a newer one, so that an upgrade takes effect at once.
    response.set_header("cache-control", "no-cache")
    response.set_header("vary", "accept-encoding")
    response.set_header("etag", f'W/"{file.etag}"')
    if _is_known(file, request.get_header("if-none-match")):
        response.status = 304
        return
    response.content_type = file.media_type
    response.data = file.content
    if file.gzipped is not None and _accepts_gzip(request.get_header("accept-encoding")):
        response.set_header("content-encoding", "gzip")
        response.data = file.gzipped


def _is_known(file: File, header: str | None) -> bool:
    """Whether the client has this file, by `If-None-Match`."""
    tags = (tag.strip().removeprefix("W/") for tag in (header or "").split(","))
    return any(tag in (f'"{file.etag}"', "*") for tag in tags)


def _accepts_gzip(header: str | None) -> bool:
    for each in (header or "").lower().split(","):
        coding, _, quality = each.replace(" ", "").partition(";")
        if coding == "gzip":
            return re.fullmatch(r"q=0(\.0*)?", quality) is None
    return False
