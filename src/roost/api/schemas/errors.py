"""Errors: what the answer to a refused request has."""

from roost.api.http_error import ErrorCode
from roost.api.schemas import TEXT, Schema, fields, list_of, since_version
from roost.api.versions import VERSION_PATTERN

# From this version on, errors have a code.
SINCE_CODE = (1, 23)

_NUMBER = {"type": "string", "pattern": VERSION_PATTERN}
_FIELDS: dict[str, Schema] = {
    "status": {"type": "integer", "minimum": 400, "maximum": 599},
    "title": TEXT,
    "detail": TEXT,
    "request_id": TEXT,
    # Of a request whose version is refused.
    "min_version": _NUMBER,
    "max_version": _NUMBER,
}
# No enum: a client that was generated earlier must read codes that came later. It is left out if
# the version is refused, since it may have been one without codes.
_CODE = {"type": "string", "pattern": r"^placement\.", "examples": sorted(ErrorCode)}


def _errors(properties: dict[str, Schema]) -> Schema:
    optional = ("code", "min_version", "max_version")
    error = fields("Error", properties, optional=optional)
    return fields("Errors", {"errors": {**list_of(error), "minItems": 1, "maxItems": 1}})


answer = since_version({(1, 0): _errors(_FIELDS), SINCE_CODE: _errors({**_FIELDS, "code": _CODE})})

# Without a valid token. Keystone's middleware answers so, and clients expect that.
_REASON = {"title": TEXT, "message": TEXT}
_BY_KEYSTONE = fields("KeystoneError", {"code": {"type": "integer"}, **_REASON})
UNAUTHORIZED: Schema = {
    "anyOf": [
        fields("KeystoneUnauthorized", {"error": _BY_KEYSTONE}),
        # With `noauth2`, which needs no Keystone.
        fields("Unauthorized", {"code": TEXT, **_REASON}),
    ]
}
