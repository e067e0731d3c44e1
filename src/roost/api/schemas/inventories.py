"""Bodies and answers of inventories."""

from typing import Any

from roost.api.schemas import COUNT, GENERATION, INTEGER, NamedSchema, fields, map_of
from roost.api.schemas.bounds import CLASSES_MAX
from roost.model import INTEGER_MAX

CLASS_PATTERN = "^[A-Z0-9_]+$"

_GENERATION = {"type": "integer"}

# The largest number that a FLOAT column of MySQL holds.
_FLOAT_MAX = 3.40282e38


def _unit(minimum: int) -> dict[str, Any]:
    return {"type": "integer", "maximum": INTEGER_MAX, "minimum": minimum}


# The fields of one inventory; bodies add to them.
_INVENTORY = NamedSchema(
    "InventoryInput",
    {
        "type": "object",
        "properties": {
            "resource_provider_generation": _GENERATION,
            "total": _unit(1),
            "reserved": _unit(0),
            "min_unit": _unit(1),
            "max_unit": _unit(1),
            "step_size": _unit(1),
            "allocation_ratio": {"type": "number", "maximum": _FLOAT_MAX, "minimum": -_FLOAT_MAX},
        },
        "required": ["total"],
        "additionalProperties": False,
    },
)

POST = NamedSchema(
    "InventoryCreate",
    {
        **_INVENTORY,
        "properties": {
            **_INVENTORY["properties"],
            "resource_class": {"type": "string", "pattern": CLASS_PATTERN},
        },
        "required": ["total", "resource_class"],
    },
)

PUT_ONE = NamedSchema(
    "InventoryUpdate", {**_INVENTORY, "required": ["total", "resource_provider_generation"]}
)

PUT_ALL = NamedSchema(
    "InventoriesUpdate",
    {
        "type": "object",
        "properties": {
            "resource_provider_generation": _GENERATION,
            "inventories": {
                "type": "object",
                "patternProperties": {CLASS_PATTERN: _INVENTORY},
                "additionalProperties": False,
                "maxProperties": CLASSES_MAX,
            },
        },
        "required": ["resource_provider_generation", "inventories"],
        "additionalProperties": False,
    },
)

# ---------------------------------------------------------------------------------------------
# Answers

# Of resource classes, by their names.
AMOUNTS = NamedSchema("Amounts", map_of(COUNT, keys=CLASS_PATTERN))

_FIELDS = {
    **dict.fromkeys(("total", "reserved", "min_unit", "max_unit", "step_size"), INTEGER),
    "allocation_ratio": {"type": "number"},
}
INVENTORY = fields("Inventory", _FIELDS)
BY_CLASS = NamedSchema("Inventories", map_of(INVENTORY, keys=CLASS_PATTERN))
ONE = fields("ProviderInventory", {**_FIELDS, "resource_provider_generation": GENERATION})
ALL = fields(
    "ProviderInventories", {"resource_provider_generation": GENERATION, "inventories": BY_CLASS}
)
