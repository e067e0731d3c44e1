"""Refusals by what stands in front of the API, in the form that the API gives them."""

from collections.abc import Iterable
from http import HTTPStatus

from roost.api import errors
from roost.api.entrance import REQUEST_ID, Environ, StartResponse
from roost.api.errors import HttpError


def refuse(error: HttpError, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with this refusal."""
    request_id = environ.get(REQUEST_ID) or errors.new_request_id()
    body, content_type = errors.render(
        error, errors.RequestFacts(), errors.JSON, request_id, with_code=True
    )
    headers = {"content-type": content_type, "content-length": str(len(body)), **error.headers}
    start_response(f"{error.status} {HTTPStatus(error.status).phrase}", list(headers.items()))
    return [body]
