"""The query string of GET /usages."""

from typing import Any

from roost.api.schemas import Schema, since_version

PROJECT_LENGTH_MAX = 255

_TEXT = {"type": "string", "minLength": 1, "maxLength": PROJECT_LENGTH_MAX}


def _query(properties: dict[str, Any]) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": ["project_id"],
        "additionalProperties": False,
    }


_QUERY = _query({"project_id": _TEXT, "user_id": _TEXT})

_QUERY_BY_TYPE = _query(
    {
        "project_id": _TEXT,
        "user_id": _TEXT,
        "consumer_type": {
            "type": "string",
            "pattern": "^[A-Z0-9_]+$|^all$|^unknown$",
            "minLength": 1,
            "maxLength": 255,
        },
    }
)

query = since_version({(1, 9): _QUERY, (1, 38): _QUERY_BY_TYPE})
