"""Refusals by what stands in front of the API, in the form that the API gives them."""

from collections.abc import Iterable
from http import HTTPStatus

from roost.api.http import error_response
from roost.api.http.error_response import HttpError
from roost.api.http.request_middleware import REQUEST_ID, Environ, StartResponse


def refuse(error: HttpError, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with this refusal."""
    request_id = environ.get(REQUEST_ID) or error_response.new_request_id()
    body, content_type = error_response.render(
        error, error_response.RequestFacts(), error_response.JSON, request_id, with_code=True
    )
    headers = {"content-type": content_type, "content-length": str(len(body)), **error.headers}
    start_response(f"{error.status} {HTTPStatus(error.status).phrase}", list(headers.items()))
    return [body]
