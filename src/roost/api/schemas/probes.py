"""Answers of the paths beside the API."""

from roost.api.schemas import TEXT, NamedSchema, Schema, fields, map_of
from roost.api.versions import VERSION_PATTERN

ALIVE = fields("Liveness", {"status": {"type": "string", "enum": ["alive"]}})
READINESS = fields(
    "Readiness",
    {
        "status": {"type": "string", "enum": ["ready", "not ready"]},
        "checks": map_of(TEXT),
    },
)
METRICS: Schema = {"type": "string"}
_INFO = {"type": "object", "required": ["title", "version"], "additionalProperties": True}
DOCUMENT = NamedSchema(
    "OpenApiDocument",
    {
        "type": "object",
        "properties": {
            "openapi": {"type": "string", "pattern": r"^3\.1\."},
            "info": _INFO,
            "paths": {"type": "object", "additionalProperties": True},
        },
        "required": ["openapi", "info", "paths"],
        "additionalProperties": True,
    },
)
DOCUMENT_QUERY: Schema = {
    "type": "object",
    "properties": {"version": {"type": "string", "pattern": f"{VERSION_PATTERN}|^latest$"}},
    "additionalProperties": False,
}
