"""Query strings, bodies and answers of /allocation_candidates and /capacity."""

from typing import Any

from roost.api.schemas import (
    BOOLEAN,
    COUNT,
    INTEGER,
    TEXT,
    UUID,
    UUID_OR_NULL,
    ExtensionSchema,
    NamedSchema,
    Schema,
    fields,
    list_of,
    map_of,
    since_version,
)
from roost.api.schemas.bounds import GROUP_CLASSES_MAX, GROUPS_MAX, NAMES_MAX, RULES_MAX
from roost.api.schemas.inventories import AMOUNTS, CLASS_PATTERN
from roost.api.schemas.pages import AFTER, LIMIT, NEXT
from roost.api.versions import VERSION_MAX, Version

_GROUP_POLICY = NamedSchema("GroupPolicy", {"type": "string", "enum": ["none", "isolate"]})

ORDER_PATTERN = "^(pack|spread|root|random(:[0-9]{1,19})?)$"

# The suffix of a group: a number, and from 1.33 on any short name.
SUFFIX_NUMBER = "[1-9][0-9]*"
SUFFIX_NAME = "[a-zA-Z0-9_-]{1,64}"
SUFFIX_PATTERN = f"^({SUFFIX_NAME})?$"


def _plain(version: tuple[int, int]) -> Schema:
    """Before 1.25: one group."""
    properties: dict[str, Any] = {"resources": TEXT}
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
        "patternProperties": {f"^{name}({suffix})?$": TEXT for name in names},
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
            f"^in_subtree({SUFFIX_NAME})?$": TEXT,
            f"^can_split({SUFFIX_NAME})?$": TEXT,
        },
    }


EXTENDED = ExtensionSchema(_extended())

# A parameter that may be repeated in a URL is a list in a body.
_TEXTS = {"type": "array", "minItems": 1, "maxItems": NAMES_MAX, "items": TEXT}
_RULES = {**_TEXTS, "maxItems": RULES_MAX}

_GROUP = NamedSchema(
    "RequestGroup",
    {
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
            "in_tree": TEXT,
            "in_subtree": TEXT,
            "can_split": TEXT,
        },
        "additionalProperties": False,
    },
)

_POST: Schema = {
    "type": "object",
    "properties": {
        "groups": {
            "type": "object",
            "minProperties": 1,
            "maxProperties": GROUPS_MAX,
            "patternProperties": {
                SUFFIX_PATTERN: _GROUP,
            },
            "additionalProperties": False,
        },
        "group_policy": _GROUP_POLICY,
        "root_required": _TEXTS,
        "root_member_of": _TEXTS,
        "same_subtree": _RULES,
        "isolate": _RULES,
        "can_split": TEXT,
        "limit": {"type": "integer", "minimum": 1},
        "order": {"type": "string", "pattern": ORDER_PATTERN},
        "after": AFTER,
    },
    "required": ["groups"],
    "additionalProperties": False,
}

POST = ExtensionSchema(_POST, "CandidatesRequest")

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


# ---------------------------------------------------------------------------------------------
# Answers

# Provider -> the amounts that come from it.
_ALLOCATIONS = NamedSchema(
    "CandidateAllocations", map_of(fields("CandidateAllocation", {"resources": AMOUNTS}))
)
_MAPPINGS = NamedSchema("Mappings", map_of(list_of(UUID), keys=SUFFIX_PATTERN))
CANDIDATE = fields("AllocationRequest", {"allocations": _ALLOCATIONS, "mappings": _MAPPINGS})

# Before 1.12: a list with one entry for each provider.
_LISTED = fields(
    "CandidateAllocation",
    {"resource_provider": fields("ProviderReference", {"uuid": UUID}), "resources": AMOUNTS},
)
# A ratio may be negative.
_OF_CLASS = fields("ClassCapacity", {"capacity": INTEGER, "used": COUNT})
# What a provider shows, by the version that brought it.
_OF_PROVIDER: tuple[tuple[tuple[int, int], str, Schema], ...] = (
    (
        (1, 10),
        "resources",
        NamedSchema("ClassCapacities", map_of(_OF_CLASS, keys=CLASS_PATTERN)),
    ),
    ((1, 17), "traits", list_of(TEXT)),
    ((1, 29), "parent_provider_uuid", UUID_OR_NULL),
    ((1, 29), "root_provider_uuid", UUID),
)


def _found(version: tuple[int, int]) -> NamedSchema:
    request = {"allocations": list_of(_LISTED) if version < (1, 12) else _ALLOCATIONS}
    if version >= (1, 34):
        request["mappings"] = _MAPPINGS
    summary = {name: kind for since, name, kind in _OF_PROVIDER if since <= version}
    found = {
        "allocation_requests": list_of(fields("AllocationRequest", request)),
        "provider_summaries": NamedSchema(
            "ProviderSummaries", map_of(fields("ProviderSummary", summary))
        ),
    }
    extended = {"complete": BOOLEAN, "next": NEXT} if version == VERSION_MAX else {}
    return fields("AllocationCandidates", {**found, **extended}, optional=extended)


answer = since_version(
    {since: _found(since) for since in ((1, 10), (1, 12), (1, 17), (1, 29), (1, 34), VERSION_MAX)}
)

_OF_TREE = fields("TreeCapacity", {"uuid": UUID, "name": TEXT, "count": COUNT})
CAPACITY = fields("Capacity", {"count": COUNT, "trees": list_of(_OF_TREE), "complete": BOOLEAN})
