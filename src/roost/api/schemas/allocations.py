"""Bodies of allocations: of one consumer, of several, and within a reshape; and the list."""

from typing import Any

from roost.api.schemas import ExtensionSchema, Schema, since_version
from roost.api.schemas.bounds import (
    CLASSES_MAX,
    CONSUMERS_MAX,
    GROUPS_MAX,
    PROVIDERS_MAX,
    PROVIDERS_PER_CONSUMER_MAX,
)
from roost.api.schemas.inventories import CLASS_PATTERN, PUT_ALL
from roost.api.schemas.pages import AFTER, LIMIT, TREE

UUID_PATTERN = "^[0-9a-fA-F-]{36}$"

_RESOURCES = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {CLASS_PATTERN: {"type": "integer", "minimum": 1}},
    "additionalProperties": False,
    "maxProperties": CLASSES_MAX,
}

IDENTIFIER = {"type": "string", "minLength": 1, "maxLength": 255}

# Before 1.12: a list with one entry for each provider.
_LIST: dict[str, Any] = {
    "type": "object",
    "properties": {
        "allocations": {
            "type": "array",
            "minItems": 1,
            "maxItems": PROVIDERS_PER_CONSUMER_MAX,
            "items": {
                "type": "object",
                "properties": {
                    "resource_provider": {
                        "type": "object",
                        "properties": {"uuid": {"type": "string", "format": "uuid"}},
                        "additionalProperties": False,
                        "required": ["uuid"],
                    },
                    "resources": _RESOURCES,
                },
                "required": ["resource_provider", "resources"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["allocations"],
    "additionalProperties": False,
}

_LIST_WITH_OWNER: dict[str, Any] = {
    **_LIST,
    "properties": {**_LIST["properties"], "project_id": IDENTIFIER, "user_id": IDENTIFIER},
    "required": ["allocations", "project_id", "user_id"],
}

_BY_PROVIDER = {
    UUID_PATTERN: {
        "type": "object",
        # GET shows the generation. Clients may send it back; it is ignored.
        "properties": {"generation": {"type": "integer"}, "resources": _RESOURCES},
        "required": ["resources"],
        "additionalProperties": False,
    }
}

_GENERATION = {"type": ["integer", "null"], "additionalProperties": False}

# Candidates have mappings. Clients may send them back; they are ignored.
_MAPPINGS = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {
        "[a-zA-Z0-9_-]{1,64}": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "string", "format": "uuid"},
            "maxItems": PROVIDERS_PER_CONSUMER_MAX,
        }
    },
    "maxProperties": GROUPS_MAX,
}

TYPE_PATTERN = "^[A-Z0-9_]+$"
TYPE = {"type": "string", "pattern": TYPE_PATTERN, "minLength": 1, "maxLength": 255}


def _consumer(version: tuple[int, int], *, may_be_empty: bool) -> dict[str, Any]:
    """The allocations of one consumer, in the form of 1.12 and later."""
    properties: dict[str, Any] = {
        "allocations": {
            "type": "object",
            "minProperties": 0 if may_be_empty else 1,
            "patternProperties": _BY_PROVIDER,
            "additionalProperties": False,
            "maxProperties": PROVIDERS_PER_CONSUMER_MAX,
        },
        "project_id": IDENTIFIER,
        "user_id": IDENTIFIER,
    }
    required = ["allocations", "project_id", "user_id"]
    if version >= (1, 28):
        properties["consumer_generation"] = _GENERATION
        required.append("consumer_generation")
    if version >= (1, 34):
        properties["mappings"] = _MAPPINGS
    if version >= (1, 38):
        properties["consumer_type"] = TYPE
        required.append("consumer_type")
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "required": required,
    }


def _consumers(version: tuple[int, int], *, minimum: int) -> dict[str, Any]:
    return {
        "type": "object",
        "minProperties": minimum,
        "additionalProperties": False,
        "patternProperties": {UUID_PATTERN: _consumer(version, may_be_empty=True)},
        "maxProperties": CONSUMERS_MAX,
    }


def _reshape(version: tuple[int, int]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "inventories": {
                "type": "object",
                "patternProperties": {UUID_PATTERN: PUT_ALL},
                "minProperties": 1,
                "additionalProperties": False,
                "maxProperties": PROVIDERS_MAX,
            },
            "allocations": _consumers(version, minimum=0),
        },
        "required": ["inventories", "allocations"],
        "additionalProperties": False,
    }


put = since_version(
    {
        (1, 0): _LIST,
        (1, 8): _LIST_WITH_OWNER,
        (1, 12): _consumer((1, 12), may_be_empty=False),
        (1, 28): _consumer((1, 28), may_be_empty=True),
        (1, 34): _consumer((1, 34), may_be_empty=True),
        (1, 38): _consumer((1, 38), may_be_empty=True),
    }
)
post = since_version(
    {since: _consumers(since, minimum=1) for since in ((1, 13), (1, 28), (1, 34), (1, 38))}
)
reshape = since_version({since: _reshape(since) for since in ((1, 30), (1, 34), (1, 38))})

TYPE_OR_UNKNOWN_PATTERN = "^[A-Z0-9_]+$|^unknown$"

# The query string of the list.
_LIST_QUERY: Schema = {
    "type": "object",
    "properties": {
        # A UUID, or `in:` and several with commas; the parser looks at each.
        "resource_provider": {"type": "string"},
        "tree": TREE,
        "resource_class": {"type": "string", "pattern": CLASS_PATTERN, "maxLength": 255},
        "project_id": IDENTIFIER,
        "user_id": IDENTIFIER,
        "consumer_type": {"type": "string", "pattern": TYPE_OR_UNKNOWN_PATTERN, "maxLength": 255},
        "changed_before": {"type": "string", "minLength": 1, "maxLength": 64},
        "limit": LIMIT,
        "after": AFTER,
    },
    "additionalProperties": False,
}

LIST = ExtensionSchema(_LIST_QUERY)
