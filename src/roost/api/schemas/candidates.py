"""The query string of GET /allocation_candidates."""

from typing import Any

from roost.api.schemas import Schema
from roost.api.versions import Version

_TEXT = {"type": "string"}

_LIMIT = {
    "type": ["integer", "string"],
    "pattern": "^[1-9][0-9]*$",
    "minimum": 1,
    "minLength": 1,
}

_GROUP_POLICY = {"type": "string", "enum": ["none", "isolate"]}

# How a group is told apart from the others: by a number, later by any short name.
SUFFIX_NUMBER = "[1-9][0-9]*"
SUFFIX_NAME = "[a-zA-Z0-9_-]{1,64}"


def _plain(version: tuple[int, int]) -> Schema:
    """Before 1.25: one group."""
    properties: dict[str, Any] = {"resources": _TEXT}
    if version >= (1, 16):
        properties["limit"] = _LIMIT
    if version >= (1, 17):
        properties["required"] = {"type": ["string"]}
    if version >= (1, 21):
        properties["member_of"] = {"type": ["string"]}
    return {
        "type": "object",
        "properties": properties,
        "required": ["resources"],
        "additionalProperties": False,
    }


def _granular(version: tuple[int, int]) -> Schema:
    """From 1.25: one group without a suffix, and any number with one."""
    properties: dict[str, Any] = {"limit": _LIMIT, "group_policy": _GROUP_POLICY}
    if version >= (1, 35):
        properties["root_required"] = {"type": ["string"]}
    if version >= (1, 36):
        properties["same_subtree"] = {"type": ["string"]}
    names = ["resources", "required", "member_of"]
    if version >= (1, 31):
        names.append("in_tree")
    suffix = SUFFIX_NAME if version >= (1, 33) else SUFFIX_NUMBER
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "patternProperties": {f"^{name}({suffix})?$": _TEXT for name in names},
    }


_QUERIES: dict[tuple[int, int], Schema] = {
    **{since: _plain(since) for since in ((1, 10), (1, 16), (1, 17), (1, 21))},
    **{since: _granular(since) for since in ((1, 25), (1, 31), (1, 33), (1, 35), (1, 36))},
}


def query(version: Version) -> Schema:
    return _QUERIES[max(since for since in _QUERIES if since <= version)]
