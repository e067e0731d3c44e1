"""Bodies of /resource_classes."""

from typing import Any

BODY: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "pattern": "^CUSTOM_[A-Z0-9_]+$", "maxLength": 255}},
    "required": ["name"],
    "additionalProperties": False,
}
