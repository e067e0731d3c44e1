"""The query string of GET /summary."""

from roost.api.schemas import ExtensionSchema

CLASSES_PATTERN = "^[A-Z0-9_]+(,[A-Z0-9_]+)*$"

QUERY = ExtensionSchema(
    {
        "type": "object",
        "properties": {
            "by": {"type": "string"},
            "resource_class": {"type": "string", "pattern": CLASSES_PATTERN},
        },
        "additionalProperties": False,
    }
)
