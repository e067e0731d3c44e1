"""Query strings and bodies of /allocation_candidates, its explanations, and /capacity."""

from typing import Any

from roost.api.schemas import ExtensionSchema, Schema, since_version
from roost.api.schemas.bounds import GROUP_CLASSES_MAX, GROUPS_MAX, NAMES_MAX, RULES_MAX
from roost.api.schemas.inventories import CLASS_PATTERN
from roost.api.schemas.pages import AFTER, LIMIT, TREE
from roost.api.versions import VERSION_MAX, Version

_TEXT = {"type": "string"}

_GROUP_POLICY = {"type": "string", "enum": ["none", "isolate"]}

ORDER_PATTERN = "^(pack|spread|root|random(:[0-9]{1,19})?)$"

# The suffix of a group: a number, and from 1.33 on any short name.
SUFFIX_NUMBER = "[1-9][0-9]*"
SUFFIX_NAME = "[a-zA-Z0-9_-]{1,64}"
SUFFIX_PATTERN = f"^({SUFFIX_NAME})?$"


def _plain(version: tuple[int, int]) -> Schema:
    """Before 1.25: one group."""
    properties: dict[str, Any] = {"resources": _TEXT}
    if version >= (1, 16):
        properties["limit"] = LIMIT
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
    properties: dict[str, Any] = {"limit": LIMIT, "group_policy": _GROUP_POLICY}
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


def _extended() -> Schema:
    """The newest version with the extensions of roost."""
    schema = _granular((1, 39))
    return {
        **schema,
        "properties": {
            **schema["properties"],
            "root_member_of": {"type": ["string"]},
            "isolate": {"type": ["string"]},
            "order": {"type": "string", "pattern": ORDER_PATTERN},
            "after": AFTER,
        },
        "patternProperties": {
            **schema["patternProperties"],
            f"^in_subtree({SUFFIX_NAME})?$": _TEXT,
            f"^can_split({SUFFIX_NAME})?$": _TEXT,
        },
    }


EXTENDED = ExtensionSchema(_extended())

# A parameter that may be repeated in a URL is a list in a body.
_TEXTS = {"type": "array", "minItems": 1, "maxItems": NAMES_MAX, "items": _TEXT}
_RULES = {**_TEXTS, "maxItems": RULES_MAX}

_POST: Schema = {
    "type": "object",
    "properties": {
        "groups": {
            "type": "object",
            "minProperties": 1,
            "maxProperties": GROUPS_MAX,
            "patternProperties": {
                SUFFIX_PATTERN: {
                    "type": "object",
                    "minProperties": 1,
                    "properties": {
                        "resources": {
                            "type": "object",
                            "minProperties": 1,
                            "maxProperties": GROUP_CLASSES_MAX,
                            "patternProperties": {CLASS_PATTERN: {"type": "integer", "minimum": 1}},
                            "additionalProperties": False,
                        },
                        "required": _TEXTS,
                        "member_of": _TEXTS,
                        "in_tree": _TEXT,
                        "in_subtree": _TEXT,
                        "can_split": _TEXT,
                    },
                    "additionalProperties": False,
                }
            },
            "additionalProperties": False,
        },
        "group_policy": _GROUP_POLICY,
        "root_required": _TEXTS,
        "root_member_of": _TEXTS,
        "same_subtree": _RULES,
        "isolate": _RULES,
        "can_split": _TEXT,
        "limit": {"type": "integer", "minimum": 1},
        "order": {"type": "string", "pattern": ORDER_PATTERN},
        "after": AFTER,
    },
    "required": ["groups"],
    "additionalProperties": False,
}

POST = ExtensionSchema(_POST)

# An explanation also takes the tree that it is about.
EXPLAIN_QUERY = ExtensionSchema(
    {**EXTENDED, "properties": {**EXTENDED["properties"], "tree": TREE}}
)
EXPLAIN_POST = ExtensionSchema({**POST, "properties": {**POST["properties"], "tree": TREE}})

query = since_version(
    {
        **{since: _plain(since) for since in ((1, 10), (1, 16), (1, 17), (1, 21))},
        **{since: _granular(since) for since in ((1, 25), (1, 31), (1, 33), (1, 35), (1, 36))},
    }
)


def documented(version: Version) -> Schema:
    """All parameters of a version, extensions included.

    A query that uses no extension is checked against `query`, whose refusals clients know.
    """
    return EXTENDED if version == VERSION_MAX else query(version)
