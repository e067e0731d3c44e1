"""The body and the answer of POST /holds."""

from roost.api.schemas import TEXT, ExtensionSchema, fields
from roost.api.schemas.pages import TREE

# Far more than any service grants.
SECONDS_MAX = 3600

POST = ExtensionSchema(
    {
        "type": "object",
        "properties": {
            "tree": TREE,
            "seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": SECONDS_MAX},
        },
        "required": ["tree", "seconds"],
        "additionalProperties": False,
    },
    "HoldCreate",
)

HOLD = fields("Hold", {"id": TEXT, "seconds": {"type": "number", "exclusiveMinimum": 0}})
