"""The parameters of an operation: of its path, and of its query string."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from roost.api.openapi import words
from roost.api.openapi.components import Components
from roost.api.openapi.versioning import first_versions, version_range
from roost.api.routes import Route
from roost.api.schemas import TEXT, UUID, NamedSchema, Schema, list_of, map_of
from roost.api.versions import Version

# One that may be repeated has a list.
_VALUES: Schema = {"anyOf": [TEXT, list_of(TEXT)]}

# The parameter that stands for all parameters of suffixed groups.
GROUPS = "groups"

_NAME = {"type": "string", "pattern": "^[A-Z0-9_]+$"}
_OF_PATHS: dict[str, Schema] = {
    "uuid": UUID,
    "consumer_uuid": TEXT,
    "resource_class": _NAME,
    "name": _NAME,
    "hold_id": TEXT,
}

# Parameters that may be repeated, by the version that allowed it.
_REPEATED = {
    "member_of": (1, 24),
    "same_subtree": (1, 36),
    "required": (1, 39),
    "root_required": (1, 39),
    "root_member_of": (1, 39),
    "isolate": (1, 39),
    "kind": (1, 39),
}


def path_parameters(path: str) -> Iterator[dict[str, Any]]:
    for name in re.findall(r"\{(\w+)\}", path):
        yield {
            "in": "path",
            "name": name,
            "required": True,
            "description": words.parameter(path, name),
            "schema": dict(_OF_PATHS[name]),
        }


def query_parameters(
    route: Route, version: Version, components: Components
) -> Iterator[dict[str, Any]]:
    """Those that a route has in this version, each with the version that brought it."""
    if route.query is None:
        return
    schema = route.query(version)
    plain, suffixed = split_suffixes(schema)
    since = first_versions(route, _names)
    required = schema.get("required", ())

    def parameter(name: str, kind: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        return {
            "in": "query",
            "name": name,
            "required": name in required,
            "description": words.parameter(route.path, name),
            "schema": kind,
            **more,
            **version_range(since[name], route.until),
        }

    for name, kind in plain.items():
        is_repeated = name in _REPEATED and version >= _REPEATED[name]
        yield parameter(name, components.show(list_of(kind) if is_repeated else kind))
    if suffixed:
        # OpenAPI has no parameters whose names follow a pattern. But it sends each field of an
        # object as a parameter.
        (suffix,) = set(suffixed.values())
        names = f"^({'|'.join(suffixed)}){suffix}$"
        groups = NamedSchema("GroupParameters", map_of(_VALUES, keys=names))
        yield parameter(GROUPS, components.show(groups), style="form", explode=True)


def _names(schema: Schema) -> list[str]:
    """The names of all parameters of the document."""
    plain, suffixed = split_suffixes(schema)
    return [*plain, *([GROUPS] if suffixed else ())]


def open_query_parameters(path: str, schema: Schema) -> Iterator[dict[str, Any]]:
    """Those of a path beside the API."""
    for name, kind in schema["properties"].items():
        description = words.parameter(path, name)
        yield {"in": "query", "name": name, "description": description, "schema": dict(kind)}


def split_suffixes(schema: Schema) -> tuple[Mapping[str, Schema], Mapping[str, str]]:
    """Parameters with their schemas, and those that may have a suffix with its pattern."""
    plain: dict[str, Schema] = {}
    suffixed = {}
    for pattern, kind in schema.get("patternProperties", {}).items():
        parts = re.fullmatch(r"\^(\w+)\((.+)\)\?\$", pattern)
        assert parts is not None, pattern
        plain[parts[1]] = kind
        suffixed[parts[1]] = parts[2]
    return {**plain, **schema["properties"]}, suffixed
