"""Bodies and query strings of /resource_providers."""

from typing import Any

from roost.api.schemas import ExtensionSchema, Schema, since_version
from roost.api.schemas.pages import AFTER, LIMIT, TREE
from roost.api.versions import VERSION_MAX, Version

_NAME = {"type": "string", "maxLength": 200}
_UUID = {"type": "string", "format": "uuid"}
# A query string takes one form only.
DASHED_UUID_PATTERN = (
    "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
)
_DASHED_UUID = {**_UUID, "pattern": DASHED_UUID_PATTERN}
_PARENT = {"anyOf": [_UUID, {"type": "null"}]}


def _object(properties: dict[str, Any], required: list[str] | None = None) -> Schema:
    needs = {"required": required} if required else {}
    return {"type": "object", "properties": properties, **needs, "additionalProperties": False}


_CREATE = _object({"name": _NAME, "uuid": _UUID}, ["name"])
_CREATE_NESTED = _object({"name": _NAME, "uuid": _UUID, "parent_provider_uuid": _PARENT}, ["name"])
_UPDATE = _object({"name": _NAME}, ["name"])
_UPDATE_NESTED = _object({"name": _NAME, "parent_provider_uuid": _PARENT}, ["name"])

# The parameters of a list, by the version that brought each.
_LIST_PARAMETERS: list[tuple[tuple[int, int], str, dict[str, str]]] = [
    ((1, 0), "name", {"type": "string"}),
    ((1, 0), "uuid", _DASHED_UUID),
    ((1, 3), "member_of", {"type": "string"}),
    ((1, 4), "resources", {"type": "string"}),
    ((1, 14), "in_tree", _DASHED_UUID),
    ((1, 18), "required", {"type": "string"}),
]

create = since_version({(1, 0): _CREATE, (1, 14): _CREATE_NESTED})
update = since_version({(1, 0): _UPDATE, (1, 14): _UPDATE_NESTED})
listing = since_version(
    {
        since: _object({name: kind for when, name, kind in _LIST_PARAMETERS if when <= since})
        for since, _, _ in _LIST_PARAMETERS
    }
)

# The newest version with the extensions of roost.
LIST_EXTENSIONS: Schema = {
    "include": {"type": "string"},
    "limit": LIMIT,
    "after": AFTER,
    "tree": TREE,
}
EXTENDED_LISTING = ExtensionSchema(
    _object({**listing(VERSION_MAX)["properties"], **LIST_EXTENSIONS})
)


def documented_listing(version: Version) -> Schema:
    """All parameters of a version, extensions included.

    A list that uses no extension is checked against `listing`, whose refusals clients know.
    """
    return EXTENDED_LISTING if version == VERSION_MAX else listing(version)
