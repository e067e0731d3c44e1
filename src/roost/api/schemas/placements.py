"""The body and the answer of POST /placements."""

from roost.api.schemas import (
    ExtensionSchema,
    NamedSchema,
    Schema,
    ShownSchema,
    candidates,
    fields,
    map_of,
)
from roost.api.schemas.allocations import IDENTIFIER, TYPE, UUID_PATTERN
from roost.api.schemas.bounds import PLACED_CONSUMERS_MAX

_CONSUMER = NamedSchema(
    "ConsumerOwner",
    {
        "type": "object",
        "properties": {"project_id": IDENTIFIER, "user_id": IDENTIFIER, "consumer_type": TYPE},
        "required": ["project_id", "user_id", "consumer_type"],
        "additionalProperties": False,
    },
)

_POST: Schema = {
    "type": "object",
    "properties": {
        # A search, as a query string or as the body of POST /allocation_candidates.
        "query": ShownSchema(
            {**candidates.POST, "type": ["string", "object"], "minLength": 1},
            {"anyOf": [{"type": "string", "minLength": 1}, candidates.POST]},
        ),
        "order": candidates.POST["properties"]["order"],
        "consumers": {
            "type": "object",
            "minProperties": 1,
            "maxProperties": PLACED_CONSUMERS_MAX,
            "patternProperties": {UUID_PATTERN: _CONSUMER},
            "additionalProperties": False,
        },
        "spread": {"type": "string", "enum": ["root"]},
        "idempotency_key": {"type": "string", "minLength": 1, "maxLength": 255},
    },
    "required": ["query", "consumers"],
    "additionalProperties": False,
}

POST = ExtensionSchema(_POST, "PlacementsRequest")

PLACEMENTS = fields(
    "Placements", {"placements": NamedSchema("PlacementsByConsumer", map_of(candidates.CANDIDATE))}
)
