"""The query string of GET /usages, and how much is used: by projects, and of a provider."""

from typing import Any

from roost.api.schemas import (
    COUNT,
    GENERATION,
    NamedSchema,
    Schema,
    fields,
    map_of,
    since_version,
)
from roost.api.schemas.inventories import AMOUNTS

PROJECT_LENGTH_MAX = 255

# Of consumers; `all` is the sum of all types.
_TYPES = "^[A-Z0-9_]+$|^all$|^unknown$"
_TEXT = {"type": "string", "minLength": 1, "maxLength": PROJECT_LENGTH_MAX}


def _query(properties: dict[str, Any]) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": ["project_id"],
        "additionalProperties": False,
    }


_QUERY = _query({"project_id": _TEXT, "user_id": _TEXT})

_QUERY_BY_TYPE = _query(
    {
        "project_id": _TEXT,
        "user_id": _TEXT,
        "consumer_type": {
            "type": "string",
            "pattern": _TYPES,
            "minLength": 1,
            "maxLength": 255,
        },
    }
)

query = since_version({(1, 9): _QUERY, (1, 38): _QUERY_BY_TYPE})

OF_PROVIDER = fields(
    "ProviderUsages", {"resource_provider_generation": GENERATION, "usages": AMOUNTS}
)

# How many consumers of a type there are, and beside that an amount for each resource class.
_OF_TYPE = NamedSchema(
    "ConsumerTypeUsage",
    {
        "type": "object",
        "properties": {"consumer_count": COUNT},
        "required": ["consumer_count"],
        "additionalProperties": COUNT,
    },
)
answer = since_version(
    {
        (1, 9): fields("ProjectUsages", {"usages": AMOUNTS}),
        (1, 38): fields(
            "ProjectUsages", {"usages": NamedSchema("UsagesByType", map_of(_OF_TYPE, keys=_TYPES))}
        ),
    }
)
