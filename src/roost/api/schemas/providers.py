"""Bodies, query strings and answers of /resource_providers."""

from typing import Any

from roost.api.schemas import (
    GENERATION,
    TEXT,
    UUID,
    UUID_OR_NULL,
    ExtensionSchema,
    NamedSchema,
    Schema,
    fields,
    list_of,
    since_version,
)
from roost.api.schemas import inventories as inventory_schemas
from roost.api.schemas import traits as trait_schemas
from roost.api.schemas.pages import AFTER, LIMIT, NEXT, TREE
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


def _body(name: str, properties: dict[str, Any]) -> NamedSchema:
    return NamedSchema(name, _object(properties, ["name"]))


_CREATE = {"name": _NAME, "uuid": _UUID}
_UPDATE = {"name": _NAME}
_NESTED = {"parent_provider_uuid": _PARENT}

# The parameters of a list, by the version that brought each.
_LIST_PARAMETERS: list[tuple[tuple[int, int], str, dict[str, str]]] = [
    ((1, 0), "name", {"type": "string"}),
    ((1, 0), "uuid", _DASHED_UUID),
    ((1, 3), "member_of", {"type": "string"}),
    ((1, 4), "resources", {"type": "string"}),
    ((1, 14), "in_tree", _DASHED_UUID),
    ((1, 18), "required", {"type": "string"}),
]

create = since_version(
    {
        (1, 0): _body("ResourceProviderCreate", _CREATE),
        (1, 14): _body("ResourceProviderCreate", {**_CREATE, **_NESTED}),
    }
)
update = since_version(
    {
        (1, 0): _body("ResourceProviderUpdate", _UPDATE),
        (1, 14): _body("ResourceProviderUpdate", {**_UPDATE, **_NESTED}),
    }
)
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


# ---------------------------------------------------------------------------------------------
# Answers

# The links of a provider, by the version that brought each.
LINKS = (
    ((1, 0), "self", ""),
    ((1, 0), "inventories", "/inventories"),
    ((1, 0), "usages", "/usages"),
    ((1, 1), "aggregates", "/aggregates"),
    ((1, 6), "traits", "/traits"),
    ((1, 11), "allocations", "/allocations"),
)
SINCE_TREES = (1, 14)
_CHANGES = ((1, 0), (1, 1), (1, 6), (1, 11), SINCE_TREES)


def _fields(version: tuple[int, int]) -> dict[str, Schema]:
    rels = [rel for since, rel, _ in LINKS if since <= version]
    link = fields("ResourceProviderLink", {"rel": {"type": "string", "enum": rels}, "href": TEXT})
    shown = {
        "uuid": UUID,
        "name": TEXT,
        "generation": GENERATION,
        "links": {**list_of(link), "minItems": len(rels), "maxItems": len(rels)},
    }
    if version >= SINCE_TREES:
        shown |= {"parent_provider_uuid": UUID_OR_NULL, "root_provider_uuid": UUID}
    return shown


_shown = {since: fields("ResourceProvider", _fields(since)) for since in _CHANGES}
answer = since_version(_shown)

# The newest version shows what a provider has instead of links to it, if it is asked to.
_LISTED = fields(
    "ListedResourceProvider",
    {
        **_fields(VERSION_MAX),
        "inventories": inventory_schemas.BY_CLASS,
        "usages": inventory_schemas.AMOUNTS,
        "traits": trait_schemas.NAMES,
        "aggregates": list_of(TEXT),
    },
    optional=("links", "inventories", "usages", "traits", "aggregates"),
)
listing_answer = since_version(
    {
        **{
            since: fields("ResourceProviders", {"resource_providers": list_of(shown)})
            for since, shown in _shown.items()
        },
        VERSION_MAX: fields(
            "ResourceProviders",
            {"resource_providers": list_of(_LISTED), "next": NEXT},
            optional=("next",),
        ),
    }
)
