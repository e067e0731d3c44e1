"""The body of POST /holds."""

from roost.api.schemas import ExtensionSchema
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
    }
)
