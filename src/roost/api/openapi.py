"""The API as an OpenAPI document, made from the table of routes.

OpenAPI has no microversions. Whatever depends on them carries `x-openstack` with the first and the
last version that it holds for; a body that changed over time is any of its forms.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from http import HTTPStatus
from itertools import groupby
from typing import Any

from roost.api.http.messages import JSON
from roost.api.http_error import ErrorCode
from roost.api.routes import ROUTES, OpenRoute, Route
from roost.api.schemas import Schema, SchemaByVersion
from roost.api.versions import VERSION_MAX, VERSIONS, Version

OPENAPI_VERSION = "3.1.0"
X_OPENSTACK = "x-openstack"


def document(open_routes: Iterable[OpenRoute], root_path: str = "") -> dict[str, Any]:
    """The document of the API mounted at this path, and of the paths beside the API."""
    paths = {**_paths(), **{route.path: {"get": _open_operation(route)} for route in open_routes}}
    return {
        "openapi": OPENAPI_VERSION,
        "info": {
            "title": "Placement",
            "version": str(VERSION_MAX),
            "description": "Versions are chosen with the header OpenStack-API-Version.",
        },
        "servers": [{"url": root_path or "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": _components(),
    }


@functools.cache
def _paths() -> dict[str, dict[str, Any]]:
    paths: dict[str, dict[str, Any]] = {}
    for path, method in dict.fromkeys((route.path, route.method) for route in ROUTES):
        routes = [route for route in ROUTES if (route.path, route.method) == (path, method)]
        paths.setdefault(path, {})[method.lower()] = _operation(routes)
    return paths


def _operation(routes: Sequence[Route]) -> dict[str, Any]:
    """One method of one path: its routes in all versions, the newest last."""
    newest = routes[-1]
    since, until = routes[0].since, newest.until
    operation_id = newest.operation_id or _handler_name(newest)
    operation: dict[str, Any] = {
        "operationId": operation_id,
        "tags": [operation_id.partition(".")[0]],
        "summary": newest.summary,
        "parameters": [
            {"$ref": "#/components/parameters/version"},
            *(_path_parameter(name) for name in re.findall(r"\{(\w+)\}", newest.path)),
            *(_query_parameters(newest.query, since, until) if newest.query else ()),
        ],
        "responses": _responses(routes),
        X_OPENSTACK: _range(since, until),
    }
    if newest.description:
        operation["description"] = newest.description
    if newest.rule is None:
        operation["security"] = []
    else:
        operation[X_OPENSTACK]["policy"] = newest.rule.name
    if newest.extension is not None:
        operation[X_OPENSTACK]["extension"] = newest.extension.value
    if any(route.body for route in routes):
        operation["requestBody"] = _body(routes)
    return operation


def _handler_name(route: Route) -> str:
    module = route.handler.__module__.rpartition(".")[2]
    return f"{module}.{route.handler.__name__}"


def _open_operation(route: OpenRoute) -> dict[str, Any]:
    content: dict[str, Any] = {route.content_type.partition(";")[0]: {}}
    return {
        "operationId": route.path.strip("/"),
        "tags": ["operating"],
        "summary": route.summary,
        "security": [],
        "responses": {
            str(status): {"description": HTTPStatus(status).phrase, "content": content}
            for status in route.statuses
        },
    }


# ---------------------------------------------------------------------------------------------
# Requests


def _body(routes: Sequence[Route]) -> dict[str, Any]:
    forms = [
        {**schema, X_OPENSTACK: _range(since, until)}
        for route in routes
        if route.body is not None
        for since, until, schema in _forms(route.body, route.since, route.until)
    ]
    # The newest first: tools that know one form only take the first.
    forms.reverse()
    schema = forms[0] if len(forms) == 1 else {"anyOf": forms}
    return {
        "required": all(route.body for route in routes),
        "content": {JSON: {"schema": schema}},
    }


def _path_parameter(name: str) -> dict[str, Any]:
    return {"in": "path", "name": name, "required": True, "schema": {"type": "string"}}


def _query_parameters(
    schemas: SchemaByVersion, since: tuple[int, int], until: tuple[int, int]
) -> Iterator[dict[str, Any]]:
    """Each parameter that any version has, in its newest form."""
    first: dict[str, tuple[int, int]] = {}
    newest: dict[str, tuple[Schema, str | None]] = {}
    needed_by = []
    for form_since, _, schema in _forms(schemas, since, until):
        needed_by.append(set(schema.get("required", ())))
        for name, kind, suffix in _parameters_of(schema):
            first.setdefault(name, form_since)
            newest[name] = kind, suffix
    needed = set.intersection(*needed_by)
    for name, (kind, suffix) in newest.items():
        extension = _range(first[name], until)
        if suffix is not None:
            # OpenAPI cannot describe parameters whose names follow a pattern.
            extension["suffix"] = suffix
        yield {
            "in": "query",
            "name": name,
            "required": name in needed,
            "schema": kind,
            X_OPENSTACK: extension,
        }


def _parameters_of(schema: Schema) -> Iterator[tuple[str, Schema, str | None]]:
    """The name and the schema of each parameter, and the pattern of its suffix if it has one."""
    for name, kind in schema["properties"].items():
        yield name, kind, None
    for pattern, kind in schema.get("patternProperties", {}).items():
        parts = re.fullmatch(r"\^(\w+)\((.+)\)\?\$", pattern)
        assert parts is not None, pattern
        yield parts[1], kind, parts[2]


# ---------------------------------------------------------------------------------------------
# Responses


def _responses(routes: Sequence[Route]) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status in dict.fromkeys(status for route in routes for status in route.statuses):
        responses[str(status)] = {"description": HTTPStatus(status).phrase}
        if status == HTTPStatus.OK:
            responses["200"]["content"] = {
                media_type: {} for media_type in routes[-1].media_types or (JSON,)
            }
    return {
        **responses,
        "401": {"$ref": "#/components/responses/unauthorized"},
        "4XX": {"$ref": "#/components/responses/refused"},
        "503": {"$ref": "#/components/responses/unavailable"},
    }


def _components() -> dict[str, Any]:
    choices = [f"placement {version}" for version in ("latest", *reversed(VERSIONS))]
    refusal = {JSON: {"schema": {"$ref": "#/components/schemas/refusal"}}}
    return {
        "securitySchemes": {"token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}},
        "parameters": {
            "version": {
                "in": "header",
                "name": "OpenStack-API-Version",
                "description": "Without it the oldest version is served.",
                "schema": {"enum": choices},
            }
        },
        "schemas": {"refusal": _refusal()},
        "responses": {
            "refused": {"description": "The request was refused.", "content": refusal},
            "unauthorized": {"description": "There is no token, or it is not valid."},
            "unavailable": {
                "description": "The service is too busy, or the database cannot be used just now; "
                "nothing was written.",
                "headers": {"Retry-After": {"schema": {"type": "integer"}}},
                "content": refusal,
            },
        },
    }


def _refusal() -> Schema:
    text = {"type": "string"}
    code = {"enum": sorted(ErrorCode), X_OPENSTACK: {"min-ver": "1.23"}}
    # An error has the last two only if the version itself was refused.
    fields = {
        "status": {"type": "integer"},
        **dict.fromkeys(("title", "detail", "request_id"), text),
        "code": code,
        **dict.fromkeys(("min_version", "max_version"), text),
    }
    error = {
        "type": "object",
        "properties": fields,
        "required": ["status", "title", "detail", "request_id"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"errors": {"type": "array", "items": error, "minItems": 1}},
        "required": ["errors"],
        "additionalProperties": False,
    }


# ---------------------------------------------------------------------------------------------
# Versions


def _forms(
    schemas: SchemaByVersion, since: tuple[int, int], until: tuple[int, int]
) -> Iterator[tuple[Version, Version, Schema]]:
    """The schemas between two versions, each with the first and the last version it holds for."""
    versions = [Version(*map(int, name.split("."))) for name in VERSIONS]
    served = [version for version in versions if since <= version <= until]
    # Versions that share a schema share the object.
    for _, group in groupby(served, key=lambda version: id(schemas(version))):
        same = list(group)
        yield same[0], same[-1], schemas(same[0])


def _range(since: tuple[int, int], until: tuple[int, int]) -> dict[str, str]:
    return {"min-ver": str(Version(*since)), "max-ver": str(Version(*until))}
