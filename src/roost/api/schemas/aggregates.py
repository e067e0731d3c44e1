"""Bodies of PUT /resource_providers/{uuid}/aggregates."""

from typing import Any

from roost.api.schemas import Schema
from roost.api.versions import Version

# From this version on the generation of the provider comes along.
SINCE_GENERATION = (1, 19)

_AGGREGATES: dict[str, Any] = {
    "type": "array",
    "items": {"type": "string", "format": "uuid"},
    "uniqueItems": True,
}

PUT_LIST = _AGGREGATES

PUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "aggregates": _AGGREGATES,
        "resource_provider_generation": {"type": "integer"},
    },
    "required": ["aggregates", "resource_provider_generation"],
    "additionalProperties": False,
}


def put(version: Version) -> Schema:
    return PUT if version >= SINCE_GENERATION else PUT_LIST
