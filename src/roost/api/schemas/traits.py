"""Bodies and query strings of traits."""

from typing import Any

from roost.api.schemas.bounds import TRAITS_MAX

PUT_OF_PROVIDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "traits": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": 255},
            "maxItems": TRAITS_MAX,
        },
        "resource_provider_generation": {"type": "integer"},
    },
    "required": ["traits", "resource_provider_generation"],
    "additionalProperties": False,
}

LIST: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "associated": {"type": "string"}},
    "additionalProperties": False,
}
