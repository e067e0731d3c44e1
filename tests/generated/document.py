"""The newest version of the API as an OpenAPI document, made from the tables of the code itself."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from generated.hostile import NAMES, UUIDS
from generated.small_world import AGGREGATE_1, CN1, PROJECT, TRAIT
from roost.api.routes import ROUTES, Route
from roost.api.schemas import (
    Schema,
    aggregates,
    allocations,
    candidates,
    inventories,
    providers,
    resource_classes,
    traits,
    usages,
)
from roost.api.versions import VERSION_MAX, VERSIONS

_PROVIDER = "/resource_providers/{uuid}"

BODIES: Mapping[tuple[str, str], Schema] = {
    ("POST", "/resource_providers"): providers.creation(VERSION_MAX),
    ("PUT", _PROVIDER): providers.update(VERSION_MAX),
    ("POST", f"{_PROVIDER}/inventories"): inventories.POST,
    ("PUT", f"{_PROVIDER}/inventories"): inventories.PUT_ALL,
    ("PUT", f"{_PROVIDER}/inventories/{{resource_class}}"): inventories.PUT_ONE,
    ("PUT", f"{_PROVIDER}/aggregates"): aggregates.PUT,
    ("PUT", f"{_PROVIDER}/traits"): traits.PUT_OF_PROVIDER,
    ("POST", "/resource_classes"): resource_classes.BODY,
    ("POST", "/allocations"): allocations.post(VERSION_MAX),
    ("PUT", "/allocations/{consumer_uuid}"): allocations.put(VERSION_MAX),
    ("POST", "/reshaper"): allocations.reshape(VERSION_MAX),
}
QUERIES: Mapping[tuple[str, str], Schema] = {
    ("GET", "/resource_providers"): providers.listing(VERSION_MAX),
    ("GET", "/traits"): traits.LIST,
    ("GET", "/usages"): usages.query(VERSION_MAX),
    ("GET", "/allocation_candidates"): candidates.query(VERSION_MAX),
}

# The schemas of most parameters say no more than "text", so that hardly any text would pass the
# next stage: here is one that does.
_GOOD_VALUES = {
    "resources": "VCPU:1",
    "required": TRAIT,
    "root_required": TRAIT,
    "member_of": AGGREGATE_1,
    "in_tree": CN1,
    "same_subtree": "_A,_B",
    "group_policy": "none",
    "name": "startswith:CUSTOM",
    "associated": "true",
    "project_id": PROJECT,
}
_SUFFIXES = ("", "_A", "_B")


def make_document() -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for route in current_routes():
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Placement", "version": str(VERSION_MAX)},
        "paths": paths,
    }


def current_routes() -> Iterator[Route]:
    return (route for route in ROUTES if route.since <= VERSION_MAX <= route.until)


def _operation(route: Route) -> dict[str, Any]:
    key = (route.method, route.path)
    # The newest first: where one has to do for all, it shall be the one that knows most.
    versions = {"enum": [f"placement {version}" for version in reversed(VERSIONS)]}
    operation: dict[str, Any] = {
        "parameters": [
            _parameter("header", "OpenStack-API-Version", versions),
            *(_path_parameter(name) for name in re.findall(r"\{(\w+)\}", route.path)),
            *(_query_parameters(QUERIES[key]) if key in QUERIES else ()),
        ],
        "responses": {"default": {"description": "anything but a server error"}},
    }
    if key in BODIES:
        content = {"application/json": {"schema": BODIES[key]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameter(place: str, name: str, schema: Schema, *, required: bool = True) -> dict[str, Any]:
    return {"in": place, "name": name, "required": required, "schema": schema}


def _path_parameter(name: str) -> dict[str, Any]:
    known = NAMES if name in ("name", "resource_class") else UUIDS
    return _parameter("path", name, {"enum": list(known)})


def _query_parameters(schema: Schema) -> Iterator[dict[str, Any]]:
    needed = schema.get("required", ())
    for name, kind in schema["properties"].items():
        yield _query_parameter(name, name, kind, required=name in needed)
    for pattern, kind in schema.get("patternProperties", {}).items():
        name = re.match(r"\^(\w+)\(", pattern)
        assert name is not None, pattern
        for suffix in _SUFFIXES:
            yield _query_parameter(name[1] + suffix, name[1], kind)


def _query_parameter(
    name: str, base: str, kind: Schema, *, required: bool = False
) -> dict[str, Any]:
    good = _GOOD_VALUES.get(base)
    schema = kind if good is None else {"anyOf": [kind, {"const": good}]}
    return _parameter("query", name, schema, required=required)
