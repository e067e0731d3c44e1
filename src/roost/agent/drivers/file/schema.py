"""The JSON Schema of a file that describes providers."""

from typing import Any

from roost.model import INTEGER_MAX

_UUID = {"type": "string", "format": "uuid", "pattern": "^[0-9a-fA-F-]{36}$"}
# The characters that the service accepts, in standard and in CUSTOM_ names.
_NAME = "^[A-Z0-9_]{1,255}$"
# A property whose name does not match is reported as "... is not <description>".
_CLASS = {"pattern": _NAME, "description": "the name of a resource class"}
_CONSUMER = {**_UUID, "description": "the UUID of a consumer"}


def _amount(minimum: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": minimum, "maximum": INTEGER_MAX}


_PROVIDER: dict[str, Any] = {
    "name": {"type": "string", "minLength": 1, "maxLength": 200},
    "uuid": _UUID,
    "inventories": {
        "description": "Resource class -> inventory. Omitted: it has none.",
        "type": "object",
        "propertyNames": _CLASS,
        "additionalProperties": {"$ref": "#/$defs/inventory"},
    },
    "traits": {
        "description": "Omitted: left as they are.",
        "type": "array",
        "items": {"type": "string", "pattern": _NAME},
    },
    "aggregates": {
        "description": "Omitted: left as they are.",
        "type": "array",
        "items": _UUID,
    },
    "children": {"type": "array", "items": {"$ref": "#/$defs/provider"}},
}

# Fields of a root, for its whole tree.
_ROOT: dict[str, Any] = {
    **_PROVIDER,
    "where": {
        "description": (
            "Consumer -> resource class -> the provider of the tree that it is on, or several "
            "with the amount on each. Asked for when resources move; otherwise the agent chooses."
        ),
        "type": "object",
        "propertyNames": _CONSUMER,
        "additionalProperties": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": _CLASS,
            "additionalProperties": {
                "type": ["string", "object"],
                "minLength": 1,
                "minProperties": 1,
                "additionalProperties": _amount(1),
            },
        },
    },
    "renamed_classes": {
        "description": (
            "Old resource class -> new one. Consumers hold the new one of whatever they held of "
            "the old one. Once that is done the entry has no effect, and may stay."
        ),
        "type": "object",
        "propertyNames": _CLASS,
        "additionalProperties": {"type": "string", "pattern": _NAME},
    },
}


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required,
        "additionalProperties": False,
        "properties": properties,
    }


SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Providers that are described by hand",
    "type": "object",
    "required": ["providers"],
    "additionalProperties": False,
    "properties": {
        "providers": {
            "description": "The roots.",
            "type": "array",
            "minItems": 1,
            "items": {"$ref": "#/$defs/root"},
        },
    },
    "$defs": {
        "root": _object(_ROOT, ["name"]),
        "provider": _object(_PROVIDER, ["name"]),
        "inventory": _object(
            {
                "total": _amount(1),
                "reserved": _amount(0),
                "min_unit": _amount(1),
                "max_unit": _amount(1),
                "step_size": _amount(1),
                "allocation_ratio": {"type": "number", "exclusiveMinimum": 0, "maximum": 3.4e38},
            },
            ["total"],
        ),
    },
}
