"""The query string and the answer of GET /events."""

from roost.api.schemas import (
    GENERATION,
    INTEGER,
    UUID,
    ExtensionSchema,
    NamedSchema,
    Schema,
    ShownSchema,
    fields,
    list_of,
    map_of,
)
from roost.api.schemas.inventories import CLASS_PATTERN
from roost.model import EventKind

# A server that stops gives requests in flight half a minute; a wait must end before that.
WAIT_SECONDS_MAX = 25
WAIT_PATTERN = "^([0-9]|1[0-9]|2[0-5])$"

# Enough for hundreds of writers.
POSITION_LENGTH_MAX = 16_384

_KIND = NamedSchema("EventKind", {"type": "string", "enum": list(EventKind)})

_QUERY: Schema = {
    "type": "object",
    "properties": {
        "after": {"type": "string", "minLength": 1, "maxLength": POSITION_LENGTH_MAX},
        "wait": ShownSchema(
            {"type": "string", "pattern": WAIT_PATTERN},
            {"type": "integer", "minimum": 0, "maximum": WAIT_SECONDS_MAX},
        ),
        "tree": {"type": "string", "format": "uuid"},
        "kind": _KIND,
    },
    "additionalProperties": False,
}

QUERY = ExtensionSchema(_QUERY)

_EVENT = fields(
    "Event",
    {
        "kind": _KIND,
        "resource_provider": UUID,
        "tree": UUID,
        "generation": GENERATION,
        # What is added, so it may be less than 0.
        "usage": NamedSchema("AmountChanges", map_of(INTEGER, keys=CLASS_PATTERN)),
        "deleted": {"type": "boolean", "const": True},
    },
    optional=("resource_provider", "tree", "generation", "usage", "deleted"),
)
EVENTS = fields(
    "Events",
    {
        "events": list_of(_EVENT),
        "position": {"type": "string", "minLength": 1, "maxLength": POSITION_LENGTH_MAX},
    },
)
