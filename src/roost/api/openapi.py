"""The API as an OpenAPI document, made from the tables that serve it.

OpenAPI knows nothing of microversions. What depends on them carries `x-openstack` with the first
and the last version that it is for; a body that changed over time is any of its forms.
"""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from itertools import groupby
from typing import Any

from roost.api.http import error_response, error_table
from roost.api.routes import ROUTES, OpenRoute, Route
from roost.api.schemas import (
    Schema,
    aggregates,
    allocations,
    candidates,
    events,
    explain,
    inventories,
    placements,
    providers,
    resource_classes,
    traits,
    usages,
)
from roost.api.versions import VERSION_MAX, VERSIONS, Version

OPENAPI_VERSION = "3.1.0"
EXTENSION = "x-openstack"

Key = tuple[str, str]  # a method and a path
ByVersion = Callable[[Version], Schema]


def _always(schema: Schema) -> ByVersion:
    return lambda _: schema


_PROVIDER = "/resource_providers/{uuid}"

# What is sent, by the version that it is sent in.
BODIES: Mapping[Key, ByVersion] = {
    ("POST", "/resource_providers"): providers.creation,
    ("PUT", _PROVIDER): providers.update,
    ("POST", f"{_PROVIDER}/inventories"): _always(inventories.POST),
    ("PUT", f"{_PROVIDER}/inventories"): _always(inventories.PUT_ALL),
    ("PUT", f"{_PROVIDER}/inventories/{{resource_class}}"): _always(inventories.PUT_ONE),
    ("PUT", f"{_PROVIDER}/aggregates"): aggregates.put,
    ("PUT", f"{_PROVIDER}/traits"): _always(traits.PUT_OF_PROVIDER),
    ("POST", "/resource_classes"): _always(resource_classes.BODY),
    ("PUT", "/resource_classes/{name}"): _always(resource_classes.BODY),
    ("POST", "/allocations"): allocations.post,
    ("POST", "/allocation_candidates"): _always(candidates.POST),
    ("POST", "/allocation_candidates/explain"): _always(explain.POST),
    ("POST", "/capacity"): _always(candidates.POST),
    ("PUT", "/allocations/{consumer_uuid}"): allocations.put,
    ("POST", "/placements"): _always(placements.POST),
    ("POST", "/reshaper"): allocations.reshape,
}
QUERIES: Mapping[Key, ByVersion] = {
    ("GET", "/resource_providers"): providers.listing,
    ("GET", "/traits"): _always(traits.LIST),
    ("GET", "/events"): _always(events.QUERY),
    ("GET", "/usages"): usages.query,
    ("GET", "/allocation_candidates"): candidates.documented,
    ("GET", "/allocation_candidates/explain"): _always(explain.QUERY),
    ("GET", "/capacity"): _always(candidates.EXTENDED),
}

# What success looks like, where it does not look as it mostly does for the method.
_STATUSES: Mapping[str, tuple[int, ...]] = {"GET": (200,), "PUT": (200,), "DELETE": (204,)}
_STATUSES_OF: Mapping[Key, tuple[int, ...]] = {
    ("POST", "/resource_providers"): (200, 201),
    ("POST", f"{_PROVIDER}/inventories"): (201,),
    ("POST", "/resource_classes"): (201,),
    ("PUT", "/resource_classes/{name}"): (200, 201, 204),
    ("GET", "/traits/{name}"): (204,),
    ("PUT", "/traits/{name}"): (201, 204),
    ("POST", "/allocations"): (204,),
    ("POST", "/allocation_candidates"): (200,),
    ("POST", "/allocation_candidates/explain"): (200,),
    ("POST", "/capacity"): (200,),
    ("PUT", "/allocations/{consumer_uuid}"): (204,),
    ("POST", "/placements"): (200,),
    ("POST", "/reshaper"): (204,),
}


def document(open_routes: Iterable[OpenRoute], root_path: str = "") -> dict[str, Any]:
    """The document of the API that is mounted at this path, and of the paths beside it."""
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
    by_key: dict[Key, list[Route]] = {}
    for route in ROUTES:
        by_key.setdefault((route.method, route.path), []).append(route)
    for key, routes in by_key.items():
        method, path = key
        paths.setdefault(path, {})[method.lower()] = _operation(key, routes)
    return paths


def _operation(key: Key, routes: list[Route]) -> dict[str, Any]:
    """One method of one path, in all the ways in which it has been served."""
    newest = routes[-1]
    module = newest.handler.__module__.rpartition(".")[2]
    since, until = routes[0].since, newest.until
    operation: dict[str, Any] = {
        "operationId": f"{module}.{newest.handler.__name__}",
        "tags": [module],
        "parameters": [
            {"$ref": "#/components/parameters/version"},
            *(_path_parameter(name) for name in re.findall(r"\{(\w+)\}", newest.path)),
            *(_query_parameters(QUERIES[key], since, until) if key in QUERIES else ()),
        ],
        "responses": _responses(key),
        EXTENSION: _range(since, until) | ({"policy": newest.rule} if newest.rule else {}),
    }
    if newest.rule is None:
        operation["security"] = []
    if key in BODIES:
        operation["requestBody"] = _body(BODIES[key], routes)
    return operation


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
# What is sent


def _body(schemas: ByVersion, routes: list[Route]) -> dict[str, Any]:
    forms = [
        {**schema, EXTENSION: _range(since, until)}
        for route in routes
        if route.reads_json
        for since, until, schema in _forms(schemas, route.since, route.until)
    ]
    # The newest first: where one has to do for all, it shall be the one that knows most.
    forms.reverse()
    schema = forms[0] if len(forms) == 1 else {"anyOf": forms}
    return {
        "required": all(route.reads_json for route in routes),
        "content": {error_response.JSON: {"schema": schema}},
    }


def _path_parameter(name: str) -> dict[str, Any]:
    return {"in": "path", "name": name, "required": True, "schema": {"type": "string"}}


def _query_parameters(
    schemas: ByVersion, since: tuple[int, int], until: tuple[int, int]
) -> Iterator[dict[str, Any]]:
    """Each parameter that any version has."""
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
            # Other parameters of the same kind, whose names OpenAPI cannot tell.
            extension["suffix"] = suffix
        yield {
            "in": "query",
            "name": name,
            "required": name in needed,
            "schema": kind,
            EXTENSION: extension,
        }


def _parameters_of(schema: Schema) -> Iterator[tuple[str, Schema, str | None]]:
    """Names and what they may hold; and the pattern of a suffix that a name may have."""
    for name, kind in schema["properties"].items():
        yield name, kind, None
    for pattern, kind in schema.get("patternProperties", {}).items():
        parts = re.fullmatch(r"\^(\w+)\((.+)\)\?\$", pattern)
        assert parts is not None, pattern
        yield parts[1], kind, parts[2]


# ---------------------------------------------------------------------------------------------
# What comes back


def _responses(key: Key) -> dict[str, Any]:
    method, _ = key
    statuses = _STATUSES_OF[key] if key in _STATUSES_OF else _STATUSES[method]
    responses: dict[str, Any] = {}
    for status in statuses:
        responses[str(status)] = {"description": HTTPStatus(status).phrase}
        if status == HTTPStatus.OK:
            responses["200"]["content"] = {error_response.JSON: {}}
    return {
        **responses,
        "401": {"$ref": "#/components/responses/unauthorized"},
        "4XX": {"$ref": "#/components/responses/refused"},
        "503": {"$ref": "#/components/responses/unavailable"},
    }


def _components() -> dict[str, Any]:
    choices = [f"placement {version}" for version in ("latest", *reversed(VERSIONS))]
    refusal = {error_response.JSON: {"schema": {"$ref": "#/components/schemas/refusal"}}}
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
                "description": "The database cannot be used just now; nothing was written.",
                "headers": {"Retry-After": {"schema": {"type": "integer"}}},
                "content": refusal,
            },
        },
    }


def _refusal() -> Schema:
    text = {"type": "string"}
    code = {"enum": sorted(error_table.CODES), EXTENSION: {"min-ver": "1.23"}}
    # The last two only where the version itself was refused.
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
    schemas: ByVersion, since: tuple[int, int], until: tuple[int, int]
) -> Iterator[tuple[Version, Version, Schema]]:
    """The schemas between two versions, each with the first and the last version that it is for."""
    versions = [Version(*map(int, name.split("."))) for name in VERSIONS]
    served = [version for version in versions if since <= version <= until]
    # A schema that holds for several versions is one object.
    for _, group in groupby(served, key=lambda version: id(schemas(version))):
        same = list(group)
        yield same[0], same[-1], schemas(same[0])


def _range(since: tuple[int, int], until: tuple[int, int]) -> dict[str, str]:
    return {"min-ver": str(Version(*since)), "max-ver": str(Version(*until))}
