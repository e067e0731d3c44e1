"""Puts the document together."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from roost.api.http.messages import JSON
from roost.api.openapi import words
from roost.api.openapi.answers import answers, open_answers, shared_answers, shared_headers
from roost.api.openapi.components import Components
from roost.api.openapi.examples import Example, examples, of_operation, shown_bodies, shown_values
from roost.api.openapi.parameters import (
    open_query_parameters,
    path_parameters,
    query_parameters,
)
from roost.api.openapi.versioning import X_OPENSTACK, version_range
from roost.api.routes import ROUTES, OpenRoute, Route
from roost.api.versions import HEADER, SERVICE, VERSION_MAX, Version

OPENAPI_VERSION = "3.1.0"
# The scheme of the header that has the token.
TOKEN = "token"


def document(
    open_routes: Iterable[OpenRoute], root_path: str = "", version: Version = VERSION_MAX
) -> dict[str, Any]:
    """The document of the API in one version, mounted at this path, and of the paths beside it."""
    return {
        "openapi": OPENAPI_VERSION,
        "info": {
            "title": "Placement",
            "version": str(version),
            "summary": words.SUMMARY,
            "description": words.DESCRIPTION.format(version=version),
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": root_path or "/"}],
        **_contents(open_routes, version),
    }


def _contents(open_routes: Iterable[OpenRoute], version: Version) -> dict[str, Any]:
    """What does not depend on the address."""
    components = Components()
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        if route.since <= version <= route.until:
            operation = _operation(route, version, components)
            paths.setdefault(route.path, {})[route.method.lower()] = operation
    for open_route in open_routes:
        paths[open_route.path] = {"get": _open_operation(open_route, version, components)}
    tags = dict.fromkeys(
        operation["tags"][0] for methods in paths.values() for operation in methods.values()
    )
    return {
        "security": [{TOKEN: []}],
        "tags": [{"name": name, "description": words.TAGS[name]} for name in tags],
        "paths": paths,
        "components": {
            "securitySchemes": {TOKEN: _token()},
            "parameters": {"version": _version_parameter(version)},
            "headers": shared_headers(version),
            "responses": shared_answers(version, _examples(examples(), version), components),
            "schemas": components.schemas,
        },
    }


def _operation(route: Route, version: Version, components: Components) -> dict[str, Any]:
    shown = _examples(of_operation(route.method, route.path), version)
    operation_id = route.operation_id or _handler_name(route)
    earlier = [each for each in ROUTES if (each.path, each.method) == (route.path, route.method)]
    operation: dict[str, Any] = {
        "operationId": operation_id,
        "tags": [operation_id.partition(".")[0]],
        "summary": route.summary,
        "description": route.description,
        "parameters": [
            {"$ref": "#/components/parameters/version"},
            *_with_examples(path_parameters(route.path), shown),
            *_with_examples(query_parameters(route, version, components), shown),
        ],
        "responses": answers(route, version, shown, components),
        **version_range(earlier[0].since, earlier[-1].until),
    }
    if route.rule is None:
        operation["security"] = []
    else:
        operation[X_OPENSTACK]["policy"] = route.rule.name
    if route.extension is not None:
        operation[X_OPENSTACK]["extension"] = route.extension.value
    if route.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {
                JSON: {"schema": components.show(route.body(version)), **shown_bodies(shown)}
            },
        }
    return operation


def _open_operation(route: OpenRoute, version: Version, components: Components) -> dict[str, Any]:
    shown = _examples(of_operation("GET", route.path), version)
    operation: dict[str, Any] = {
        "operationId": route.path.strip("/"),
        "tags": ["operating"],
        "summary": route.summary,
        "description": route.description,
        "security": [],
        "responses": open_answers(route, shown, components),
    }
    if route.query is not None:
        parameters = open_query_parameters(route.path, route.query)
        operation["parameters"] = list(_with_examples(parameters, shown))
    return operation


def _handler_name(route: Route) -> str:
    module = route.handler.__module__.rpartition(".")[2]
    return f"{module}.{route.handler.__name__}"


def _token() -> dict[str, Any]:
    return {
        "type": "apiKey",
        "in": "header",
        "name": "X-Auth-Token",
        "description": "A token of Keystone; with `auth_strategy=noauth2`, any text.",
    }


def _version_parameter(version: Version) -> dict[str, Any]:
    name = f"{SERVICE} {version}"
    return {
        "in": "header",
        "name": HEADER,
        "required": True,
        "description": "The version that this document describes. A request without this header "
        "is answered in the oldest one.",
        # No `const`: generators would not know what to do with it in a header.
        "schema": {"type": "string", "pattern": f"^{re.escape(name)}$", "default": name},
    }


# ---------------------------------------------------------------------------------------------
# Examples


def _examples(known: Iterable[Example], version: Version) -> list[Example]:
    """They are requests of the newest version."""
    return list(known) if version == VERSION_MAX else []


def _with_examples(
    parameters: Iterable[dict[str, Any]], shown: Sequence[Example]
) -> Iterator[dict[str, Any]]:
    return ({**parameter, **shown_values(shown, parameter)} for parameter in parameters)
