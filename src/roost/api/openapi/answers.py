"""The answers of an operation: bodies, headers and errors."""

from http import HTTPStatus
from typing import Any

from roost.api.http.messages import EVENTS, HTML, JSON, PLAIN
from roost.api.openapi import words
from roost.api.openapi.components import Components
from roost.api.openapi.examples import Example, shown_answers
from roost.api.routes import OpenRoute, Route
from roost.api.schemas import TEXT, errors
from roost.api.versions import SINCE_LAST_MODIFIED, Version

_DATE = {"type": "string", "pattern": r"^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$"}
_NOT_CACHED = {"type": "string", "const": "no-cache"}

# Those of a success, and of an error, without a condition.
_VERSIONED = ("openstack-api-version", "vary", "x-openstack-request-id")


def answers(
    route: Route, version: Version, examples: list[Example], components: Components
) -> dict[str, Any]:
    """The responses of a route in this version."""
    names = list(_VERSIONED)
    if route.names_location:
        names.append("location")
    if shows_state(route) and version >= SINCE_LAST_MODIFIED:
        names += ["last-modified", "cache-control"]
    responses: dict[str, Any] = {}
    for status in route.statuses:
        response = responses[str(status)] = _described(status, names)
        if route.answer is not None:
            shown = [example for example in examples if example.status == status]
            body = {"schema": components.show(route.answer(version)), **shown_answers(shown)}
            response["content"] = {JSON: body}
            if route.streams_events:
                stream = {"value": words.EVENT_STREAM_EXAMPLE, "summary": "A stream."}
                response["content"][EVENTS] = {"schema": dict(TEXT), "examples": {"stream": stream}}
    if route.rule is not None:
        responses["401"] = {"$ref": "#/components/responses/unauthorized"}
    return {
        **responses,
        "4XX": {"$ref": "#/components/responses/refused"},
        "503": {"$ref": "#/components/responses/unavailable"},
    }


def open_answers(
    route: OpenRoute, examples: list[Example], components: Components
) -> dict[str, Any]:
    """The responses of a path beside the API."""
    responses: dict[str, Any] = {}
    media_type = route.content_type.partition(";")[0]
    for status in route.statuses:
        shown = [example for example in examples if example.status == status]
        body = {"schema": components.show(route.answer), **shown_answers(shown)}
        responses[str(status)] = {
            **_described(status, ["cache-control", "x-openstack-request-id"]),
            "content": {media_type: body},
        }
    if route.query is not None:
        responses["4XX"] = {"$ref": "#/components/responses/refused"}
    return responses


def shows_state(route: Route) -> bool:
    """Whether a success says when what it shows was written."""
    return route.answer is not None if route.shows_state is None else route.shows_state


def _described(status: int, names: list[str]) -> dict[str, Any]:
    return {
        "description": words.STATUSES[HTTPStatus(status)],
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
    }


def shared_headers(version: Version) -> dict[str, Any]:
    """The headers that answers refer to."""
    version_header = {"type": "string", "const": f"placement {version}"}
    schemas: dict[str, dict[str, Any]] = {
        "openstack-api-version": version_header,
        "vary": dict(TEXT),
        "x-openstack-request-id": {"type": "string", "pattern": "^req-[0-9a-f-]{36}$"},
        "location": {"type": "string", "format": "uri"},
        "retry-after": {"type": "integer", "minimum": 1},
    }
    if version >= SINCE_LAST_MODIFIED:
        schemas["last-modified"] = _DATE
    # The paths beside the API have it, whatever the version.
    schemas["cache-control"] = _NOT_CACHED
    return {
        name: {"description": words.HEADERS[name], "required": True, "schema": schema}
        for name, schema in schemas.items()
    }


def shared_answers(
    version: Version, examples: list[Example], components: Components
) -> dict[str, Any]:
    """The errors that operations refer to."""
    schema = components.show(errors.answer(version))
    refusals = [example for example in examples if 400 <= example.status < 500]
    # JSON first: a generator takes the first one that it knows.
    others = {media_type: {"schema": dict(TEXT)} for media_type in (PLAIN, HTML)}
    request_id = {"x-openstack-request-id": {"$ref": "#/components/headers/x-openstack-request-id"}}
    return {
        "refused": {
            "description": "The request was refused, and nothing was written. `detail` says why.",
            "headers": request_id,
            "content": {JSON: {"schema": schema, **shown_answers(refusals)}, **others},
        },
        "unauthorized": {
            "description": "There is no token, or it is not valid.",
            "headers": request_id,
            "content": {JSON: {"schema": components.show(errors.UNAUTHORIZED)}},
        },
        "unavailable": {
            "description": "The service is too busy, or the database cannot be used just now; "
            "nothing was written.",
            "headers": {**request_id, "retry-after": {"$ref": "#/components/headers/retry-after"}},
            "content": {JSON: {"schema": schema}},
        },
    }
