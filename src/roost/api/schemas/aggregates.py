"""Bodies and answers of /resource_providers/{uuid}/aggregates."""

from typing import Any

from roost.api.schemas import GENERATION, TEXT, NamedSchema, fields, list_of, since_version
from roost.api.schemas.bounds import AGGREGATES_MAX

# From this version on, the generation of the provider is part of body and reply.
SINCE_GENERATION = (1, 19)

_AGGREGATES: dict[str, Any] = {
    "type": "array",
    # The spelling is stored, so it must fit into the column.
    "items": {"type": "string", "format": "uuid", "maxLength": 36},
    "uniqueItems": True,
    "maxItems": AGGREGATES_MAX,
}

_PUT = NamedSchema(
    "AggregatesUpdate",
    {
        "type": "object",
        "properties": {
            "aggregates": _AGGREGATES,
            "resource_provider_generation": {"type": "integer"},
        },
        "required": ["aggregates", "resource_provider_generation"],
        "additionalProperties": False,
    },
)

put = since_version({(1, 1): _AGGREGATES, SINCE_GENERATION: _PUT})

# In the spelling that was sent, so not always in that of a UUID.
_SHOWN = {"aggregates": list_of(TEXT)}
answer = since_version(
    {
        (1, 1): fields("ProviderAggregates", _SHOWN),
        SINCE_GENERATION: fields(
            "ProviderAggregates", {**_SHOWN, "resource_provider_generation": GENERATION}
        ),
    }
)
