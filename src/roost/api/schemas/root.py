"""The answer of GET /."""

from roost.api.schemas import TEXT, fields, list_of
from roost.api.versions import VERSION_PATTERN

_LINK = fields("VersionLink", {"rel": {"type": "string", "enum": ["self"]}, "href": TEXT})
_NUMBER = {"type": "string", "pattern": VERSION_PATTERN}
_VERSION = fields(
    "Version",
    {
        "id": TEXT,
        "max_version": _NUMBER,
        "min_version": _NUMBER,
        "status": {"type": "string", "enum": ["CURRENT"]},
        "links": list_of(_LINK),
    },
)
# The extensions are no enum: a client that was generated earlier must read those that came later.
VERSIONS = fields("Versions", {"versions": list_of(_VERSION), "extensions": list_of(TEXT)})
