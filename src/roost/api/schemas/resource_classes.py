"""Bodies and answers of /resource_classes."""

from roost.api.schemas import TEXT, NamedSchema, fields, list_of
from roost.api.schemas.inventories import CLASS_PATTERN

BODY = NamedSchema(
    "ResourceClassCreate",
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": "^CUSTOM_[A-Z0-9_]+$", "maxLength": 255}
        },
        "required": ["name"],
        "additionalProperties": False,
    },
)

_LINK = fields("ResourceClassLink", {"rel": {"enum": ["self"], "type": "string"}, "href": TEXT})
CLASS = fields(
    "ResourceClass",
    {"name": {"type": "string", "pattern": CLASS_PATTERN}, "links": list_of(_LINK)},
)
CLASSES = fields("ResourceClasses", {"resource_classes": list_of(CLASS)})
