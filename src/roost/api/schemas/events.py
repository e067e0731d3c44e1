"""The query string of GET /events."""

from roost.api.schemas import ExtensionSchema, Schema
from roost.model import EventKind

# A server that stops gives requests in flight half a minute; a wait must end before that.
WAIT_SECONDS_MAX = 25
WAIT_PATTERN = "^([0-9]|1[0-9]|2[0-5])$"

# Enough for hundreds of writers.
POSITION_LENGTH_MAX = 16_384

_QUERY: Schema = {
    "type": "object",
    "properties": {
        "after": {"type": "string", "minLength": 1, "maxLength": POSITION_LENGTH_MAX},
        "wait": {"type": "string", "pattern": WAIT_PATTERN},
        "tree": {"type": "string", "format": "uuid"},
        "kind": {"type": "string", "enum": list(EventKind)},
    },
    "additionalProperties": False,
}

QUERY = ExtensionSchema(_QUERY)
