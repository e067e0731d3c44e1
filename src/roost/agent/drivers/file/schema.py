"""The JSON Schema of a file that describes providers."""

from typing import Any

from roost.model import INTEGER_MAX

_UUID = {"type": "string", "format": "uuid", "pattern": "^[0-9a-fA-F-]{36}$"}
# The characters that the service accepts, in standard and in CUSTOM_ names.
_NAME = "^[A-Z0-9_]{1,255}$"


def _amount(minimum: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": minimum, "maximum": INTEGER_MAX}


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
            "items": {"$ref": "#/$defs/provider"},
        },
    },
    "$defs": {
        "provider": {
            "type": "object",
            "required": ["name"],
            "additionalProperties": False,
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 200},
                "uuid": _UUID,
                "inventories": {
                    "description": "Resource class -> inventory. Omitted: it has none.",
                    "type": "object",
                    "propertyNames": {"pattern": _NAME},
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
            },
        },
        "inventory": {
            "type": "object",
            "required": ["total"],
            "additionalProperties": False,
            "properties": {
                "total": _amount(1),
                "reserved": _amount(0),
                "min_unit": _amount(1),
                "max_unit": _amount(1),
                "step_size": _amount(1),
                "allocation_ratio": {"type": "number", "exclusiveMinimum": 0, "maximum": 3.4e38},
            },
        },
    },
}
