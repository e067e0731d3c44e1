"""The query string and the answer of GET /summary."""

from roost.api.schemas import COUNT, INTEGER, ExtensionSchema, NamedSchema, fields, map_of
from roost.api.schemas.inventories import CLASS_PATTERN

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

_OF_CLASS = fields(
    "ClassSummary",
    {
        # Ratios may be negative.
        **dict.fromkeys(("total", "reserved", "capacity"), INTEGER),
        **dict.fromkeys(("used", "free", "providers"), COUNT),
    },
)
_FIELDS = {
    "providers": COUNT,
    "trees": COUNT,
    "resources": NamedSchema("ClassSummaries", map_of(_OF_CLASS, keys=CLASS_PATTERN)),
}
_GROUPS = NamedSchema("GroupSummaries", map_of(fields("GroupSummary", _FIELDS)))
SUMMARY = fields(
    "Summary",
    {**_FIELDS, "aggregates": _GROUPS, "traits": _GROUPS},
    optional=("aggregates", "traits"),
)
