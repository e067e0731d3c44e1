"""Bodies, query strings and answers of traits."""

from typing import Any

from roost.api.schemas import GENERATION, NamedSchema, ShownSchema, fields, list_of
from roost.api.schemas.bounds import TRAITS_MAX

PUT_OF_PROVIDER = NamedSchema(
    "TraitsUpdate",
    {
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
    },
)

LIST: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "associated": ShownSchema({"type": "string"}, {"type": "boolean"}),
    },
    "additionalProperties": False,
}

NAMES = list_of({"type": "string", "pattern": "^[A-Z0-9_]+$"})
TRAITS = fields("Traits", {"traits": NAMES})
OF_PROVIDER = fields(
    "ProviderTraits", {"traits": NAMES, "resource_provider_generation": GENERATION}
)
