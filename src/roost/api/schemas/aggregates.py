"""Bodies of PUT /resource_providers/{uuid}/aggregates."""

from typing import Any

_AGGREGATES: dict[str, Any] = {
    "type": "array",
    "items": {"type": "string", "format": "uuid"},
    "uniqueItems": True,
}

PUT_LIST = _AGGREGATES  # before 1.19

PUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "aggregates": _AGGREGATES,
        "resource_provider_generation": {"type": "integer"},
    },
    "required": ["aggregates", "resource_provider_generation"],
    "additionalProperties": False,
}
